// Opens connections to PostgreSQL; the only file that imports `pg`.
import pg from "pg";
import { parse } from "pg-connection-string";
import { boundPool, followConnections, type PoolBounds } from "./bounded-pool.ts";
import {
  describedOnce,
  forgetStaleConnections,
  keepPreparedStatements,
  promiseByCallback,
  withoutNames,
} from "./pool-statements.ts";
import type { Client, Pool } from "./connection-types.ts";
import type { Fence } from "./fence.ts";
import { withPlainTls } from "./tls.ts";

/** The roles of db/roles.sql: for migrations, for writers, for the service. */
export type Role = "dex_owner" | "dex_writer" | "dex_reader";

export type { Client, Connected, Database, Pool, PooledClient } from "./connection-types.ts";

export interface ConnectionOptions {
  /** The role to set after login; if missing, the login keeps its own role. */
  role?: Role;
  /** Maximum number of connections of a pool. */
  poolSize?: number;
  /**
   * Maximum wait in milliseconds for a free connection of the pool, and for the server to accept a new
   * one. Default 5000.
   */
  waitMs?: number;
  /** Limits of the pool's queue and checkout time; unlimited if missing. */
  bounds?: PoolBounds;
  /** Refuses a pool's connections to a primary that was replaced. */
  fence?: Fence | undefined;
  /** PostgreSQL's statement_timeout in milliseconds; 0, the default, means that of the login, and none of a writer. */
  statementTimeoutMs?: number;
  /** PostgreSQL's lock_timeout in milliseconds; 0, the default, means that of the login, and none of a writer. */
  lockTimeoutMs?: number;
  /**
   * Whether to use named statements and startup options; true by default. A pooler in transaction mode gives
   * each transaction another session: there the login must bring role and settings.
   */
  prepare?: boolean;
  /** The application_name in pg_stat_activity. */
  applicationName?: string;
}

const COMMON_SETTINGS = {
  TimeZone: "UTC",
  search_path: "public",
  // The service's queries are short: JIT compilation takes longer than execution.
  jit: "off",
  // Whatever the database or the login has: with a block the past would be served as the head, and the patterns in
  // functions are read with their backslashes.
  "dex.as_of_block": "",
  "dex.as_of_moment": "",
  standard_conforming_strings: "on",
  // The driver reads no time of another style, and numbers of trades are read as floats.
  DateStyle: "ISO",
  extra_float_digits: "1",
  // What the catalog prints of an index, a view or a function is compared as text.
  quote_all_identifiers: "off",
};

/** The settings of a reader's session; behind a pooler, those of the login. */
export const READER_SETTINGS = {
  ...COMMON_SETTINGS,
  default_transaction_read_only: "on",
  // Else PostgreSQL goes on with the statement of a connection that is closed.
  client_connection_check_interval: "500ms",
  // Planning takes longer than reading a figure; and a cached custom plan for a small market would be used
  // for a large one.
  plan_cache_mode: "force_generic_plan",
};

/**
 * What a site has for short statements ends no writer: a load of many days is one statement, and the next file comes when it is
 * fetched. An operator's URL may have others.
 */
const UNBOUNDED = [
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout",
  "idle_session_timeout",
];

/**
 * The settings of a session. They are sent as startup options, which need no round trip and survive
 * `reset`. A reader's session is read-only.
 */
function sessionSettings(options: ConnectionOptions): Record<string, string> {
  const { role, statementTimeoutMs = 0, lockTimeoutMs = 0 } = options;
  return {
    ...(role === "dex_reader" ? READER_SETTINGS : COMMON_SETTINGS),
    ...(role === undefined ? {} : { role }),
    ...(statementTimeoutMs > 0 ? { statement_timeout: String(statementTimeoutMs) } : {}),
    ...(lockTimeoutMs > 0 ? { lock_timeout: String(lockTimeoutMs) } : {}),
  };
}

