// Finds in a folder what can be loaded.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { formats } from "./formats.ts";
import { LoadError } from "./load-error.ts";
import { readRows } from "./read-rows.ts";
import { TABLES, type LoadSource } from "./rows.ts";

/**
 * The rows of a folder's tokens.csv, pairs.csv, offers.csv and trades.csv, as many of them as there
 * are, read as they are asked for. Throws a LoadError where the folder has none of them.
 */
export async function readFolder(folder: string): Promise<LoadSource> {
  const there = new Set(await listFolder(folder));
  if (!TABLES.some((table) => there.has(`${table}.csv`))) {
    const names = TABLES.map((table) => `${table}.csv`).join(", ");
    throw new LoadError(`there is nothing to load in ${folder}: it has none of ${names}`);
  }
  const read = <Name extends keyof typeof formats>(name: Name, format: (typeof formats)[Name]) => {
    const file = `${name}.csv`;
    return there.has(file) ? { [name]: readRows(join(folder, file), file, format as never) } : {};
  };
  return {
    ...read("tokens", formats.tokens),
    ...read("pairs", formats.pairs),
    ...read("offers", formats.offers),
    ...read("trades", formats.trades),
  };
}

async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new LoadError(`there is no folder ${folder}`, { cause: error });
    if (code === "ENOTDIR") throw new LoadError(`${folder} is not a folder`, { cause: error });
    throw new LoadError(`${folder} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
