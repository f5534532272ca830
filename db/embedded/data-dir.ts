// Makes the folder of DATA_DIR.
import { chmod } from "node:fs/promises";
import { makeFolder } from "../make-folder.ts";
import { isRoot } from "./account.ts";

/** pg_ctl starts PostgreSQL by a shell, with the path between double quotes. */
const OF_THE_SHELL = /["$`\\]/;

/** Makes the folder of DATA_DIR, and those above it. */
export async function makeDataDir(dataDir: string): Promise<void> {
  if (OF_THE_SHELL.test(dataDir)) {
    throw new Error(
      `DATA_DIR ${dataDir} has a double quote, a dollar, a backquote or a backslash, with which PostgreSQL cannot be started: ` +
        "give another path.",
    );
  }
  try {
    const isMade = await makeFolder(dataDir, 0o700);
    // Root's must let the account of PostgreSQL through; what is in it is for its eyes only.
    if (isMade && isRoot()) await chmod(dataDir, 0o755);
  } catch (error) {
    throw new Error(`DATA_DIR ${dataDir} cannot be made: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
