// Which request gets a pool's next free connection: one of the client that has the fewest, so that no client waits behind
// all that another one asks.
import { ClientLines } from "./client-lines.ts";
import type { Connected, Pool, PooledClient } from "./connection-types.ts";

/** All connections are in use and the queue is full. */
export class PoolBusy extends Error {
  override readonly name = "PoolBusy";

  constructor() {
    super("all connections of the pool are in use and its queue is full");
  }
}

/** The message of `pg` too. */
export const POOL_TIMEOUT = "timeout exceeded when trying to connect";

/** Undefined for the service itself. */
type Client = string | undefined;

interface Waiting {
  connected: Connected;
  timer: NodeJS.Timeout | undefined;
  isOver: (() => void) | undefined;
}

export interface QueueBounds {
  /** Maximum length of the queue; beyond it, the client that has most in it fails immediately with PoolBusy. */
  queue: number;
  /** The client that the running code serves. */
  askedBy: () => Client;
  /** Called where the running code waits behind others of its client; what it returns is called when that is over. */
  behindOwn?: () => () => void;
}

/** Puts the queue before that of the pool, through its public interface. */
export function takeTurns(pool: Pool, bounds: QueueBounds): void {
  const queue = new FairQueue(pool, bounds);
  const connect = (connected?: Connected): unknown => {
    if (connected === undefined) {
      return new Promise((resolve, reject) => {
        queue.connect((error, connection) => {
          if (error === undefined) resolve(connection);
          else reject(error);
        });
      });
    }
    queue.connect(connected);
    return undefined;
  };
  // One function implements both overloads, promise and callback.
  pool.connect = connect as Pool["connect"];
  Object.defineProperty(pool, "waitingCount", { get: () => queue.length });
}

class FairQueue {
  readonly #waiting = new ClientLines<Client, Waiting>();
  readonly #usedBy = new Map<Client, number>();
  readonly #holders = new Map<PooledClient, Client>();
  readonly #connect: (connected: Connected) => unknown;
  readonly #bounds: QueueBounds;
  readonly #max: number;
  readonly #waitMs: number;
  #used = 0;
  #length = 0;

  constructor(pool: Pool, bounds: QueueBounds) {
    this.#connect = pool.connect.bind(pool) as (connected: Connected) => unknown;
    this.#bounds = bounds;
    this.#max = pool.options.max;
    this.#waitMs = pool.options.connectionTimeoutMillis ?? 0;
    pool.on("release", (_error, connection) => {
      // A connection that the fence refuses had no client.
      if (!this.#holders.has(connection)) return;
      const client = this.#holders.get(connection);
      this.#holders.delete(connection);
      this.#leave(client);
    });
  }

  get length(): number {
    return this.#length;
  }

  connect(connected: Connected): void {
    const client = this.#bounds.askedBy();
    if (this.#used < this.#max) this.#take(client, connected);
    else if (this.#length < this.#bounds.queue || this.#makeRoomFor(client)) {
      this.#wait(client, connected);
    } else connected(new PoolBusy(), undefined, () => undefined);
  }

  #take(client: Client, connected: Connected): void {
    this.#used += 1;
    this.#usedBy.set(client, this.#usedByClient(client) + 1);
    this.#connect((error, connection, release) => {
      if (connection !== undefined) this.#holders.set(connection, client);
      // Later, because a pool that ends refuses all that wait, one within the other.
      else process.nextTick(() => this.#leave(client));
      connected(error, connection, release);
    });
  }

  #leave(client: Client): void {
    this.#used -= 1;
    const others = this.#usedByClient(client) - 1;
    if (others === 0) this.#usedBy.delete(client);
    else this.#usedBy.set(client, others);
    // It may have had its connection without waiting for it.
    this.#waiting.putLast(client);
    if (this.#length > 0) this.#takeNext();
  }

  /** Of the clients with the fewest connections, the one whose last turn was longest ago. */
  #takeNext(): void {
    let next: Client;
    let first: Waiting | undefined;
    let fewest = Infinity;
    for (const [client, [waiting]] of this.#waiting) {
      const used = this.#usedByClient(client);
      if (used < fewest) [next, first, fewest] = [client, waiting, used];
    }
    if (first === undefined) return;
    this.#remove(next, first);
    this.#waiting.putLast(next);
    this.#take(next, first.connected);
  }

  #wait(client: Client, connected: Connected): void {
    const isBehindOwn = this.#waiting.of(client).length > 0 || this.#usedByClient(client) > 0;
    const isOver = isBehindOwn ? this.#bounds.behindOwn?.() : undefined;
    const waiting: Waiting = { connected, timer: undefined, isOver };
    const expire = (): void => this.#fail(client, waiting, new Error(POOL_TIMEOUT));
    if (this.#waitMs > 0) waiting.timer = setTimeout(expire, this.#waitMs).unref();
    this.#waiting.add(client, waiting);
    this.#length += 1;
  }

  /** The client that has most in the queue loses its last request, unless it would then have fewer than this one. */
  #makeRoomFor(client: Client): boolean {
    let longest: readonly Waiting[] = [];
    let of: Client;
    for (const [other, line] of this.#waiting) {
      if (line.length >= longest.length) [of, longest] = [other, line];
    }
    const last = longest.at(-1);
    const own = this.#waiting.of(client).length;
    if (last === undefined || longest.length <= own + 1) return false;
    this.#fail(of, last, new PoolBusy());
    return true;
  }

  #fail(client: Client, waiting: Waiting, error: Error): void {
    this.#remove(client, waiting);
    waiting.connected(error, undefined, () => undefined);
  }

  #remove(client: Client, waiting: Waiting): void {
    clearTimeout(waiting.timer);
    waiting.isOver?.();
    this.#waiting.remove(client, waiting);
    this.#length -= 1;
  }

  #usedByClient(client: Client): number {
    return this.#usedBy.get(client) ?? 0;
  }
}
