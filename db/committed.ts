// The committed migrations, as they are in their folder.
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { calculateHash } from "graphile-migrate/dist/hash.js";
import { parseMigrationText } from "graphile-migrate/dist/migration.js";

export const MIGRATIONS_FOLDER = fileURLToPath(new URL("./migrations", import.meta.url));

export interface CommittedMigration {
  /** Such as 000001-registry.sql. */
  file: string;
  /** As a database has it on record, such as 000001.sql. */
  recordedAs: string;
  /** The SQL, without the header. */
  body: string;
  /** The hash that the header gives. */
  hash: string;
  /** The hash that the header gives of the migration before; null for the first. */
  previousHash: string | null;
  /** The hash of what is in the file now. */
  actualHash: string;
}

/** The file names of the committed migrations, oldest first. */
export async function committedFiles(folder = MIGRATIONS_FOLDER): Promise<string[]> {
  return (await readdir(`${folder}/committed`))
    .filter((name) => /^\d{6}.*\.sql$/.test(name))
    .sort();
}

/** What a database calls it: 000001-registry.sql is on record as 000001.sql. */
export function recordedName(file: string): string {
  return file.replace(/^(\d+).*/, "$1.sql");
}

/** The committed migrations, oldest first. Throws where a file has no header. */
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
