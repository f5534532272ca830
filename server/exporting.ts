// Exports each day when it is final, beside the service: in a process that may take as long as it wants.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, setPriority } from "node:os";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Database } from "../db/connect.ts";
import { errorText } from "../db/error-text.ts";
import { firstOther, knownDays } from "../db/export/days.ts";
import { makeFilesFolder } from "../db/export/make-files-folder.ts";
import { readManifest } from "../db/export/manifest.ts";
import type { ListedDay } from "../db/export/manifest.ts";
import { startTask, type RunningTask } from "../db/running-task.ts";

const COMMAND = fileURLToPath(new URL("../db/commands/export.ts", import.meta.url));

/** As in package.json: without bounds V8 would let garbage grow to several times of what a row group needs. */
const HEAP = ["--max-semi-space-size=16", "--max-old-space-size=256"];

export interface ExportingOptions {
  dir: string;
  db: Database;
  finality: number | undefined;
  /** Names the database for the command. */
  env: NodeJS.ProcessEnv;
  log: Record<"info" | "warn", (line: string) => void>;
  /** How often it looks whether a day has become final, or the last listed one is another. */
  everyMs?: number;
  /** How long a stop waits for an export: it may wait for a lock. One that is killed leaves nothing that is wrong. */
  killAfterMs?: number;
}

const EVERY_MS = 60_000;

/** Throws where the setting is wrong: an export would fail each minute, and what is served with it. */
export async function makeFilesDir(dir: string): Promise<void> {
  await makeFilesFolder(dir).catch((cause: unknown) => {
    throw new Error(`FILES_DIR ${dir} cannot be made: ${errorText(cause)}`, { cause });
  });
}

export const startExporting = (options: ExportingOptions): RunningTask =>
  startTask((signal) => exportAgainAndAgain(options, signal));

async function exportAgainAndAgain(options: ExportingOptions, signal: AbortSignal): Promise<void> {
  const { db, dir, finality, log, everyMs = EVERY_MS } = options;
  const isStopping = (): boolean => signal.aborted;
  let exportedTo: string | null | undefined;
  // Its digest has all facts up to its end.
  let last: ListedDay | undefined;
  let complaint: string | undefined;
  while (!isStopping()) {
    try {
      const { notFinal = null } = (await knownDays(db, finality)) ?? {};
      // An export names the first day that the database does not have any more.
      if (notFinal !== exportedTo || (last && (await firstOther(db, [last])))) {
        for (const line of await exportOnce(options, signal)) log.info(line);
        last = (await readManifest(dir))?.days.at(-1);
        exportedTo = notFinal;
      }
      complaint = undefined;
    } catch (error) {
      const reason = errorText(error);
      // It is tried again and again.
      if (!isStopping() && reason !== complaint) {
        log.warn(`The files of each day are not exported: ${reason}`);
      }
      complaint = reason;
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The lines of the days. Throws what the command says where it fails. */
async function exportOnce(
  { dir, finality, env, killAfterMs = 2000 }: ExportingOptions,
  signal: AbortSignal,
): Promise<string[]> {
  const given = finality === undefined ? [] : ["--finality", String(finality)];
  const child = spawn(process.execPath, [...HEAP, COMMAND, "--dir", dir, ...given], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = (): void => {
    child.kill();
    setTimeout(() => child.kill("SIGKILL"), killAfterMs).unref();
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    const ended = once(child, "close") as Promise<[code: number | null]>;
    prefer(child.pid);
    if (signal.aborted) stop();
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    if (code !== 0) throw new Error(err.trim().replace(/^export: /, "") || "it was killed");
    return out.split("\n").filter((line) => /^\d{4}-/.test(line));
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Requests come first. */
function prefer(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended, or the system does not let it.
  }
}
