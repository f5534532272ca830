// Bounds what a pool of connections may keep waiting, and for how long it lends a connection.
import type { Pool, PooledClient } from "./connect.ts";

/** Every connection is in use, and as many as may wait for one do. */
export class PoolBusy extends Error {
  override readonly name = "PoolBusy";

  constructor() {
    super("every connection of the pool is in use, and no more may wait for one");
  }
}

export interface PoolBounds {
  /** How many may wait for a connection at once; who comes then gets a PoolBusy, at once. */
  queue: number;
  /**
   * For how long a connection is lent, in milliseconds. After that it is broken off, and its
   * statement fails: a server that has frozen says nothing, not even that a statement takes too long.
   */
  holdMs: number;
}

type Connected = NonNullable<Parameters<Pool["connect"]>[0]>;

/** PostgreSQL does not take back a statement that it has prepared, though it no longer stands. */
const STALE_STATEMENT = new Set([
  // cached plan must not change result type
  "0A000",
  // prepared statement does not exist
  "26000",
]);

/** Sets these bounds to a pool, by its public events, and gives it back. */
export function boundPool(pool: Pool, bounds: PoolBounds): Pool {
  refuseBeyond(pool, bounds.queue);
  breakOffAfter(pool, bounds.holdMs);
  return pool;
}

/** Has the pool refuse whoever would be one too many to wait. */
function refuseBeyond(pool: Pool, queue: number): void {
  const connect = pool.connect.bind(pool) as (connected?: Connected) => unknown;
  const refuseOrConnect = (connected?: Connected): unknown => {
    // Those who wait while a connection is idle get it at once.
    const waiting = pool.waitingCount - pool.idleCount;
    if (pool.totalCount < pool.options.max || waiting < queue) return connect(connected);
    const busy = new PoolBusy();
    if (connected === undefined) return Promise.reject(busy);
    connected(busy, undefined, () => undefined);
    return undefined;
  };
  // Its two forms, by promise and by callback, are one function.
  pool.connect = refuseOrConnect as Pool["connect"];
}

function breakOffAfter(pool: Pool, holdMs: number): void {
  const lent = new Set<PooledClient>();
  const timers = new WeakMap<PooledClient, NodeJS.Timeout>();
  // Each connection keeps its timer: to make and to clear one for every statement takes longer.
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
 * Lets the pool forget a connection that holds a prepared statement which a change of the schema has
 * made void: PostgreSQL refuses it each time, for as long as the connection lives.
 */
export function forgetStaleConnections(pool: Pool): void {
  const stale = new WeakSet<PooledClient>();
  pool.on("connect", (client) => {
    onServerError(client, (code) => {
      if (STALE_STATEMENT.has(code)) stale.add(client);
    });
  });
  pool.on("release", (_error, client) => {
    // The pool drops a connection that is ending.
    if (stale.has(client)) void client.end();
  });
}

/** Hears of every error that the server sends on this connection, whosever statement it is of. */
function onServerError(client: PooledClient, hear: (code: string) => void): void {
  const { connection } = client as unknown as {
    connection: NodeJS.EventEmitter;
  };
  connection.on("errorMessage", ({ code }: { code?: string }) => hear(code ?? ""));
}

const connections = new WeakMap<Pool, Set<PooledClient>>();

/** Remembers a pool's connections, for `abandonPool`. */
export function followConnections(pool: Pool): void {
  const open = new Set<PooledClient>();
  connections.set(pool, open);
  pool.on("connect", (client) => open.add(client));
  pool.on("remove", (client) => open.delete(client));
}

/** Breaks off every connection of a pool, with whatever runs on it, and lets the pool take no more. */
export function abandonPool(pool: Pool): void {
  if (!pool.ending) void pool.end();
  for (const client of connections.get(pool) ?? []) void client.end();
}
