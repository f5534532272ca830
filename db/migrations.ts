// Applies the committed migrations, and lists those that a database lacks.
import { setTimeout } from "node:timers/promises";
import { migrate } from "graphile-migrate";
import { beforeBaseline, refuseBeforeBaseline } from "./before-baseline.ts";
import { committedFiles, MIGRATIONS_FOLDER, recordedName } from "./committed.ts";
import { connect, type Client, type Database } from "./connect.ts";
import { logTo } from "./graphile-migrate-log.ts";
import { dropHalfMadeIndexes } from "./half-made-indexes.ts";
import { retryLocks } from "./lock-retry.ts";
import type { RecordedMigration } from "./applied-migrations.ts";
import { rehearseMigrations } from "./rehearse.ts";

/** SQLSTATEs of a database without migrations: undefined table or schema, no privilege. */
const NEVER_MIGRATED = ["42P01", "3F000", "42501"];

/** SQLSTATE of an undefined column. Before the baseline, applied_migration had no column `hash`. */
const NO_COLUMN = "42703";

/** Advisory lock of this project's migrating processes. */
const MIGRATING_LOCK = "4935100202";

/** graphile-migrate's own advisory lock; it fails if another process holds it. */
const GRAPHILE_MIGRATE_LOCK = "4727445306447283";

/** Polling interval for an advisory lock. */
const POLL_MS = 100;

/** graphile-migrate keeps its connections for 200 ms after its work. */
const CONNECTIONS_KEPT_MS = 300;

/**
 * Runs `work` while no other process migrates this database, including the backend of a killed process
 * that is still running.
 */
async function inTurn<T>(
  url: string,
  print: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  await using client = await connect(url);
  await takeLock(client, MIGRATING_LOCK, print);
  // Release it immediately: graphile-migrate takes the lock itself, without waiting.
  await takeLock(client, GRAPHILE_MIGRATE_LOCK, print);
  await client.query("select pg_advisory_unlock($1)", [GRAPHILE_MIGRATE_LOCK]);
  return await work();
}

/**
 * Polls for the lock, and prints once which session holds it. A waiting statement would hold a snapshot, for
 * which `create index concurrently` waits: a deadlock.
 */
async function takeLock(
  client: Client,
  lock: string,
  print: (line: string) => void,
): Promise<void> {
  const isTaken = async (): Promise<boolean> => {
    const { rows } = await client.query<{ taken: boolean }>(
      "select pg_try_advisory_lock($1) as taken",
      [lock],
    );
    return rows[0]?.taken === true;
  };
  let holder: string | undefined;
  while (!(await isTaken())) {
    if (holder === undefined) {
      holder = await holderOf(client, lock);
      if (holder !== undefined) {
        print(`Waiting for ${holder}, which holds the advisory lock of migrations.`);
      }
    }
    await setTimeout(POLL_MS);
  }
}

/** Undefined if it has just been released. */
async function holderOf(client: Client, lock: string): Promise<string | undefined> {
  const { rows } = await client.query<{ holder: string }>(
    `select format('pid %s (%s, login %s)', pid, coalesce(nullif(application_name, ''), 'no application_name'), usename) as holder
    from pg_locks as held
    join pg_stat_activity as session using (pid)
    where held.locktype = 'advisory'
      and held.granted
      and held.objsubid = 1
      and held.database = (select oid from pg_database where datname = current_database())
      and (held.classid::bigint << 32) | held.objid::bigint = $1`,
    [lock],
  );
  return rows[0]?.holder;
}

/**
 * Applies the committed migrations of the folder that the database lacks, as dex_owner. Rehearses them
 * first: throws `CannotMigrate` if one fails, and `BeforeBaseline` if the database predates the baseline,
 * both without any change. Drops invalid indexes of interrupted migrations.
 */
export async function applyMigrations(
  url: string,
  folder = MIGRATIONS_FOLDER,
  print: (line: string) => void = () => undefined,
): Promise<void> {
  const logger = logTo(print);
  try {
    await inTurn(url, print, async () => {
      await rehearseMigrations(url, folder);
      for (const index of await dropHalfMadeIndexes(url, folder)) {
        print(
          `Dropped ${index}, left invalid by an interrupted migration, which now makes it again.`,
        );
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
    // graphile-migrate ends the process if the server stops under an open connection, as an embedded one may.
    await setTimeout(CONNECTIONS_KEPT_MS);
  }
}

/**
 * The file names of the committed migrations that this database lacks, oldest first. Throws
 * `BeforeBaseline` if the database predates the baseline.
 */
export async function pendingMigrations(db: Database): Promise<string[]> {
  const files = await committedFiles();
  const applied = await appliedMigrations(db, files[0] ?? "");
  await refuseBeforeBaseline(applied);
  const names = new Set(applied.map(({ filename }) => filename));
  return files.filter((file) => !names.has(recordedName(file)));
}

async function appliedMigrations(db: Database, baseline: string): Promise<RecordedMigration[]> {
  try {
    const { rows } = await db.query<RecordedMigration>(
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
