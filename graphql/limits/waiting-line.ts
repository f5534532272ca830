// A line of operations that wait for a limited time, from which the client that has had least is taken first.
import { waitBehindOwn } from "../../http/behind-own.ts";
import { ServiceBusy } from "../../http/errors.ts";

export interface Turns {
  /** How much a client has had of what is waited for. */
  had: (client: string) => number;
  /** Whether there is some for this client. */
  may: (client: string) => boolean;
  /** Notes that this client has its turn. */
  take: (client: string) => void;
}

export interface Waiting {
  client: string;
  /** Whether it needs a place together with its turn. */
  needsPlace: boolean;
  /** Ends the wait. */
  begin: () => void;
}

export class WaitingLine {
  /** Each with its client, in the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  readonly #waitMs: number;
  readonly #turns: Turns;

  constructor(waitMs: number, turns: Turns) {
    this.#waitMs = waitMs;
    this.#turns = turns;
  }

  /** Takes a turn for what does not wait, unless something that waits and could have it comes first. */
  takeNow(client: string, hasPlaceFor: (client: string) => boolean): boolean {
    if (!this.#turns.may(client) || this.first(hasPlaceFor) !== undefined) return false;
    this.#turns.take(client);
    return true;
  }

  /** Resolves when it is this operation's turn; rejects if that takes too long. */
  async wait(client: string, isBehindOwn: boolean, needsPlace = true): Promise<void> {
    const isOver = isBehindOwn ? waitBehindOwn() : undefined;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiting: Waiting = {
      client,
      needsPlace,
      begin: () => {
        this.#waiting.delete(waiting);
        this.#turns.take(client);
        resolve(undefined);
      },
    };
    const timer = setTimeout(() => {
      this.#waiting.delete(waiting);
      reject(new ServiceBusy());
    }, this.#waitMs);
    this.#waiting.add(waiting);
    await promise.finally(() => clearTimeout(timer)).finally(isOver);
  }

  /** The first operation of the client that has had least, of those that may have their turn. */
  first(hasPlaceFor: (client: string) => boolean): Waiting | undefined {
    let first: Waiting | undefined;
    let least = Infinity;
    for (const waiting of this.#waiting) {
      const { client, needsPlace } = waiting;
      const had = this.#turns.had(client);
      if (had >= least || !this.#turns.may(client)) continue;
      if (needsPlace && !hasPlaceFor(client)) continue;
      first = waiting;
      least = had;
    }
    return first;
  }
}
