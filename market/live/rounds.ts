// Gives followers their readings one by one. After each change of the data those that are ready share a round: one
// snapshot on one connection, in which each change is read once for all.
import type { VersionPoll } from "../version-poll.ts";
import { clientByClient } from "./client-turns.ts";
import type { Reading } from "./topic.ts";

/** A reading with what its followers need beside it. */
export interface RoundSnapshot {
  reading: Reading;
  end: () => void;
}

/** A follower's part in a round. */
export interface Turn<Snapshot> {
  snapshot: Snapshot;
  /** Which change of the data the reading has at least. */
  change: number;
  /** To be called when all is read: the round waits for it. `hadEvent` says whether that was an event. */
  end: (hadEvent?: boolean) => void;
}

/** Who takes turns. */
export interface Follower {
  /** Whose it is; each without one is for itself. */
  readonly client?: string | undefined;
  /** Whether its last turn with an event was short. One that begins has had none. */
  isQuick?: boolean | undefined;
  /** Grows with what a row of its events takes. */
  readonly weight?: number | undefined;
}

interface Waiting<Snapshot> {
  follower: Follower;
  /** The change that the follower has read; undefined to read at once. */
  after: number | undefined;
  resolve: (turn: Turn<Snapshot> | undefined) => void;
  reject: (error: unknown) => void;
  signal: AbortSignal;
  /** Whether this change was long for another follower, so that its own last turn says little of the next one. */
  isDoubtful?: boolean;
}

export interface RoundsOptions<Snapshot> {
  /** Opens the snapshot of a round, whose reading is one by one. */
  open: () => Promise<Snapshot>;
  poll: VersionPoll;
  /** Has a turn for each follower. */
  share: { run: (work: () => Promise<undefined>) => Promise<undefined> };
  /** Gets the first error of each outage. */
  log: (error: unknown) => void;
}

/** Followers of a round; others may be ready for the other round. */
const MAX_IN_A_ROUND = 500;

/** Milliseconds after which a round gives no further turn: a later snapshot has a later head. */
const ROUND_MS = 1000;

/** One of them at most is of followers that begin, or whose statements are slow: they delay no quick ones. */
const ROUNDS_AT_ONCE = 2;

/** Milliseconds of a turn, without waiting for it. */
const QUICK_MS = 100;

const RETRY_MS = 1000;

export class Rounds<Snapshot extends RoundSnapshot> {
  readonly #options: RoundsOptions<Snapshot>;
  readonly #waiting = new Set<Waiting<Snapshot>>();
  readonly #running = new Set<Promise<void>>();
  #isOthersRunning = false;
  #followers = 0;
  #change = 0;
  #unfollow: (() => void) | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isFailing = false;

  constructor(options: RoundsOptions<Snapshot>) {
    this.#options = options;
  }

  /** How many followers there are. */
  get size(): number {
    return this.#followers;
  }

