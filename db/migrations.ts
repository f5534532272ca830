// Applies the committed migrations, and tells which a database lacks.
import { Logger } from "@graphile/logger";
import { readdir } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { migrate } from "graphile-migrate";
import { urlForRole, type Database } from "./connect.ts";

const MIGRATIONS_FOLDER = fileURLToPath(new URL("./migrations", import.meta.url));

/** SQLSTATEs by which a database says that it was never migrated. */
const NEVER_MIGRATED = ["42P01", "3F000", "42501"];

/** graphile-migrate keeps its connections for 200 ms after its work. */
const CONNECTIONS_KEPT_MS = 300;

/** Applies every committed migration that the database lacks, as dex_owner. */
export async function applyMigrations(url: string): Promise<void> {
  await migrate({
    connectionString: urlForRole(url, "dex_owner"),
    databaseOwner: "dex_owner",
    migrationsFolder: MIGRATIONS_FOLDER,
    logger: new Logger(() => () => undefined),
  });
  // It ends the process where the server goes away under them, as an embedded one may do at once.
  await setTimeout(CONNECTIONS_KEPT_MS);
}

/** The file names of the committed migrations that this database lacks, oldest first. */
export async function pendingMigrations(db: Database): Promise<string[]> {
  const committed = (await readdir(`${MIGRATIONS_FOLDER}/committed`))
    .filter((name) => /^\d{6}.*\.sql$/.test(name))
    .sort();
  const applied = await appliedMigrations(db);
  // 000001-registry.sql is on record as 000001.sql.
  return committed.filter((name) => !applied.has(name.replace(/^(\d+).*/, "$1.sql")));
}

/** The numbers, as file names, of those that it has. */
async function appliedMigrations(db: Database): Promise<Set<string>> {
  try {
    const { rows } = await db.query<{ filename: string }>(
      "select filename from dex_private.applied_migration",
    );
    return new Set(rows.map((row) => row.filename));
  } catch (error) {
    if (NEVER_MIGRATED.includes((error as { code?: string }).code ?? "")) return new Set();
    throw error;
  }
}
