// What a connection pool does beyond `pg`: it limits its queue and the time a connection is checked out, forgets stale
// connections, and makes promises that keep no result.
import type { Pool, PooledClient } from "./connect.ts";
import { takeTurns, type QueueBounds } from "./fair-queue.ts";

export interface PoolBounds extends QueueBounds {
  /**
   * Maximum checkout time of a connection, in milliseconds. After that the connection is closed and its
   * statement fails, because a frozen server does not enforce its statement timeout.
   */
  holdMs: number;
}

/** Errors by which PostgreSQL rejects a stale prepared statement. */
const STALE_STATEMENT = new Set([
  // cached plan must not change result type
  "0A000",
  // prepared statement does not exist
  "26000",
]);

/** Applies the limits to a pool through its public events, and returns it. */
export function boundPool(pool: Pool, bounds: PoolBounds): Pool {
  takeTurns(pool, bounds);
  breakOffAfter(pool, bounds.holdMs);
  return pool;
}

function breakOffAfter(pool: Pool, holdMs: number): void {
  const lent = new Set<PooledClient>();
  const timers = new WeakMap<PooledClient, NodeJS.Timeout>();
  // One timer per connection: refreshing it is faster than creating and clearing one for each statement.
  pool.on("connect", (client) => {
    const breakOff = (): void => {
      if (lent.has(client)) void client.end();
    };
    timers.set(client, setTimeout(breakOff, holdMs).unref());
  });
  pool.on("acquire", (client) => {
    timers.get(client)?.refresh();
    lent.add(client);
  });
  pool.on("release", (_error, client) => lent.delete(client));
}

/**
 * Drops connections with a stale prepared statement. After a schema change PostgreSQL rejects that
 * statement for the rest of the connection's life.
 */
export function forgetStaleConnections(pool: Pool): void {
  const stale = new WeakSet<PooledClient>();
  pool.on("connect", (client) => {
    onServerError(client, (code) => {
      if (STALE_STATEMENT.has(code)) stale.add(client);
    });
  });
  pool.on("release", (_error, client) => {
    // The pool drops a connection that is ending on release.
    if (stale.has(client)) void client.end();
  });
}

/** Calls `report` for every error that the server sends on this connection. */
function onServerError(client: PooledClient, report: (code: string) => void): void {
  const { connection } = client as unknown as {
    connection: NodeJS.EventEmitter;
  };
  connection.on("errorMessage", ({ code }: { code?: string }) => report(code ?? ""));
}

const connections = new WeakMap<Pool, Set<PooledClient>>();

/** Tracks a pool's connections for `abandonPool`. */
export function followConnections(pool: Pool): void {
  const open = new Set<PooledClient>();
  connections.set(pool, open);
  pool.on("connect", (client) => open.add(client));
  pool.on("remove", (client) => open.delete(client));
}

/** Closes a pool and all its connections immediately, including those in use. */
export function abandonPool(pool: Pool): void {
  if (!pool.ending) void pool.end();
  for (const client of connections.get(pool) ?? []) void client.end();
}

/**
 * Replaces `pg`'s promises by promises around callbacks. `pg` sets a query's callback after creating the
 * query, and V8 then keeps each result with its rows until the next full garbage collection: copying them
 * took a tenth of the time of a GraphQL page.
 */
export function promiseByCallback(client: PooledClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const promised = (config: unknown, values?: unknown, callback?: unknown): unknown => {
    const hasCallback = typeof values === "function" || typeof callback === "function";
    // A query object with its own `submit`, such as COPY, has no callback.
    if (hasCallback || typeof (config as { submit?: unknown } | null)?.submit === "function") {
      return query(config, values, callback);
    }
    return new Promise((resolve, reject) => {
      query(config, values, (error: Error | null, result: unknown) => {
        if (error == null) resolve(result);
        else reject(error);
      });
    }).catch((error: unknown) => {
      // Like `pg`: the stack starts at the caller and not at the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    });
  };
  // One function implements both overloads, promise and callback.
  client.query = promised as PooledClient["query"];
}

/** Removes the names of statements: the next transaction may run in another session. */
export function withoutNames(client: PooledClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const unnamed = (config: unknown, ...rest: unknown[]): unknown => {
    const isNamed = typeof config === "object" && config !== null && "name" in config;
    return query(isNamed ? { ...config, name: undefined } : config, ...rest);
  };
  client.query = unnamed as PooledClient["query"];
}
