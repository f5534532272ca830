// A database of the migrations that the baseline has replaced: no migration leads from it to this schema.
import { committedMigrations, MIGRATIONS_FOLDER } from "./committed.ts";

/** It cannot be migrated; the message says what to do instead. */
export class BeforeBaseline extends Error {
  override readonly name = "BeforeBaseline";
}

/** A migration as a database has it on record. */
export interface Applied {
  filename: string;
  hash: string;
}

/** Throws `BeforeBaseline` where the first of these is not the first of the folder. */
export async function refuseBeforeBaseline(
  applied: readonly Applied[],
  folder = MIGRATIONS_FOLDER,
): Promise<void> {
  const [baseline] = await committedMigrations(folder);
  const first = applied.find(({ filename }) => filename === baseline?.recordedAs);
  if (baseline === undefined || first === undefined || first.hash === baseline.hash) return;
  throw beforeBaseline(baseline.file);
}

export const beforeBaseline = (file: string): BeforeBaseline =>
  new BeforeBaseline(
    `This database was made before the baseline, ${file}, and no migration leads from it. Copy its ` +
      "tokens, pairs, offers and trades out as CSV, and load them into a new database: db/README.md " +
      'has the commands, under "A database of the migrations before the baseline".',
  );
