// Makes the folder of DATA_DIR.
import { chmod, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isRoot } from "./account.ts";

/** Makes the folder of DATA_DIR, and those above it. */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    const isMade = await makeFolder(dataDir);
    // Root's must let the account of PostgreSQL through; what is in it is for its eyes only.
    if (isMade && isRoot()) await chmod(dataDir, 0o755);
  } catch (error) {
    throw new Error(`DATA_DIR ${dataDir} cannot be made: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** As mkdir's `recursive`, which never ends where a folder can have no other, as /proc. Returns whether it was made. */
async function makeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(folder)).isDirectory()) return false;
    const hasParent = await stat(dirname(folder)).catch(() => undefined);
    if (code !== "ENOENT" || hasParent !== undefined) throw error;
  }
  await makeFolder(dirname(folder));
  return makeFolder(folder);
}
