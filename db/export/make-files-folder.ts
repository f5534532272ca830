// Makes the folder of the files, which is none of a database.
import { access, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readConnection } from "../embedded/connection-file.ts";
import { makeFolder } from "../make-folder.ts";
import { CannotExport } from "./days.ts";

/** Throws CannotExport where a database has its files, and makes nothing there. */
export async function makeFilesFolder(dir: string): Promise<void> {
  const isOfDatabase =
    (await isInCluster(resolve(dir))) ||
    (!(await makeFolder(dir)) && (await readConnection(dir)) !== undefined);
  if (!isOfDatabase) return;
  throw new CannotExport(`${dir} is a folder of a database: give another one to export into`);
}

/** Whether a PostgreSQL has its data in this folder, or in one above it. */
async function isInCluster(folder: string): Promise<boolean> {
  // One that is not there yet may be below a link.
  const real = await realpath(folder).catch(() => folder);
  const isCluster = await access(join(real, "PG_VERSION")).then(
    () => true,
    () => false,
  );
  const above = dirname(real);
  return isCluster || (above !== real && (await isInCluster(above)));
}
