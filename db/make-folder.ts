// Makes a folder, and those above it.
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** As mkdir's `recursive`, which never ends where a folder can have no other, as /proc. Returns whether it was made. */
export async function makeFolder(folder: string, mode?: number): Promise<boolean> {
  try {
    await mkdir(folder, { mode });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(folder)).isDirectory()) return false;
    const hasParent = await stat(dirname(folder)).catch(() => undefined);
    if (code !== "ENOENT" || hasParent !== undefined) throw error;
  }
  await makeFolder(dirname(folder), mode);
  return makeFolder(folder, mode);
}