  /** Follows the data while there are followers. Returns the function that leaves. */
  join(): () => void {
    this.#followers += 1;
    this.#unfollow ??= this.#options.poll.follow(() => {
      this.#change += 1;
      this.#begin();
      // The feed waits for no round.
      return Promise.resolve();
    });
    return () => {
      this.#followers -= 1;
      if (this.#followers > 0) return;
      this.#unfollow?.();
      this.#unfollow = undefined;
      clearTimeout(this.#retry);
      this.#retry = undefined;
    };
  }

  /** Resolves when the data have changed since `after`, or at once; to undefined when the signal aborts. */
  async turn(
    after: number | undefined,
    signal: AbortSignal,
    follower: Follower = {},
  ): Promise<Turn<Snapshot> | undefined> {
    if (signal.aborted) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Turn<Snapshot> | undefined>();
    const waiting = { follower, after, resolve, reject, signal };
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
      const ready = [...this.#waiting].filter(({ after }) => after !== this.#change);
      const others = this.#isOthersRunning ? [] : ready.filter((waiting) => !isQuick(waiting));
      const quick = ready.filter(isQuick);
      const isOthers = others.length > 0 && (quick.length === 0 || this.#running.size > 0);
      const inTurn = isOthers ? clientByClient(others, ({ follower }) => follower.client) : quick;
      const next = inTurn.slice(0, MAX_IN_A_ROUND);
      if (next.length === 0) return;
      for (const waiting of next) this.#waiting.delete(waiting);
      if (isOthers) this.#isOthersRunning = true;
      const round = this.#run(next).finally(() => {
        if (isOthers) this.#isOthersRunning = false;
        this.#running.delete(round);
        this.#begin();
      });
      this.#running.add(round);
    }
  }

  async #run(ready: Waiting<Snapshot>[]): Promise<void> {
    // The snapshot begins later, so it has at least this change.
    const change = this.#change;
    let snapshot: Snapshot | undefined;
    try {
      const opened = (snapshot = await this.#options.open());
      this.#isFailing = false;
      const until = performance.now() + ROUND_MS;
      for (const [n, waiting] of ready.entries()) {
        if (performance.now() > until) {
          this.#waitAgain(ready.slice(n));
          return;
        }
        if (waiting.signal.aborted) waiting.resolve(undefined);
        else {
          const wasQuick = isQuick(waiting);
          await this.#options.share.run(() => give(waiting, opened, change));
          const { weight } = waiting.follower;
          if (wasQuick && !isQuick(waiting)) this.#doubt(ready, n + 1, weight);
        }
      }
    } catch (error) {
      this.#fail(ready, error);
    } finally {
      snapshot?.end();
    }
  }

  /** Takes those out of the round, from `at` on, whose rows have half as much or more: this change is long for them, too. */
  #doubt(ready: Waiting<Snapshot>[], at: number, heavy = Infinity): void {
    const left = ready.splice(at);
    const isLighter = ({ follower: { weight = 0 } }: Waiting<Snapshot>) => 2 * weight < heavy;
    ready.push(...left.filter(isLighter));
    const doubtful = left.filter((waiting) => !isLighter(waiting));
    for (const waiting of doubtful) waiting.isDoubtful = true;
    this.#waitAgain(doubtful);
    this.#begin();
  }

  /** Before those that came later. */
  #waitAgain(ready: readonly Waiting<Snapshot>[]): void {
    const later = [...this.#waiting];
    this.#waiting.clear();
    for (const waiting of ready) {
      if (waiting.signal.aborted) waiting.resolve(undefined);
      else this.#waiting.add(waiting);
    }
    for (const waiting of later) this.#waiting.add(waiting);
  }

  /** A follower that begins gets the error; the others wait for the database. */
  #fail(ready: readonly Waiting<Snapshot>[], error: unknown): void {
    if (!this.#isFailing) this.#options.log(error);
    this.#isFailing = true;
    for (const waiting of ready) {
      if (waiting.signal.aborted) waiting.resolve(undefined);
      else if (waiting.after === undefined) waiting.reject(error);
      else this.#waiting.add(waiting);
    }
    if (this.#followers === 0) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#begin();
    }, RETRY_MS).unref();
  }
}

const isQuick = ({
  follower,
  isDoubtful = false,
}: Pick<Waiting<unknown>, "follower" | "isDoubtful">) => follower.isQuick === true && !isDoubtful;

/** Resolves at the end of the turn. */
async function give<Snapshot>(
  { follower, resolve }: Waiting<Snapshot>,
  snapshot: Snapshot,
  change: number,
): Promise<undefined> {
  const ended = Promise.withResolvers<boolean>();
  const began = performance.now();
  resolve({ snapshot, change, end: (hadEvent = false) => ended.resolve(hadEvent) });
  const hadEvent = await ended.promise;
  const isQuick = performance.now() - began < QUICK_MS;
  // A change that is no event for a follower says nothing of its next event.
  if (hadEvent || !isQuick) follower.isQuick = isQuick;
  return undefined;
}