function clientConfig(given: string, options: ConnectionOptions): pg.ClientConfig {
  const url = withPlainTls(given);
  // An invalid URL fails here, where the caller can name the setting, and not at the first query.
  const asked = parse(url).options;
  const settings = Object.entries(sessionSettings(options)).map(
    ([name, value]) => `-c ${name}=${value}`,
  );
  const unbounded = options.role === "dex_writer" ? UNBOUNDED.map((name) => `-c ${name}=0`) : [];
  return {
    connectionString:
      options.prepare === false
        ? url
        : withOptions(url, [...unbounded, asked, ...settings].filter(Boolean).join(" ")),
    application_name: options.applicationName ?? "dex-market-data",
    connectionTimeoutMillis: options.waitMs ?? 5000,
    keepAlive: true,
    // The default of a URL without sslmode. `pg` would otherwise apply PGSSLMODE even to the embedded database.
    ssl: false,
  };
}

/** Puts the startup options into the URL, so that tools other than `pg` can use it too. */
function withOptions(url: string, startOptions: string): string {
  const parsed = new URL(url);
  parsed.searchParams.set("options", startOptions);
  // `pg` decodes %20 as a space, but not `+`.
  return parsed.href.replace(/\+/g, "%20");
}

/** A URL with which any tool connects as this role, optionally with an application name. */
export function urlForRole(url: string, role: Role, applicationName?: string): string {
  const named = new URL(clientConfig(url, { role }).connectionString ?? url);
  if (applicationName !== undefined) named.searchParams.set("application_name", applicationName);
  return named.href.replace(/\+/g, "%20");
}

const describeOnce = describedOnce(pg);

/** Makes a connection pool. The next query replaces a connection that was lost while idle. */
export function makePool(url: string, options: ConnectionOptions = {}): Pool {
  const pool = new pg.Pool({ ...clientConfig(url, options), max: options.poolSize ?? 10 });
  pool.on("error", () => {
    // The pool has dropped the connection; the next query reports a failure to reconnect.
  });
  pool.on("connect", (client) => {
    client.on("error", () => {
      // The running or next query reports a lost connection. Without a listener the process would end.
    });
  });
  pool.on("connect", describeOnce);
  pool.on("connect", promiseByCallback);
  // Behind a pooler the other one of two runs may be in another session, where the name is unknown.
  if (options.prepare === false) pool.on("connect", withoutNames);
  followConnections(pool);
  forgetStaleConnections(pool);
  keepPreparedStatements(pool);
  if (options.bounds !== undefined) boundPool(pool, options.bounds);
  options.fence?.guard(pool);
  return pool;
}

/**
 * Has these settings of the session be none, where the server knows them and the URL does not give them; with `isLocal` until the
 * transaction ends.
 */
export async function liftTimeouts(
  client: Pick<Client, "query">,
  names: readonly string[] = [...UNBOUNDED, "transaction_timeout"],
  isLocal = false,
): Promise<void> {
  await client.query(
    "select set_config(name, '0', $2) from pg_settings where name = any($1) and source <> 'client'",
    [names, isLocal],
  );
}

/** Has each query after the loss of the connection fail with the first error of it. The listener keeps the process from ending. */
function nameLoss(client: Client): void {
  let lost: Error | undefined;
  client.on("error", (error: Error) => (lost ??= error));
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const named = (asked: { handleError?: (error: Error) => void }, ...rest: unknown[]): unknown => {
    if (lost === undefined) return query(asked, ...rest);
    const { message } = lost;
    const isNamed = message.startsWith("Connection terminated");
    const error = new Error(isNamed ? message : `Connection terminated: ${message}`, {
      cause: lost,
    });
    const fail = asked.handleError?.bind(asked);
    if (fail === undefined) return Promise.reject(error);
    process.nextTick(fail, error);
    return asked;
  };
  client.query = named as Client["query"];
}

/** Opens a single connection; `await using` ends it. If it is lost, the running or next query fails. */
export async function connect(
  url: string,
  options: ConnectionOptions = {},
): Promise<Client & AsyncDisposable> {
  const client = new pg.Client(clientConfig(url, options));
  // Before the login: the loss may come with its last message.
  nameLoss(client);
  await client.connect();
  if (options.prepare === false) withoutNames(client);
  // PostgreSQL 15 and 16 do not have it, and would refuse the startup option.
  if (options.role === "dex_writer") await liftTimeouts(client, ["transaction_timeout"]);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** The URL of another database on the same server with the same login. */
export function urlForDatabase(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${encodeURIComponent(database)}`;
  return parsed.href;
}
