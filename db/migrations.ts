// Rehearses and applies the committed migrations, and lists those that a database lacks.
import { setTimeout } from "node:timers/promises";
import { migrate } from "graphile-migrate";
import {
  beforeBaseline,
  committedFiles,
  committedMigrations,
  MIGRATIONS_FOLDER,
  recordedMigrations,
  recordedName,
  refuseBeforeBaseline,
  refuseOthers,
  type RecordedMigration,
} from "./committed.ts";
import { connect, type Client, type Database } from "./connect.ts";
import { retryLocks } from "./lock-retry.ts";
import { logTo } from "./migrate-settings.ts";
import { refuseUnfit } from "./unfit-database.ts";

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

/** A pending migration fails. Nothing was changed; the message gives the reason. */
class CannotMigrate extends Error {
  override readonly name = "CannotMigrate";
}

/**
 * lock_timeout and statement_timeout of the rehearsal, so that readers wait at most this long for its
 * locks. A migration that takes longer is not rehearsed.
 */
const TIMEOUT_MS = 1000;

/** PostgreSQL's SQLSTATEs for an expired lock_timeout or statement_timeout. */
const TOO_LONG = ["55P03", "57014"];

/**
 * Rehearses the pending migrations in a transaction that is rolled back: objects that a site has added to the schema can make
 * one fail. Throws `CannotMigrate` if a pending migration of this folder fails, `BeforeBaseline` if the database
 * predates the baseline, and `OtherMigration` if it has others; refuses an unfit database. Does not rehearse on an empty database, nor anything from the first migration on
 * that runs outside a transaction.
 */
async function rehearseMigrations(url: string, folder: string): Promise<void> {
  const bounds = { lockTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS };
  // Closing the connection rolls the transaction back.
  await using client = await connect(url, { role: "dex_owner", ...bounds });
  const recorded = await recordedMigrations(client);
  await refuseBeforeBaseline(recorded, folder);
  await refuseOthers(recorded, { folder });
  const applied = new Set(recorded.map(({ filename }) => filename));
  await refuseUnfit(client, applied.size === 0);
  if (applied.size === 0) return;
  await client.query("begin");
  for (const { file, recordedAs, body } of await committedMigrations(folder)) {
    if (applied.has(recordedAs)) continue;
    if (body.startsWith("--! no-transaction")) return;
    const refusal = await client.query(body).then(
      () => undefined,
      (error: unknown) => error as Error & { code?: string; detail?: string },
    );
    if (refusal === undefined) continue;
    if (TOO_LONG.includes(refusal.code ?? "")) return;
    const detail = refusal.detail === undefined ? "" : ` (${refusal.detail.replace(/\n/g, "; ")})`;
    throw new CannotMigrate(
      `${file} cannot be applied, and nothing was changed: ${refusal.message}${detail}`,
      { cause: refusal },
    );
  }
}

/**
 * After an interrupted `create index concurrently` PostgreSQL keeps an invalid index, which `if not exists` would accept.
 * Drops the invalid indexes that a pending migration of this folder creates again, and resolves to their
 * names. Another invalid index may still be under construction; `db:check` reports those.
 */
async function dropHalfMadeIndexes(url: string, folder: string): Promise<string[]> {
  await using client = await connect(url, { role: "dex_owner" });
  const { rows: invalid } = await client.query<{ name: string; qualified: string }>(
    `select
      indexed.relname as name,
      format('%I.%I', schema.nspname, indexed.relname) as qualified
    from pg_index as index
    join pg_class as indexed on indexed.oid = index.indexrelid
    join pg_namespace as schema on schema.oid = indexed.relnamespace
    where not index.indisvalid
      and indexed.relkind = 'i'
      and indexed.relowner = 'dex_owner'::regrole
    order by qualified`,
  );
  if (invalid.length === 0) return [];
  const applied = new Set((await recordedMigrations(client)).map(({ filename }) => filename));
  const pending = (await committedMigrations(folder)).filter(
    ({ recordedAs }) => !applied.has(recordedAs),
  );
  const made = new Set(pending.map(({ body }) => madeConcurrently(body)));
  const dropped = invalid.filter(({ name }) => made.has(name)).map(({ qualified }) => qualified);
  for (const index of dropped) await client.query(`drop index concurrently ${index}`);
  return dropped;
}

/** The name of the index that a migration of one statement creates concurrently. */
function madeConcurrently(body: string): string | undefined {
  const making =
    /^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?"?(\w+)"?\s/im;
  return making.exec(body)?.[1];
}

/** Read once: a service that runs needs no migration of a release that is put in its folder. */
let ofThisRelease: Promise<string[]> | undefined;

/**
 * The file names of the committed migrations that this database lacks, oldest first. Throws
 * `BeforeBaseline` if the database predates the baseline.
 */
export async function pendingMigrations(db: Database): Promise<string[]> {
  const files = await (ofThisRelease ??= committedFiles());
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
