// Applies the committed migrations, and tells which a database lacks.
import { Logger } from "@graphile/logger";
import { setTimeout } from "node:timers/promises";
import { migrate } from "graphile-migrate";
import { committedFiles, MIGRATIONS_FOLDER, recordedName } from "./committed.ts";
import { urlForRole, type Database } from "./connect.ts";

/** SQLSTATEs by which a database says that it was never migrated. */
const NEVER_MIGRATED = ["42P01", "3F000", "42501"];

/** graphile-migrate keeps its connections for 200 ms after its work. */
const CONNECTIONS_KEPT_MS = 300;

/** Applies every committed migration of the folder that the database lacks, as dex_owner. */
export async function applyMigrations(url: string, folder = MIGRATIONS_FOLDER): Promise<void> {
  await migrate({
    connectionString: urlForRole(url, "dex_owner"),
    databaseOwner: "dex_owner",
    migrationsFolder: folder,
    logger: new Logger(() => () => undefined),
  });
  // It ends the process where the server goes away under them, as an embedded one may do at once.
  await setTimeout(CONNECTIONS_KEPT_MS);
}

/** The file names of the committed migrations that this database lacks, oldest first. */
export async function pendingMigrations(db: Database): Promise<string[]> {
  const applied = await appliedMigrations(db);
  return (await committedFiles()).filter((file) => !applied.has(recordedName(file)));
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
