// Limits a connection pool: the length of its queue and the time a connection is checked out.
import type { Pool, PooledClient } from "./connect.ts";

/** All connections are in use and the queue is full. */
export class PoolBusy extends Error {
  override readonly name = "PoolBusy";

  constructor() {
    super("all connections of the pool are in use and its queue is full");
  }
}

export interface PoolBounds {
  /** Maximum length of the queue; further requests fail immediately with PoolBusy. */
  queue: number;
  /**
   * Maximum checkout time of a connection, in milliseconds. After that the connection is closed and its
   * statement fails, because a frozen server does not enforce its statement timeout.
   */
  holdMs: number;
}

type Connected = NonNullable<Parameters<Pool["connect"]>[0]>;

/** Errors by which PostgreSQL rejects a stale prepared statement. */
const STALE_STATEMENT = new Set([
  // cached plan must not change result type
  "0A000",
  // prepared statement does not exist
  "26000",
]);

/** Applies the limits to a pool through its public events, and returns it. */
export function boundPool(pool: Pool, bounds: PoolBounds): Pool {
  refuseBeyond(pool, bounds.queue);
  breakOffAfter(pool, bounds.holdMs);
  return pool;
}

/** Makes `connect` fail with PoolBusy when the queue is full. */
function refuseBeyond(pool: Pool, queue: number): void {
  const connect = pool.connect.bind(pool) as (connected?: Connected) => unknown;
  const refuseOrConnect = (connected?: Connected): unknown => {
    // An idle connection serves one waiting request immediately, so that request does not count.
    const waiting = pool.waitingCount - pool.idleCount;
    if (pool.totalCount < pool.options.max || waiting < queue) return connect(connected);
    const busy = new PoolBusy();
    if (connected === undefined) return Promise.reject(busy);
    connected(busy, undefined, () => undefined);
    return undefined;
  };
  // One function implements both overloads, promise and callback.
  pool.connect = refuseOrConnect as Pool["connect"];
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

/** Calls `hear` for every error that the server sends on this connection. */
function onServerError(client: PooledClient, hear: (code: string) => void): void {
  const { connection } = client as unknown as {
    connection: NodeJS.EventEmitter;
  };
  connection.on("errorMessage", ({ code }: { code?: string }) => hear(code ?? ""));
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
