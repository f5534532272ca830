// Opens the database that the service reads, and makes sure that it can be served.
import { setTimeout as sleep } from "node:timers/promises";
import { abandonPool } from "../db/bounded-pool.ts";
import { openEmbedded, type Embedded } from "../db/embedded/open.ts";
import { makePool, READER_SETTINGS, type Pool } from "../db/connect.ts";
import { BeforeBaseline } from "../db/before-baseline.ts";
import { applyMigrations, pendingMigrations } from "../db/migrations.ts";
import { shownUrl } from "../db/shown-url.ts";
import type { Config } from "./config.ts";
import { DatabaseGate, type Obstacle } from "./http/database-gate.ts";
import { unlessAborted } from "./stopping.ts";
import { isUnreachable } from "./http/database-failure.ts";

/** The database cannot be served as it is; the message says what to do. */
export class CannotServe extends Error {
  override readonly name = "CannotServe";
}

export interface ServedDatabase {
  /** Reads as dex_reader. */
  pool: Pool;
  /** Connections of GraphQL's own: REST always has those of `pool`. */
  graphqlPool: Pool;
  /**
   * One more connection of the same role, for what the service itself asks: the version of the data,
   * and what there is to be served. It waits for no query of the pool, and has bounds of its own.
   */
  watch: Pool;
  /** Open once the database can be served. */
  gate: DatabaseGate;
  /** The embedded database's superuser, which may fill it; undefined for any other. */
  embeddedUrl: string | undefined;
}

export interface OpenOptions {
  config: Config;
  /** Whether to migrate a database that is not the service's own. */
  migrate: boolean;
  /** Takes what is to be let go when the service ends, the last opened first. */
  stack: AsyncDisposableStack;
  /** Aborted when whatever still runs is to be given up. */
  hurry: AbortSignal;
  log: DatabaseLog;
  /** Gets the reason when the embedded database has ended and cannot be started again. */
  onLost: (error: Error) => void;
}

/** What the operator has to mend is a warning. */
type DatabaseLog = Record<"info" | "warn", (line: string) => void>;

/**
 * For how long PostgreSQL works on what the service itself asks, in milliseconds, and for how long
 * that is waited for. STATEMENT_TIMEOUT_MS and POOL_HOLD_MS are for what clients ask: where a site has
 * them short, the catalogs take longer to read, and without these nothing could be served.
 */
const OWN_QUESTION_MS = 60_000;

/**
 * Opens DATABASE_URL, or the embedded database without one. Throws where the database cannot be read
 * as dex_reader. One that does not answer yet, or lacks migrations, is waited for behind the gate.
 */
export async function openDatabase(options: OpenOptions): Promise<ServedDatabase> {
  const { config, stack, hurry, log } = options;
  const embedded = config.databaseUrl === undefined ? await startEmbedded(options) : undefined;
  const embeddedUrl = embedded?.url;
  const url = embedded?.readerUrl ?? config.databaseUrl ?? "";
  if (embeddedUrl === undefined && options.migrate) await migrate(config.databaseOwnerUrl ?? url);
  const { poolSize, poolQueue: queue, poolWaitMs: waitMs, poolHoldMs: holdMs } = config;
  const { statementTimeoutMs, lockTimeoutMs, graphqlStatementTimeoutMs, graphqlPoolSize } = config;
  const prepare = embedded !== undefined || config.prepare;
  const reader = { role: "dex_reader", waitMs, lockTimeoutMs, prepare } as const;
  const pool = makePool(url, {
    ...reader,
    statementTimeoutMs,
    poolSize,
    bounds: { queue, holdMs },
  });
  stack.defer(() => endPool(pool, hurry));
  const graphqlPool = makePool(url, {
    ...reader,
    statementTimeoutMs: graphqlStatementTimeoutMs,
    poolSize: graphqlPoolSize,
    bounds: { queue, holdMs },
  });
  stack.defer(() => endPool(graphqlPool, hurry));
  // It connects when it is first asked.
  const watch = makePool(url, {
    ...reader,
    statementTimeoutMs: OWN_QUESTION_MS,
    poolSize: 1,
    bounds: { queue: Infinity, holdMs: OWN_QUESTION_MS },
  });
  stack.defer(() => endPool(watch, hurry));

  const { exposedSchemas } = config;
  const findOwnObstacle = (): Promise<Obstacle | undefined> =>
    findObstacle(watch, { url, prepare, exposedSchemas });
  const gate = new DatabaseGate(await findOwnObstacle());
  if (gate.obstacle === undefined) {
    if (embeddedUrl === undefined) log.info(`Serving the database ${shownUrl(url)}.`);
    await warnOfRights(watch, log);
  } else {
    log.warn(
      `${gate.obstacle.line} The service tries again every second; until then, answers are 503.`,
    );
    const stopped = new AbortController();
    stack.defer(() => stopped.abort());
    const look = (): Promise<Obstacle | undefined> => findOwnObstacle().catch(notServable);
    void gate.openWhenClear(look, stopped.signal, log).then(() => warnOfRights(watch, log));
  }
  return { pool, graphqlPool, watch, gate, embeddedUrl };
}

