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

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Takes a turn for what does not wait, unless something that waits and that `may` have a turn comes first. */
  takeNow(client: string, may: (client: string) => boolean): boolean {
    if (!this.#turns.may(client) || this.first(may) !== undefined) return false;
    this.#turns.take(client);
    return true;
  }

  /** Resolves when it is this operation's turn; rejects if that takes too long. */
  async wait(client: string, isBehindOwn: boolean): Promise<void> {
    const isOver = isBehindOwn ? waitBehindOwn() : undefined;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiting: Waiting = {
      client,
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
  first(may: (client: string) => boolean): Waiting | undefined {
    let first: Waiting | undefined;
    let least = Infinity;
    for (const waiting of this.#waiting) {
      const had = this.#turns.had(waiting.client);
      if (had >= least || !this.#turns.may(waiting.client) || !may(waiting.client)) continue;
      first = waiting;
      least = had;
    }
    return first;
  }
}
