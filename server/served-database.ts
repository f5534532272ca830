// Opens the database that the service reads, and makes sure that it can be served.
import { setTimeout as sleep } from "node:timers/promises";
import { abandonPool, type PoolBounds } from "../db/bounded-pool.ts";
import { openEmbedded, type Embedded } from "../db/embedded/open.ts";
import { makePool, READER_SETTINGS, type Pool } from "../db/connect.ts";
import { shareTurns } from "../db/shared-turns.ts";
import { BeforeBaseline } from "../db/committed.ts";
import { ANSWER_MS, Fence, ReplacedPrimary } from "../db/fence.ts";
import { applyMigrations, pendingMigrations } from "../db/migrations.ts";
import { shownUrl } from "../db/postgres-url.ts";
import type { Config } from "./config.ts";
import { DatabaseGate, type Obstacle } from "../http/known-database.ts";
import { waitBehindOwn as behindOwn } from "../http/behind-own.ts";
import { currentClient as askedBy } from "../http/request.ts";
import { unlessAborted } from "./stopping.ts";
import { isUnreachable } from "../db/failure.ts";

export interface ServedDatabase {
  /** REST's connections, as dex_reader. */
  pool: Pool;
  /** GraphQL's own: it cannot take those of REST. */
  graphqlPool: Pool;
  /** One connection for the service's own statements: it waits for none of the clients' statements. */
  ownPool: Pool;
  /** One connection for /ready, with REST's bounds: its statements may wait for a lock, and delay no others. */
  readinessPool: Pool;
  /** One connection that reads what streams follow. */
  livePool: Pool;
  gate: DatabaseGate;
  /** The login that may fill the embedded database; undefined for any other. */
  embeddedUrl: string | undefined;
}

export interface OpenOptions {
  config: Config;
  /** Whether to migrate DATABASE_URL. */
  migrate: boolean;
  /** Closes what was opened. */
  stack: AsyncDisposableStack;
  /** Aborted when nothing is to be waited for any more. */
  hurry: AbortSignal;
  log: DatabaseLog;
  /** The embedded database has ended and cannot be started again. */
  onLost: (error: Error) => void;
}

type DatabaseLog = Record<"info" | "warn", (line: string) => void>;

// STATEMENT_TIMEOUT_MS and POOL_HOLD_MS are for clients. A site may set them shorter than the catalogs take
// to read, and nothing could be served.
const OWN_STATEMENT_MS = 60_000;

/**
 * Opens DATABASE_URL, or the embedded database without one. Throws where the database cannot be read
 * as dex_reader. The gate waits for one that does not answer yet, or lacks migrations.
 */
export async function openDatabase(options: OpenOptions): Promise<ServedDatabase> {
  const { config, stack, hurry, log } = options;
  const { exposedSchemas, lockTimeoutMs, poolQueue: queue, poolHoldMs: holdMs } = config;
  const embedded = config.databaseUrl === undefined ? await startEmbedded(options) : undefined;
  const url = embedded?.readerUrl ?? config.databaseUrl ?? "";
  if (embedded === undefined && options.migrate) await migrate(config.databaseOwnerUrl ?? url);
  const prepare = embedded !== undefined || config.prepare;
  // Nothing replaces the embedded database.
  const fence = embedded === undefined ? new Fence(log, config.finality) : undefined;

  const open = (
    poolSize: number,
    statementTimeoutMs: number,
    bounds: PoolBounds = { queue, askedBy, behindOwn, holdMs },
    isGuarded = true,
  ): Pool => {
    const session = { role: "dex_reader", lockTimeoutMs, statementTimeoutMs, prepare } as const;
    const waiting = { poolSize, waitMs: config.poolWaitMs, bounds };
    const pool = makePool(url, { ...session, ...waiting, fence: isGuarded ? fence : undefined });
    stack.defer(() => endPool(pool, hurry));
    return pool;
  };
  const pool = open(config.poolSize, config.statementTimeoutMs);
  // A pooler may give each of a turn's statements another session, and a trace has those of its own request.
  if (prepare && config.traces === undefined) shareTurns(pool);
  const graphqlPool = open(config.graphqlPoolSize, config.graphqlStatementTimeoutMs);
  const readinessPool = open(1, config.statementTimeoutMs);
  const own = { queue: Infinity, askedBy, holdMs: OWN_STATEMENT_MS };
  const ownPool = open(1, OWN_STATEMENT_MS, own);
  const livePool = open(1, OWN_STATEMENT_MS, own);
  const stopped = new AbortController();
  // It must see a server that the others refuse, which ends what is not waited for.
  if (fence !== undefined)
    void fence.checkAgainAndAgain(open(1, ANSWER_MS, own, false), stopped.signal);
  stack.defer(() => stopped.abort());

  const look = (): Promise<Obstacle | undefined> =>
    findObstacle(ownPool, { url, prepare, exposedSchemas });
  const gate = new DatabaseGate(await look());
  if (gate.obstacle === undefined) {
    if (embedded === undefined) log.info(`Serving the database ${shownUrl(url)}.`);
    await warnOfRights(ownPool, log);
    if (prepare) await warnOfPools(ownPool, config, log);
  } else {
    log.warn(
      `${gate.obstacle.line} The service tries again every second; until then, answers are 503.`,
    );
    // A database that came later keeps the service waiting for what would have ended its start.
    const lookAgain = (): Promise<Obstacle | undefined> =>
      look().catch((error: unknown) => ({ kind: "not ready", line: reason(error) }));
    void gate.openWhenClear(lookAgain, stopped.signal, log).then(() => warnOfRights(ownPool, log));
  }
  return { pool, graphqlPool, readinessPool, ownPool, livePool, gate, embeddedUrl: embedded?.url };
}

