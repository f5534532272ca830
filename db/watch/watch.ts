// Applies the current migration at every save, and tells in a few lines what has become of it.
import { Logger } from "@graphile/logger";
import { watch } from "graphile-migrate";
import { MIGRATIONS_FOLDER } from "../committed.ts";
import { urlForRole } from "../connect.ts";
import { explainError, type MigrationError } from "./explain-error.ts";

export interface WatchOptions {
  /** The database's; its login may become dex_owner. */
  url: string;
  /** Ends after the first time. */
  once: boolean;
  print: (lines: string) => void;
}

/** graphile-migrate may try the same several times at one save. */
const SAME_SAVE_MS = 1000;

/**
 * Applies the committed migrations that the database lacks, then the current one, and again whenever
 * it is saved. Resolves once that has begun or, for `once`, is done; false where it has failed.
 */
export async function watchCurrent({ url, once, print }: WatchOptions): Promise<boolean> {
  let isUnchanged = false;
  let printed = { text: "", at: -Infinity };
  const explaining: Promise<void>[] = [];

  const printError = async (error: MigrationError): Promise<void> => {
    const text = await explainError(error, url);
    const now = performance.now();
    const isRepeated = text === printed.text && now - printed.at < SAME_SAVE_MS;
    printed = { text, at: now };
    if (!isRepeated) print(`${text}\nNothing of it is applied.`);
  };

  const hear = (level: string, message: string, error: unknown): void => {
    const [, ms] = /: Finished \((\d+)ms/.exec(message) ?? [];
    if (level === "error") {
      if (error instanceof Error) explaining.push(printError(error));
      else print(message.trim());
    } else if (ms !== undefined) {
      print(isUnchanged ? "current: unchanged" : `current: applied in ${ms} ms`);
      isUnchanged = false;
    } else if (message.includes(": current.sql unchanged")) isUnchanged = true;
    else if (!message.includes(": Running current.sql")) print(message);
  };

  try {
    await watch(
      {
        connectionString: urlForRole(url, "dex_owner"),
        databaseOwner: "dex_owner",
        migrationsFolder: MIGRATIONS_FOLDER,
        logger: new Logger(() => (level, message, meta) => hear(level, message, meta?.["error"])),
      },
      once,
    );
    return true;
  } catch (error) {
    await Promise.all(explaining);
    // What is wrong with the migration was heard of already.
    if (explaining.length === 0) print((error as Error).message);
    return false;
  }
}
