// Indexes a chain into the embedded database, beside the service.
import type { IndexerStatus } from "../chain/index-status.ts";
import { runIndexer } from "../chain/indexer.ts";
import { indexProgress } from "../chain/index-progress.ts";
import type { IndexSettings } from "../chain/index-settings.ts";
import type { MarketFiles } from "../chain/market-files.ts";
import { readConnection } from "../db/embedded/connection-file.ts";
import type { ProgressLine } from "../db/progress-line.ts";
import { startTask, type RunningTask } from "../db/running-task.ts";

export interface IndexingOptions {
  /** The superuser's, of the embedded database. */
  url: string;
  settings: IndexSettings;
  files: MarketFiles;
  dataDir: string;
  status: IndexerStatus;
  log: Record<"info" | "warn", (line: string) => void>;
  progress: ProgressLine;
}

/**
 * Starts the indexer. Where it stops for good, the service goes on with the blocks that are written, and `/ready` says
 * why. Throws where the database holds the simulated exchange.
 */
export async function startIndexing(options: IndexingOptions): Promise<RunningTask> {
  const { url, settings, files, dataDir, status, log, progress } = options;
  if ((await readConnection(dataDir))?.seed !== undefined) {
    throw new Error(
      `DATA_DIR ${dataDir} holds the simulated exchange: to index a chain, give another DATA_DIR.`,
    );
  }
  const report = indexProgress({ line: progress, isTerminal: false, ...log });
  return startTask((signal) =>
    runIndexer({
      ...settings,
      ...files,
      databaseUrl: url,
      signal,
      onEvent: (event) => {
        status.report(event);
        report(event);
      },
    }).catch((error: unknown) => {
      const reason = (error as Error).message;
      status.stopped(reason);
      log.warn(`The indexer has stopped: ${reason}`);
    }),
  );
}
