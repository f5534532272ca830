// Writes a file that one account reads.
import { open, stat } from "node:fs/promises";
import { isRoot, type Account } from "./account.ts";

/** Writes a new file with mode 0600; it is this account's, or without one this process's own. */
export async function writePrivate(
  path: string,
  content: string,
  account?: Account,
): Promise<void> {
  // A new file: no link can be there that root would follow.
  const file = await open(path, "wx", 0o600);
  try {
    if (account !== undefined) await file.chown(account.uid, account.gid);
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}

/** Whose the files in this folder are to be: its owner's, so that root shuts no other account out. */
export async function ownerOf(folder: string): Promise<Account | undefined> {
  if (!isRoot()) return undefined;
  const { uid, gid } = await stat(folder);
  return { uid, gid };
}
