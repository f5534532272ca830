// What a connection pool bounds beyond `pg`: its queue, and the time a connection is checked out.
import type { Pool, PooledClient } from "./connection-types.ts";
import { takeTurns, type QueueBounds } from "./fair-queue.ts";

export interface PoolBounds extends QueueBounds {
  /**
   * Maximum checkout time of a connection, in milliseconds. After that the connection is closed and its
   * statement fails, because a frozen server does not enforce its statement timeout.
   */
  holdMs: number;
}

/** Applies the limits to a pool through its public events. */
export function boundPool(pool: Pool, bounds: PoolBounds): void {
  takeTurns(pool, bounds);
  breakOffAfter(pool, bounds.holdMs);
}

function breakOffAfter(pool: Pool, holdMs: number): void {
  const lent = new Set<PooledClient>();
  const timers = new WeakMap<PooledClient, NodeJS.Timeout>();
  // One timer per connection: refreshing it is faster than creating and clearing one for each statement.
  pool.on("connect", (client) => {
    const endLent = (): void => {
      if (lent.has(client)) breakOff(client);
    };
    timers.set(client, setTimeout(endLent, holdMs).unref());
  });
  pool.on("acquire", (client) => {
    timers.get(client)?.refresh();
    lent.add(client);
  });
  pool.on("release", (_error, client) => lent.delete(client));
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
  for (const client of connections.get(pool) ?? []) breakOff(client);
}

/** Closes a connection at once: in a pipeline `pg` would wait for the answers. */
export function breakOff(client: PooledClient): void {
  Object.assign(client, { pipeline: false });
  void client.end();
}
