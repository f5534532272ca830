// Reads what subscriptions get. After each change of the data the subscriptions that are ready share a round: one
// snapshot on one connection, in which each change is read once for all, and the payloads are planned one by one.
import { createWithPgClient } from "postgraphile/adaptors/pg";
import type { PgClient, PgClientResult, WithPgClient } from "postgraphile/@dataplan/pg";
import type { Database, Pool } from "../../../db/connect.ts";
import type { DataWatch } from "../../http/live/data-watch.ts";
import { readPlace, type CurrentPlace } from "../../http/live/place.ts";
import { makeSnapshot } from "../rows/operation-snapshot.ts";
import type { LoopShare } from "../../http/live/loop-share.ts";

/** The snapshot of a round. */
export interface Reading {
  /** Runs its statements one by one. */
  db: Database;
  now: CurrentPlace;
  /** For the statements of payloads. Subscriptions with equal statements share their rows. */
  withPgClient: WithPgClient;
  /** Reads once what several subscriptions ask for under one key. */
  once: <Value>(key: string, read: () => Promise<Value>) => Promise<Value>;
}

/** A subscription's part in a round. */
export interface Turn {
  reading: Reading;
  /** Which change of the data the reading has at least. */
  change: number;
  /** To be called when the payload is planned: the round waits for it. */
  end: () => void;
}

interface Waiting {
  /** The change that the subscription has read; undefined to read at once. */
  after: number | undefined;
  resolve: (turn: Turn | undefined) => void;
  reject: (error: unknown) => void;
  signal: AbortSignal;
}

export interface RoundsOptions {
  pool: Pool;
  watch: DataWatch;
  /** Has a turn for each payload. */
  share: LoopShare;
  /** Gets the first error of each outage. */
  log: (error: unknown) => void;
}

/** Subscriptions of a round; others may be ready for the other round. */
const MOST_IN_A_ROUND = 500;

/** Milliseconds after which a round gives no further turn: a later snapshot has a later head. */
const ROUND_MS = 1000;

/** One subscription with slow statements delays the others of its round, but not all. */
const ROUNDS_AT_ONCE = 2;

const RETRY_MS = 1000;

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #withPgClient: WithPgClient;
  readonly #waiting = new Set<Waiting>();
  readonly #running = new Set<Promise<void>>();
  #subscriptions = 0;
  #change = 0;
  #unfollow: (() => void) | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isFailing = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#withPgClient = createWithPgClient({ pool: options.pool });
  }

  /** How many subscriptions there are. */
  get size(): number {
    return this.#subscriptions;
  }

  /** Follows the data while there are subscriptions. Returns the function that leaves. */
  join(): () => void {
    this.#subscriptions += 1;
    this.#unfollow ??= this.#options.watch.follow(() => {
      this.#change += 1;
      this.#begin();
      // REST's streams wait for no subscription.
      return Promise.resolve();
    });
    return () => {
      this.#subscriptions -= 1;
      if (this.#subscriptions > 0) return;
      this.#unfollow?.();
      this.#unfollow = undefined;
      clearTimeout(this.#retry);
      this.#retry = undefined;
    };
  }

  /** Resolves when the data have changed since `after`, or at once; to undefined when the signal aborts. */
  async turn(after: number | undefined, signal: AbortSignal): Promise<Turn | undefined> {
    if (signal.aborted) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Turn | undefined>();
    const waiting = { after, resolve, reject, signal };
    const leave = (): void => {
      // A round that has begun settles it.
      if (this.#waiting.delete(waiting)) resolve(undefined);
    };
    this.#waiting.add(waiting);
    signal.addEventListener("abort", leave, { once: true });
    this.#begin();
    return promise.finally(() => signal.removeEventListener("abort", leave));
  }

  /** Waits for the rounds in flight. */
  async close(): Promise<void> {
    clearTimeout(this.#retry);
    await Promise.all(this.#running);
  }

  #begin(): void {
    if (this.#retry !== undefined) return;
    while (this.#running.size < ROUNDS_AT_ONCE) {
      const ready = [...this.#waiting]
        .filter(({ after }) => after !== this.#change)
        .slice(0, MOST_IN_A_ROUND);
      if (ready.length === 0) return;
      for (const waiting of ready) this.#waiting.delete(waiting);
      const round = this.#run(ready).finally(() => {
        this.#running.delete(round);
        this.#begin();
      });
      this.#running.add(round);
    }
  }

  async #run(ready: readonly Waiting[]): Promise<void> {
    // The snapshot begins later, so it has at least this change.
    const change = this.#change;
    const snapshot = makeSnapshot(this.#withPgClient);
    try {
      const reading = await readingOf(snapshot.withPgClient);
      this.#isFailing = false;
      const until = performance.now() + ROUND_MS;
      for (const [n, waiting] of ready.entries()) {
        if (performance.now() > until) {
          this.#waitAgain(ready.slice(n));
          return;
        }
        if (waiting.signal.aborted) waiting.resolve(undefined);
        else await this.#options.share.run(() => give(waiting, reading, change));
      }
    } catch (error) {
      this.#fail(ready, error);
    } finally {
      snapshot.end();
    }
  }

  /** Before those that came later. */
  #waitAgain(ready: readonly Waiting[]): void {
    const later = [...this.#waiting];
    this.#waiting.clear();
    for (const waiting of ready) {
      if (waiting.signal.aborted) waiting.resolve(undefined);
      else this.#waiting.add(waiting);
    }
    for (const waiting of later) this.#waiting.add(waiting);
  }

  /** A subscription that begins gets the error; the others wait for the database. */
  #fail(ready: readonly Waiting[], error: unknown): void {
    if (!this.#isFailing) this.#options.log(error);
    this.#isFailing = true;
    for (const waiting of ready) {
      if (waiting.signal.aborted) waiting.resolve(undefined);
      else if (waiting.after === undefined) waiting.reject(error);
      else this.#waiting.add(waiting);
    }
    if (this.#subscriptions === 0) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#begin();
    }, RETRY_MS).unref();
  }
}

/** Resolves at the end of the turn. */
function give({ resolve }: Waiting, reading: Reading, change: number): Promise<undefined> {
  const ended = Promise.withResolvers<undefined>();
  resolve({ reading, change, end: () => ended.resolve(undefined) });
  return ended.promise;
}

async function readingOf(withPgClient: WithPgClient): Promise<Reading> {
  const query = (statement: Parameters<PgClient["query"]>[0]) =>
    withPgClient(null, (client) => client.query(statement));
  const db = { query } as unknown as Database;
  const known = new Map<string, Promise<unknown>>();
  const once = <Value>(key: string, read: () => Promise<Value>): Promise<Value> => {
    const value = known.get(key) ?? read();
    known.set(key, value);
    return value as Promise<Value>;
  };
  const sharing: PgClient = {
    query: <Row>(statement: Parameters<PgClient["query"]>[0]) => {
      const { text, values, arrayMode } = statement;
      const key = JSON.stringify([text, values, arrayMode]);
      return once(key, () => query(statement)) as Promise<PgClientResult<Row>>;
    },
    withTransaction: () => Promise.reject(new Error("the payload of an event only reads")),
  };
  return {
    db,
    now: await readPlace(db),
    withPgClient: async (_settings, callback) => callback(sharing),
    once,
  };
}
