// The migrations: those that are committed in a folder, and those that a database has.
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { calculateHash } from "graphile-migrate/dist/hash.js";
import { parseMigrationText } from "graphile-migrate/dist/migration.js";
import type { Database } from "./connect.ts";

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

export interface RecordedMigration {
  /** Such as 000001.sql. */
  filename: string;
  hash: string;
}

/** The recorded migrations, oldest first; empty if the database was never migrated. For dex_owner. */
export async function recordedMigrations(db: Database): Promise<RecordedMigration[]> {
  const { rows: tables } = await db.query<{ isThere: boolean }>(
    `select to_regclass('graphile_migrate.migrations') is not null as "isThere"`,
  );
  if (tables[0]?.isThere !== true) return [];
  const { rows } = await db.query<RecordedMigration>(
    "select filename, hash from graphile_migrate.migrations order by filename",
  );
  return rows;
}

/** The database cannot be migrated; the message gives the alternative. */
export class BeforeBaseline extends Error {
  override readonly name = "BeforeBaseline";
}

/** Throws `BeforeBaseline` if the first recorded migration differs from the first one of the folder. */
export async function refuseBeforeBaseline(
  applied: readonly RecordedMigration[],
  folder = MIGRATIONS_FOLDER,
): Promise<void> {
  const [file] = await committedFiles(folder);
  const baseline = file === undefined ? undefined : await readMigration(folder, file);
  const first = applied.find(({ filename }) => filename === baseline?.recordedAs);
  if (baseline === undefined || first === undefined || first.hash === baseline.hash) return;
  throw beforeBaseline(baseline.file);
}

/** The database has another migration than the folder. Nothing was changed. */
export class OtherMigration extends Error {
  override readonly name = "OtherMigration";
}

/**
 * Throws `OtherMigration` where the database has a migration of whose number the folder has another. A new one can then only get
 * a number that the database takes for applied. `whole`: also where the folder has none of that number.
 */
export async function refuseOthers(
  applied: readonly RecordedMigration[],
  { folder = MIGRATIONS_FOLDER, whole = false }: { folder?: string; whole?: boolean } = {},
): Promise<void> {
  const committed = await committedMigrations(folder);
  for (const { filename, hash } of applied) {
    const own = committed.find(({ recordedAs }) => recordedAs === filename);
    if (own === undefined ? !whole : own.hash === hash) continue;
    throw new OtherMigration(
      own === undefined
        ? `The database has the migration ${filename}, which ${folder}/committed lacks. Get that file first.`
        : `The database has a different migration of the number of ${own.file}, which is not applied. Find out which of the two is right, ` +
            `put that file here, and commit the other change again, by db:uncommit and db:commit or as a new one.`,
    );
  }
}

export const beforeBaseline = (file: string): BeforeBaseline =>
  new BeforeBaseline(
    `This database has the migrations before the baseline ${file} and cannot be migrated further. ` +
      "Export its tokens, pairs, offers and trades as CSV and load them into a new database: " +
      'db/README.md has the commands under "A database of the migrations before the baseline".',
  );
