// The operating system's account that an embedded PostgreSQL runs as: it refuses to run as root.
import { readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

export interface Account {
  uid: number;
  gid: number;
}

/** Whether this process is root, which PostgreSQL must not be. */
export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * The account to run PostgreSQL as, or undefined for this process's own. Root hands over to the
 * owner of a data directory that exists already, else to the user `postgres` where there is one,
 * else to `nobody`: no account is ever added to the machine.
 */
export async function serverAccount(dataDir: string): Promise<Account | undefined> {
  if (!isRoot()) return undefined;
  const owner = await stat(dataDir).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const passwd = await readFile("/etc/passwd", "utf8");
  for (const name of ["postgres", "nobody"]) {
    const entry = passwd.split("\n").find((line) => line.startsWith(`${name}:`));
    const [, , uid, gid] = entry?.split(":") ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    "PostgreSQL does not run as root, and this machine has neither a user `postgres` nor `nobody` to run it as. " +
      "Start the service as an ordinary user, or give DATABASE_URL.",
  );
}

/**
 * Whether the account may enter every folder on the way to this path, and the folder or run the
 * program that the path leads to. What does not exist yet is no obstacle.
 */
export async function canReach(account: Account | undefined, path: string): Promise<boolean> {
  if (account === undefined) return true;
  const existing = await realPathOf(path);
  for (let entry = existing; ; entry = dirname(entry)) {
    if (!mayEnter(account, await stat(entry))) return false;
    if (entry === dirname(entry)) return true;
  }
}

/** The path without symbolic links, as far as it exists. */
async function realPathOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  return real ?? realPathOf(dirname(path));
}

function mayEnter(account: Account, entry: { uid: number; gid: number; mode: number }): boolean {
  if (entry.uid === account.uid) return (entry.mode & 0o100) !== 0;
  if (entry.gid === account.gid) return (entry.mode & 0o010) !== 0;
  return (entry.mode & 0o001) !== 0;
}
