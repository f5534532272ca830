// Applies the committed migrations, and tells which a database lacks.
import { setTimeout } from "node:timers/promises";
import { migrate } from "graphile-migrate";
import { beforeBaseline, refuseBeforeBaseline, type Applied } from "./before-baseline.ts";
import { committedFiles, MIGRATIONS_FOLDER, recordedName } from "./committed.ts";
import { connect, type Client, type Database } from "./connect.ts";
import { logTo } from "./graphile-migrate-log.ts";
import { dropHalfMadeIndexes } from "./half-made-indexes.ts";
import { retryLocks } from "./lock-retry.ts";
import { rehearseMigrations } from "./rehearse.ts";

/** SQLSTATEs by which a database says that it was never migrated. */
const NEVER_MIGRATED = ["42P01", "3F000", "42501"];

/** What it says where a column is not there. Before the baseline nobody was told of hashes. */
const NO_COLUMN = "42703";

/** Those of this project who migrate take turns by it. */
const MIGRATING_LOCK = "4935100202";

/** graphile-migrate's own, by which it refuses to begin beside another. */
const GRAPHILE_MIGRATE_LOCK = "4727445306447283";

/** After so long it is looked again whether a lock is free. */
const LOOK_MS = 100;

/** graphile-migrate keeps its connections for 200 ms after its work. */
const CONNECTIONS_KEPT_MS = 300;

/**
 * Does what migrates this database once nobody else does: another process, or what PostgreSQL is
 * still at for one that was killed.
 */
async function inTurn<T>(url: string, work: () => Promise<T>): Promise<T> {
  const client = await connect(url);
  try {
    await takeLock(client, MIGRATING_LOCK);
    // Given back at once: graphile-migrate takes it itself, and does not wait.
    await takeLock(client, GRAPHILE_MIGRATE_LOCK);
    await client.query("select pg_advisory_unlock($1)", [GRAPHILE_MIGRATE_LOCK]);
    return await work();
  } finally {
    await client.end();
  }
}

/**
 * Looks again and again: a statement that waited would be one that an index made concurrently waits for,
 * and so for each other without end.
 */
async function takeLock(client: Client, lock: string): Promise<void> {
  const isTaken = async (): Promise<boolean> => {
    const { rows } = await client.query<{ taken: boolean }>(
      "select pg_try_advisory_lock($1) as taken",
      [lock],
    );
    return rows[0]?.taken === true;
  };
  while (!(await isTaken())) await setTimeout(LOOK_MS);
}

/**
 * Applies every committed migration of the folder that the database lacks, as dex_owner. Tries them
 * before, and throws `CannotMigrate`, with nothing changed, where one cannot be applied, and
 * `BeforeBaseline` where none can. Takes away what
 * is left of one that was broken off.
 */
export async function applyMigrations(
  url: string,
  folder = MIGRATIONS_FOLDER,
  print: (line: string) => void = () => undefined,
): Promise<void> {
  const logger = logTo(print);
  try {
    await inTurn(url, async () => {
      await rehearseMigrations(url, folder);
      for (const index of await dropHalfMadeIndexes(url, folder)) {
        print(`Dropped ${index}, which was broken off while it was made: it is made again.`);
      }
      await retryLocks(
        url,
        (connectionString) =>
          migrate({
            connectionString,
            databaseOwner: "dex_owner",
            migrationsFolder: folder,
            logger,
          }),
        print,
      );
    });
  } finally {
    // It ends the process where the server goes away under them, as an embedded one may do at once.
    await setTimeout(CONNECTIONS_KEPT_MS);
  }
}

/**
 * The file names of the committed migrations that this database lacks, oldest first. Throws
 * `BeforeBaseline` where it can never have them.
 */
export async function pendingMigrations(db: Database): Promise<string[]> {
  const files = await committedFiles();
  const applied = await appliedMigrations(db, files[0] ?? "");
  await refuseBeforeBaseline(applied);
  const names = new Set(applied.map(({ filename }) => filename));
  return files.filter((file) => !names.has(recordedName(file)));
}

async function appliedMigrations(db: Database, baseline: string): Promise<Applied[]> {
  try {
    const { rows } = await db.query<Applied>(
      "select filename, hash from dex_private.applied_migration",
    );
    return rows;
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (code === NO_COLUMN) throw beforeBaseline(baseline);
    if (NEVER_MIGRATED.includes(code)) return [];
    throw error;
  }
}
