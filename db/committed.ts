// Reads the committed migrations from their folder.
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { calculateHash } from "graphile-migrate/dist/hash.js";
import { parseMigrationText } from "graphile-migrate/dist/migration.js";

export const MIGRATIONS_FOLDER = fileURLToPath(new URL("./migrations", import.meta.url));

export interface CommittedMigration {
  /** The file name, such as 000001-registry.sql. */
  file: string;
  /** The name in the database's record, such as 000001.sql. */
  recordedAs: string;
  /** The SQL, without the header. */
  body: string;
  /** The hash in the header. */
  hash: string;
  /** The hash of the previous migration, from the header; null for the first migration. */
  previousHash: string | null;
  /** The hash of the file's present content. */
  actualHash: string;
}

/** The file names of the committed migrations, oldest first. */
export async function committedFiles(folder = MIGRATIONS_FOLDER): Promise<string[]> {
  return (await readdir(`${folder}/committed`))
    .filter((name) => /^\d{6}.*\.sql$/.test(name))
    .sort();
}

/** The name in the database's record: 000001.sql for 000001-registry.sql. */
export function recordedName(file: string): string {
  return file.replace(/^(\d+).*/, "$1.sql");
}

/** The committed migrations, oldest first. Throws if a file has no header. */
export async function committedMigrations(
  folder = MIGRATIONS_FOLDER,
): Promise<CommittedMigration[]> {
  const files = await committedFiles(folder);
  return Promise.all(files.map((file) => readMigration(folder, file)));
}

async function readMigration(folder: string, file: string): Promise<CommittedMigration> {
  const text = await readFile(`${folder}/committed/${file}`, "utf8");
  const { headers, body } = parseMigrationText(file, text);
  const previous = headers["Previous"] ?? "-";
  const previousHash = previous === "-" ? null : previous;
  return {
    file,
    recordedAs: recordedName(file),
    body,
    hash: headers["Hash"] ?? "",
    previousHash,
    actualHash: calculateHash(body, previousHash),
  };
}
