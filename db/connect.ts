// Connections to PostgreSQL: the only importer of `pg`.
import pg from "pg";
import { parse } from "pg-connection-string";
import {
  boundPool,
  followConnections,
  forgetStaleConnections,
  type PoolBounds,
} from "./bounded-pool.ts";
import { withPlainTls } from "./tls.ts";

/** What a connection may do: migrate, fill, or read. Made by db/roles.sql. */
export type Role = "dex_owner" | "dex_writer" | "dex_reader";

/** Whatever answers a query: a pool, or one connection of it. */
export type Database = Pick<pg.Pool, "query">;
export type Pool = pg.Pool;
export type PooledClient = pg.PoolClient;
export type Client = pg.Client;
export type FieldDef = pg.FieldDef;

export interface ConnectionOptions {
  /** The role to become, whatever the URL logs in as; without it, none is. */
  role?: Role;
  /** How many connections a pool holds at most. */
  poolSize?: number;
  /**
   * For how long a connection is waited for, in milliseconds: for a free one of the pool, and for
   * the server to open one. Default 5000.
   */
  waitMs?: number;
  /** What a pool may keep waiting, and for how long it lends a connection; without it, no bound. */
  bounds?: PoolBounds;
  /** Milliseconds after which PostgreSQL breaks a statement off; 0, and the default, is never. */
  statementTimeoutMs?: number;
  /** Milliseconds for which a statement waits for a lock; 0, and the default, is for ever. */
  lockTimeoutMs?: number;
  /** What the server's list of connections shows. */
  applicationName?: string;
}

/**
 * The settings of every session, as options of its start: they cost no round trip, and `reset` goes
 * back to them, not behind them. A reader's session refuses every write.
 */
function sessionSettings(options: ConnectionOptions): Record<string, string> {
  const { role, statementTimeoutMs = 0, lockTimeoutMs = 0 } = options;
  return {
    TimeZone: "UTC",
    search_path: "public",
    // The service's queries are short: compiling one takes longer than running it.
    jit: "off",
    ...(role === undefined ? {} : { role }),
    ...(statementTimeoutMs > 0 ? { statement_timeout: String(statementTimeoutMs) } : {}),
    ...(lockTimeoutMs > 0 ? { lock_timeout: String(lockTimeoutMs) } : {}),
    ...(role === "dex_reader"
      ? {
          default_transaction_read_only: "on",
          // One plan for a statement, whatever its values: a plan made for few rows of a small market
          // would be kept for the large one's, and planning takes longer than reading a figure.
          plan_cache_mode: "force_generic_plan",
        }
      : {}),
  };
}

function clientConfig(given: string, options: ConnectionOptions): pg.ClientConfig {
  const url = withPlainTls(given);
  // A bad URL fails here, where the caller can name it, and not at the first query.
  const asked = parse(url).options;
  const settings = Object.entries(sessionSettings(options)).map(
    ([name, value]) => `-c ${name}=${value}`,
  );
  return {
    connectionString: withOptions(url, [asked, ...settings].filter(Boolean).join(" ")),
    application_name: options.applicationName ?? "dex-market-data",
    connectionTimeoutMillis: options.waitMs ?? 5000,
    keepAlive: true,
    // Where the URL does not ask for TLS. `pg` would look at PGSSLMODE, also for an embedded database.
    ssl: false,
  };
}

/** The same URL with these start options, so that other tools than `pg` can be given it too. */
function withOptions(url: string, startOptions: string): string {
  const parsed = new URL(url);
  parsed.searchParams.set("options", startOptions);
  // `pg` reads %20, not the + of a form, as a space.
  return parsed.href.replace(/\+/g, "%20");
}

/** The URL by which any tool connects as this role, under this name where it is given. */
export function urlForRole(url: string, role: Role, applicationName?: string): string {
  const named = new URL(clientConfig(url, { role }).connectionString ?? url);
  if (applicationName !== undefined) named.searchParams.set("application_name", applicationName);
  return named.href.replace(/\+/g, "%20");
}

/**
 * Has a connection make its promises of callbacks. By itself `pg` sets a query's callback after it
 * has made the query, and V8 then keeps each result, with all its rows, until the next collection of
 * the whole heap: a tenth of the time that a page of GraphQL takes went into copying them.
 */
function promiseByCallback(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const promised = (config: unknown, values?: unknown, callback?: unknown): unknown => {
    const hasCallback = typeof values === "function" || typeof callback === "function";
    // A query that was made elsewhere, such as a COPY, goes its own way.
    if (hasCallback || typeof (config as { submit?: unknown } | null)?.submit === "function") {
      return query(config, values, callback);
    }
    return new Promise((resolve, reject) => {
      query(config, values, (error: Error | null, result: unknown) => {
        if (error == null) resolve(result);
        else reject(error);
      });
    }).catch((error: unknown) => {
      // As `pg` has it: the stack leads to whoever asked, and not to the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    });
  };
  // Its forms, by promise and by callback, are one function.
  client.query = promised as pg.PoolClient["query"];
}

/** A pool of connections. A connection lost while idle is replaced by the next query's. */
export function makePool(url: string, options: ConnectionOptions = {}): Pool {
  const pool = new pg.Pool({ ...clientConfig(url, options), max: options.poolSize ?? 10 });
  pool.on("error", () => {
    // The pool has dropped the connection; whoever needs one next hears of it if that fails too.
  });
  pool.on("connect", (client) => {
    client.on("error", () => {
      // Lost while in use: its query hears of it, or the next. Without a listener the process ends.
    });
  });
  pool.on("connect", promiseByCallback);
  followConnections(pool);
  forgetStaleConnections(pool);
  return options.bounds === undefined ? pool : boundPool(pool, options.bounds);
}

/** One connection, for what needs a session of its own. */
export async function connect(url: string, options: ConnectionOptions = {}): Promise<Client> {
  const client = new pg.Client(clientConfig(url, options));
  await client.connect();
  return client;
}

/** The same server and login, another database. */
export function urlForDatabase(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${encodeURIComponent(database)}`;
  return parsed.href;
}