/** How long a pool may take to end by itself. */
const END_MS = 1000;

async function endPool(pool: Pool, hurry: AbortSignal): Promise<void> {
  const ended = pool.end();
  const wait = (): Promise<void> =>
    unlessAborted(hurry, Promise.race([ended, sleep(END_MS, undefined, { ref: false })]));
  await wait();
  abandonPool(pool);
  await wait();
}

async function startEmbedded({ config, stack, log, onLost }: OpenOptions): Promise<Embedded> {
  const embedded = await openEmbedded({ dataDir: config.dataDir, log: log.info, onLost });
  stack.defer(() => embedded.stop());
  const found = embedded.adopted ? ", which an earlier service had left running" : "";
  log.info(`Serving the embedded database${found}; its data are in ${embedded.clusterDir}.`);
  return embedded;
}

async function migrate(url: string): Promise<void> {
  try {
    await applyMigrations(url);
  } catch (cause) {
    if (cause instanceof BeforeBaseline) throw new Error(cause.message, { cause });
    throw new Error(
      `The migrations cannot be applied by ${shownUrl(url)}: ${reason(cause)}. Give a login that ` +
        "may become dex_owner as DATABASE_OWNER_URL, and make the roles by `npm run db:roles`.",
      { cause },
    );
  }
}

interface Served {
  url: string;
  prepare: boolean;
  exposedSchemas: readonly string[];
}

const BEHIND_POOLER = "Behind a pooler such as PgBouncer, give PREPARE=off: docs/deployment.md.";

/** An obstacle that may pass. Throws where somebody has to change the database or the settings. */
async function findObstacle(
  pool: Pool,
  { url, prepare, exposedSchemas }: Served,
): Promise<Obstacle | undefined> {
  try {
    await checkReader(pool, url, prepare);
    const pending = await pendingMigrations(pool);
    if (pending.length === 0) {
      await checkExposed(pool, url, exposedSchemas);
      return undefined;
    }
    const line =
      `The database lacks ${pending.length} migration(s): ${pending.join(", ")}. Apply them by ` +
      "`npm run db:migrate`, or start with `npm start -- --migrate`.";
    return { kind: "not ready", line };
  } catch (error) {
    if (error instanceof BeforeBaseline) return { kind: "not ready", line: error.message };
    if (error instanceof ReplacedPrimary) return { kind: "not ready", line: `${error.message}.` };
    if (!isUnreachable(error)) throw error;
    const isPooler = reason(error).includes("unsupported startup parameter");
    return {
      kind: "unreachable",
      line: `${shownUrl(url)} does not answer: ${reason(error)}.${isPooler ? ` ${BEHIND_POOLER}` : ""}`,
    };
  }
}

async function checkReader(pool: Pool, url: string, prepare: boolean): Promise<void> {
  const { rows } = await pool
    .query<{ role: string }>("select current_user as role")
    .catch((cause: unknown) => {
      if (isUnreachable(cause) || cause instanceof ReplacedPrimary) throw cause;
      throw new Error(
        `${shownUrl(url)} cannot become dex_reader: ${reason(cause)}. Make the roles by ` +
          "`npm run db:roles` with a DATABASE_OWNER_URL that may; it grants dex_reader to the " +
          "login of DATABASE_URL.",
        { cause },
      );
    });
  if (!prepare) return checkSettings(pool, url);
  const role = rows[0]?.role ?? "an unknown role";
  if (role === "dex_reader") return;
  throw new Error(
    `${shownUrl(url)} reads as ${role}, not as dex_reader: the connection's \`options\` are lost on the ` +
      `way. ${BEHIND_POOLER}`,
  );
}

