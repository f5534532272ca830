// Applies the current migration at every save, and prints the result in a few lines.
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { watch } from "graphile-migrate";
import { MIGRATIONS_FOLDER } from "../committed.ts";
import { errorText } from "../error-text.ts";
import { logTo } from "../migrate-settings.ts";
import { retryLocks } from "../lock-retry.ts";
import { explainError, type MigrationError } from "./explain-error.ts";

export interface WatchOptions {
  /** The database; its login may become dex_owner. */
  url: string;
  /** Stop after the first run. */
  once: boolean;
  print: (lines: string) => void;
}

const POLL_MS = 200;

/**
 * Applies the pending committed migrations and the current one, and again after every save, without end.
 * Resolves only with `once`, to false if a migration failed.
 */
export async function watchCurrent({ url, once, print }: WatchOptions): Promise<boolean> {
  const apply = applier(url, print);
  let applied: string | undefined;
  let last = await savedState();
  for (;;) {
    const saved = await savedState();
    // Some editors write a file in several steps, so wait until its state is stable.
    if (saved === last && saved !== applied) {
      const isApplied = await apply();
      if (once) return isApplied;
      applied = saved;
    }
    last = saved;
    await sleep(POLL_MS);
  }
}

/** The names, times and sizes of the files of the current migration. */
async function savedState(): Promise<string> {
  const names = await readdir(join(MIGRATIONS_FOLDER, "current")).catch(() => []);
  const files = ["current.sql", ...names.map((name) => join("current", name))];
  const states = files.map(async (file) => {
    const found = await stat(join(MIGRATIONS_FOLDER, file)).catch(() => undefined);
    return [file, found?.mtimeMs, found?.size];
  });
  return JSON.stringify(await Promise.all(states));
}

/** Makes a function that applies the current migration and resolves to whether it succeeded. */
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
      // Other errors have other causes, such as a database that does not answer.
      const isOfMigration = (error as MigrationError)._gmlogged === true;
      const text = isOfMigration
        ? await explainError(error as MigrationError, url)
        : errorText(error);
      print(`${text}\nNothing was applied.`);
      return false;
    }
  };
}
