// Reads the record of the applied migrations.
import type { Database } from "./connect.ts";

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
