// Opens the CSV files of a folder for loading.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { formats } from "./csv-columns.ts";
import { LoadError } from "./load-error.ts";
import { readRows } from "./read-rows.ts";
import { TABLES, type LoadSource } from "./checked-rows.ts";

/**
 * Lazy readers of the folder's tokens.csv, pairs.csv, offers.csv and trades.csv; each file is
 * optional. Throws a LoadError if the folder has none of them, or one by another name, which would be left out in silence.
 */
export async function readFolder(folder: string): Promise<LoadSource> {
  const files = new Set(await listFolder(folder));
  for (const file of files) {
    const [, name] = /^(.*\.csv)(\.gz)?$/.exec(file.toLowerCase()) ?? [];
    if (name === undefined || files.has(name)) continue;
    if (!TABLES.some((table) => name === `${table}.csv`)) continue;
    throw new LoadError(
      `folder ${folder} has ${file}: it must be named ${name}, and not be packed`,
    );
  }
  const given = TABLES.filter((table) => files.has(`${table}.csv`));
  if (given.length === 0) {
    const names = TABLES.map((table) => `${table}.csv`).join(", ");
    throw new LoadError(`folder ${folder} has nothing to load: it has none of ${names}`);
  }
  const readers = given.map((table) => {
    const file = `${table}.csv`;
    return [table, readRows(join(folder, file), file, formats[table] as never)] as const;
  });
  return Object.fromEntries(readers);
}

async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      throw new LoadError(`folder ${folder} does not exist`, { cause: error });
    }
    if (code === "ENOTDIR") throw new LoadError(`${folder} is not a folder`, { cause: error });
    throw new LoadError(`${folder} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
