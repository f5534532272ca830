// Applies the current migration at every save, and tells in a few lines what has become of it.
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { watch } from "graphile-migrate";
import { MIGRATIONS_FOLDER } from "../committed.ts";
import { errorText } from "../error-text.ts";
import { logTo } from "../graphile-migrate-log.ts";
import { retryLocks } from "../lock-retry.ts";
import { explainError, type MigrationError } from "./explain-error.ts";

export interface WatchOptions {
  /** The database's; its login may become dex_owner. */
  url: string;
  /** Ends after the first time. */
  once: boolean;
  print: (lines: string) => void;
}

const LOOK_MS = 200;

/**
 * Applies the committed migrations that the database lacks, then the current one, and again whenever
 * it is saved, for ever. Resolves for `once` alone, to false where it has failed.
 */
export async function watchCurrent({ url, once, print }: WatchOptions): Promise<boolean> {
  const apply = applier(url, print);
  let applied: string | undefined;
  let last = await savedState();
  for (;;) {
    const saved = await savedState();
    // Some editors write a file bit by bit.
    if (saved === last && saved !== applied) {
      const isApplied = await apply();
      if (once) return isApplied;
      applied = saved;
    }
    last = saved;
    await sleep(LOOK_MS);
  }
}

/** Which files there are, and when each was saved. */
async function savedState(): Promise<string> {
  const names = await readdir(join(MIGRATIONS_FOLDER, "current")).catch(() => []);
  const files = ["current.sql", ...names.map((name) => join("current", name))];
  const states = files.map(async (file) => {
    const found = await stat(join(MIGRATIONS_FOLDER, file)).catch(() => undefined);
    return [file, found?.mtimeMs, found?.size];
  });
  return JSON.stringify(await Promise.all(states));
}

/** What applies the current migration, and resolves to whether it could. */
function applier(url: string, print: WatchOptions["print"]): () => Promise<boolean> {
  let isUnchanged = false;
  const logger = logTo((message) => {
    const [, ms] = /: Finished \((\d+)ms/.exec(message) ?? [];
    if (ms !== undefined) {
      print(isUnchanged ? "current: unchanged" : `current: applied in ${ms} ms`);
      isUnchanged = false;
    } else if (message.includes(": current.sql unchanged")) isUnchanged = true;
    else if (!message.includes(": Running current.sql")) print(message);
  });
  const applyOnce = (connectionString: string): Promise<void> =>
    watch(
      {
        connectionString,
        databaseOwner: "dex_owner",
        migrationsFolder: MIGRATIONS_FOLDER,
        logger,
      },
      true,
    );
  return async () => {
    try {
      await retryLocks(url, applyOnce, print);
      return true;
    } catch (error) {
      // Else it is of what is around the migration, as a database that does not answer.
      const isOfMigration = (error as MigrationError)._gmlogged === true;
      const text = isOfMigration
        ? await explainError(error as MigrationError, url)
        : errorText(error);
      print(`${text}\nNothing of it is applied.`);
      return false;
    }
  };
}
