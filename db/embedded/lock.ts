// Lets one service at a time work on a DATA_DIR.
import { randomBytes } from "node:crypto";
import { link, readdir, readFile, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { ownerOf, writePrivate } from "./private-file.ts";
import { birthOf, isAlive } from "./process.ts";

/** Another service that lives has the DATA_DIR. */
export class DataDirInUse extends Error {
  override readonly name = "DataDirInUse";
  readonly pid: number;

  constructor(dataDir: string, pid: number) {
    super(
      `DATA_DIR ${dataDir} is in use by the service that runs as process ${pid}. ` +
        "Stop that one first, or give this one another DATA_DIR.",
    );
    this.pid = pid;
  }
}

interface Holder {
  pid: number;
  birth: string;
}

const LOCK = /^lock\.(\d+)$/;

/**
 * Takes the lock of this folder and resolves to what gives it back. Throws `DataDirInUse` while a
 * process that lives has it; one that was killed no longer does.
 *
 * Each taking makes a file of the next number, and the highest number has the lock. A file is
 * whole when it appears, only one process can make it, and only lower ones are ever removed: of
 * two processes that find a dead one's lock in the same moment, one gets it.
 */
export async function takeLock(dataDir: string): Promise<() => Promise<void>> {
  const latest = await highest(dataDir);
  await refuseWhileHeld(dataDir, latest);

  const draft = join(dataDir, `lock-draft-${randomBytes(6).toString("hex")}`);
  const own = latest + 1;
  const holder: Holder = { pid: process.pid, birth: await birthOf(process.pid) };
  await writePrivate(draft, JSON.stringify(holder), await ownerOf(dataDir));
  try {
    await link(draft, fileOf(dataDir, own));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return await takeLock(dataDir);
  } finally {
    await rm(draft, { force: true });
  }
  if ((await highest(dataDir)) > own) {
    // Others came and went between the look and the link.
    await rm(fileOf(dataDir, own), { force: true });
    return takeLock(dataDir);
  }
  await removeBelow(dataDir, own);
  // An empty file has no owner; it stays, so that numbers only grow.
  return async () => {
    await truncate(fileOf(dataDir, own)).catch(unlessGone);
  };
}

const fileOf = (dataDir: string, number: number): string => join(dataDir, `lock.${number}`);

function unlessGone(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

async function numbers(dataDir: string): Promise<number[]> {
  const names = await readdir(dataDir);
  return names.flatMap((name) => LOCK.exec(name)?.[1] ?? []).map(Number);
}

const highest = async (dataDir: string): Promise<number> =>
  Math.max(0, ...(await numbers(dataDir)));

async function refuseWhileHeld(dataDir: string, number: number): Promise<void> {
  const holder = await readHolder(fileOf(dataDir, number));
  if (holder === undefined || !(await isAlive(holder.pid))) return;
  const birth = await birthOf(holder.pid);
  const numberWasGivenAgain = birth !== "" && holder.birth !== "" && birth !== holder.birth;
  if (!numberWasGivenAgain) throw new DataDirInUse(dataDir, holder.pid);
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Holder;
  } catch (error) {
    const nobodys =
      error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT";
    if (nobodys) return undefined;
    throw error;
  }
}

async function removeBelow(dataDir: string, own: number): Promise<void> {
  for (const number of await numbers(dataDir)) {
    if (number < own) await rm(fileOf(dataDir, number), { force: true });
  }
}
