// Makes the folder of DATA_DIR.
import { chmod } from "node:fs/promises";
import { makeFolder } from "../make-folder.ts";
import { isRoot } from "./account.ts";

/** Makes the folder of DATA_DIR, and those above it. */
export async function makeDataDir(dataDir: string): Promise<void> {
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
