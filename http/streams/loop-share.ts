// Bounds the share of the event loop that streams and subscriptions take while requests wait, so that these are answered
// beside any number of them.
import { setImmediate, setTimeout as sleep } from "node:timers/promises";

/** Milliseconds of the event loop that are used between two pauses, unless one work takes longer. */
const SLICE_MS = 5;

/**
 * A pause lasts for this multiple of the time that was used, if requests wait for so long: streams and subscriptions take
 * a quarter of the event loop then.
 */
const PAUSE = 3;

/** Work that took long by chance, for example on a halted machine, does not delay other work. */
const LONGEST_PAUSE_MS = 250;

/** A work begins after this time also where there is no end of requests. */
const LONGEST_WAIT_MS = 250;

export class LoopShare {
  readonly #isWaited: () => boolean;
  readonly #longestWaitMs: number;
  #lastBegun: Promise<void> = Promise.resolve();
  #usedMs = 0;

  /** `isWaited` returns whether a request waits for its answer. */
  constructor(isWaited: () => boolean, longestWaitMs = LONGEST_WAIT_MS) {
    this.#isWaited = isWaited;
    this.#longestWaitMs = longestWaitMs;
  }

  /**
   * Runs the work when it is its turn, or has waited for its longest time. Each turn is an iteration of the event loop of
   * its own, and another work may begin while this one waits for the database.
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#turn();
    const before = performance.eventLoopUtilization();
    try {
      return await work();
    } finally {
      // The message to the client is made after the work, in the same iteration.
      await setImmediate();
      this.#usedMs += performance.eventLoopUtilization(before).active;
    }
  }

  async #turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    let hasBegun = false;
    const begin = (): void => {
      hasBegun = true;
      resolve(undefined);
    };
    const longest = setTimeout(begin, this.#longestWaitMs);
    this.#lastBegun = this.#lastBegun
      .then(() => (hasBegun ? undefined : this.#mayBegin()))
      .then(begin);
    await promise;
    clearTimeout(longest);
  }

  async #mayBegin(): Promise<void> {
    await setImmediate();
    if (!this.#isWaited()) {
      // The next request to come is waited for at once.
      this.#usedMs = Math.min(this.#usedMs, SLICE_MS);
      return;
    }
    if (this.#usedMs < SLICE_MS) return;
    const pauseMs = Math.min(PAUSE * this.#usedMs, LONGEST_PAUSE_MS);
    this.#usedMs = 0;
    const until = performance.now() + pauseMs;
    // A step takes longer beside much other work; a clock that stands still must not make the pause endless.
    for (let step = 0; step < pauseMs && performance.now() < until && this.#isWaited(); step += 1) {
      await sleep(1);
    }
  }
}
