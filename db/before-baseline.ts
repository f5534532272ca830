// Recognises a database of the migrations that the baseline has replaced; it cannot be migrated further.
import { committedMigrations, MIGRATIONS_FOLDER } from "./committed.ts";
import type { RecordedMigration } from "./applied-migrations.ts";

/** The database cannot be migrated; the message gives the alternative. */
export class BeforeBaseline extends Error {
  override readonly name = "BeforeBaseline";
}

/** Throws `BeforeBaseline` if the first recorded migration differs from the first one of the folder. */
export async function refuseBeforeBaseline(
  applied: readonly RecordedMigration[],
  folder = MIGRATIONS_FOLDER,
): Promise<void> {
  const [baseline] = await committedMigrations(folder);
  const first = applied.find(({ filename }) => filename === baseline?.recordedAs);
  if (baseline === undefined || first === undefined || first.hash === baseline.hash) return;
  throw beforeBaseline(baseline.file);
}

export const beforeBaseline = (file: string): BeforeBaseline =>
  new BeforeBaseline(
    `This database has the migrations before the baseline ${file} and cannot be migrated further. ` +
      "Export its tokens, pairs, offers and trades as CSV and load them into a new database: " +
      'db/README.md has the commands under "A database of the migrations before the baseline".',
  );