/** Behind a pooler the login has the role and the settings of the session. */
async function checkSettings(pool: Pool, url: string): Promise<void> {
  const needed: Record<string, string> = { role: "dex_reader", ...READER_SETTINGS };
  const { rows } = await pool.query<{ name: string; setting: string }>(
    // The order of day and month, behind the comma, is that of the cluster's locale.
    "select name, case name when 'role' then current_user when 'DateStyle' then split_part(current_setting(name), ',', 1) else coalesce(current_setting(name, true), '') end as setting from unnest($1::text[]) as name",
    [Object.keys(needed)],
  );
  const missing = rows
    .filter(({ name, setting }) => setting !== needed[name])
    .map(({ name }) => `${name} = ${needed[name] ?? ""}`);
  if (missing.length === 0) return;
  throw new Error(
    `With PREPARE=off the login of ${shownUrl(url)} must have the role and the settings of the service's sessions, and ` +
      `lacks ${missing.join(", ")}: docs/deployment.md, PgBouncer, says how to set them.`,
  );
}

async function checkExposed(
  pool: Pool,
  url: string,
  exposedSchemas: readonly string[],
): Promise<void> {
  if (exposedSchemas.length === 0) return;
  const { rows } = await pool.query<{ name: string; exists: boolean; usable: boolean }>(
    SELECT_EXPOSED,
    [exposedSchemas],
  );
  const problems = rows.flatMap(({ name, exists, usable }) => {
    if (!exists) return [`${shownUrl(url)} has no schema ${name}`];
    if (usable) return [];
    return [
      `dex_reader may not see the schema ${name}: \`grant usage on schema ${name} to dex_reader\``,
    ];
  });
  if (problems.length > 0) throw new Error(`EXPOSED_SCHEMAS: ${problems.join("; ")}.`);
}

const SELECT_EXPOSED = `
  select
    quote_ident(asked.name) as name,
    namespace.oid is not null as exists,
    coalesce(has_schema_privilege(namespace.oid, 'usage'), false) as usable
  from unnest($1::text[]) with ordinality as asked (name, place)
  left join pg_namespace as namespace on namespace.nspname = asked.name
  order by asked.place
`;

/** No client can change the service's role, but a login without other roles does not depend on that. */
async function warnOfRights(pool: Pool, log: DatabaseLog): Promise<void> {
  const row = await pool.query<{ login: string; rights: string | null }>(LOGIN_AND_RIGHTS).then(
    ({ rows }) => rows[0],
    // Nothing depends on it.
    () => undefined,
  );
  if (row === undefined || row.rights === null) return;
  log.warn(
    `The login ${row.login} ${row.rights}. Give the service a DATABASE_URL whose login may become ` +
      "dex_reader and nothing else, and a DATABASE_OWNER_URL for the rest.",
  );
}

const OTHER_CONNECTIONS = 4;

/** Not behind a pooler, whose own settings count. */
async function warnOfPools(
  pool: Pool,
  { poolSize, graphqlPoolSize }: Config,
  log: DatabaseLog,
): Promise<void> {
  const { rows } = await pool
    .query<{ most: number }>("select current_setting('max_connections')::int as most")
    .catch(() => ({ rows: [] }));
  const most = rows[0]?.most ?? Infinity;
  if (poolSize + graphqlPoolSize + OTHER_CONNECTIONS <= most) return;
  log.warn(
    `POOL_SIZE ${poolSize}, GRAPHQL_POOL_SIZE ${graphqlPoolSize} and ${OTHER_CONNECTIONS} more are above the ${most} connections ` +
      "that the database accepts (max_connections): answers are 503 when they are all in use.",
  );
}

const LOGIN_AND_RIGHTS = `
  select
    session_user as login,
    case
      when login.rolsuper then 'is a superuser'
      when pg_has_role(login.oid, 'dex_owner', 'member') then 'may become dex_owner'
      when pg_has_role(login.oid, 'dex_writer', 'member') then 'may become dex_writer'
    end as rights
  from pg_roles as login
  where login.rolname = session_user
`;

/** The message of an error; the first of an AggregateError. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return reason(error.errors[0]);
  return error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
}