/** What a database that came later lacks, that one of the start would have been refused for. */
const notServable = (error: unknown): Obstacle => ({ kind: "not ready", line: reason(error) });

/** What is given up has a moment to end by itself. */
const END_MS = 1000;

async function endPool(pool: Pool, hurry: AbortSignal): Promise<void> {
  const ended = pool.end();
  await unlessAborted(hurry, Promise.race([ended, sleep(END_MS, undefined, { ref: false })]));
  abandonPool(pool);
  await unlessAborted(hurry, Promise.race([ended, sleep(END_MS, undefined, { ref: false })]));
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
  } catch (error) {
    if (error instanceof BeforeBaseline) throw new CannotServe(error.message, { cause: error });
    throw new CannotServe(
      `The migrations cannot be applied by ${shownUrl(url)}: ${reason(error)}. Give a login that ` +
        "may become dex_owner as DATABASE_OWNER_URL, and make the roles by `npm run db:roles`.",
      { cause: error },
    );
  }
}

/**
 * What stands in the way of serving this database now, and may pass. Throws where it cannot be read
 * as dex_reader, which somebody has to change.
 */
async function findObstacle(
  pool: Pool,
  { url, prepare, exposedSchemas }: Served,
): Promise<Obstacle | undefined> {
  try {
    await checkReader(pool, url);
    if (!prepare) await checkSettings(pool, url);
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
    if (!isUnreachable(error)) throw error;
    const isPooler = reason(error).includes("unsupported startup parameter");
    return {
      kind: "unreachable",
      line: `${shownUrl(url)} does not answer: ${reason(error)}.${isPooler ? ` ${BEHIND_POOLER}` : ""}`,
    };
  }
}

interface Served {
  url: string;
  prepare: boolean;
  exposedSchemas: readonly string[];
}

const BEHIND_POOLER = "Behind a pooler such as PgBouncer, give PREPARE=off: docs/deployment.md.";

async function checkReader(pool: Pool, url: string): Promise<void> {
  const role = await roleOf(pool, url);
  if (role === "dex_reader") return;
  throw new CannotServe(
    `${shownUrl(url)} reads as ${role}, not as dex_reader: the connection's \`options\` are lost on the ` +
      `way. ${BEHIND_POOLER}`,
  );
}

/** Behind a pooler, the login brings the settings of the session. */
async function checkSettings(pool: Pool, url: string): Promise<void> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    "select name, current_setting(name) as setting from unnest($1::text[]) as name",
    [Object.keys(READER_SETTINGS)],
  );
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  const missing = Object.entries(READER_SETTINGS).filter(
    ([name, value]) => found.get(name) !== value,
  );
  if (missing.length === 0) return;
  const settings = missing.map(([name, value]) => `${name} = ${value}`).join(", ");
  throw new CannotServe(
    `With PREPARE=off the login of ${shownUrl(url)} must have the settings of the service's sessions, and ` +
      `lacks ${settings}: docs/deployment.md has the statements.`,
  );
}

async function roleOf(pool: Pool, url: string): Promise<string> {
  try {
    const { rows } = await pool.query<{ role: string }>("select current_user as role");
    return rows[0]?.role ?? "nobody";
  } catch (error) {
    if (isUnreachable(error)) throw error;
    throw new CannotServe(
      `${shownUrl(url)} cannot become dex_reader: ${reason(error)}. Make the roles by ` +
        "`npm run db:roles` with a DATABASE_OWNER_URL that may; it grants dex_reader to the " +
        "login of DATABASE_URL.",
      { cause: error },
    );
  }
}

/** Whether dex_reader can see what is to be shown. */
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
  if (problems.length > 0) throw new CannotServe(`EXPOSED_SCHEMAS: ${problems.join("; ")}.`);
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

/**
 * Warns the operator where the login could become more than dex_reader. No client can make the service
 * change its role; a login that has nothing to change to needs no such promise.
 */
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

/** What went wrong, in the words of whoever said it; of several refusals the first. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return reason(error.errors[0]);
  return error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
}
