// A line of operations that wait for a limited time. The client that has least is first, and of several a client after the other.
import { ClientLines } from "../../db/client-lines.ts";
import { waitBehindOwn } from "../../http/behind-own.ts";
import { ServiceBusy } from "../../http/errors.ts";

export interface Turns {
  /** How much a client has of what is waited for. */
  has: (client: string) => number;
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

/** How long one operation may wait, in all its lines together. */
export class WaitingTime {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /** Returns the function that ends this wait. */
  wait(onOver: () => void): () => void {
    const since = performance.now();
    const timer = setTimeout(onOver, this.#leftMs);
    return () => {
      clearTimeout(timer);
      this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - since));
    };
  }
}

export class WaitingLine {
  readonly #waiting = new ClientLines<string, Waiting>();
  readonly #turns: Turns;

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  /** Takes a turn for what does not wait, unless something that waits and could have it comes first. */
  takeNow(client: string, hasPlaceFor: (client: string) => boolean): boolean {
    if (!this.#turns.may(client) || this.first(hasPlaceFor) !== undefined) return false;
    this.#turns.take(client);
    return true;
  }

  /** Resolves when it is this operation's turn; rejects if its time is over before. */
  async wait(
    { client, needsPlace }: Omit<Waiting, "begin">,
    { isBehindOwn, time }: { isBehindOwn: boolean; time: WaitingTime },
  ): Promise<void> {
    const isOver = isBehindOwn ? waitBehindOwn() : undefined;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiting: Waiting = {
      client,
      needsPlace,
      begin: () => {
        this.#waiting.remove(client, waiting);
        this.#waiting.putLast(client);
        this.#turns.take(client);
        resolve(undefined);
      },
    };
    this.#waiting.add(client, waiting);
    const end = time.wait(() => {
      this.#waiting.remove(client, waiting);
      reject(new ServiceBusy());
    });
    await promise.finally(end).finally(isOver);
  }

  /** A client whose turn has ended is behind those that came during it. */
  endTurnOf(client: string): void {
    this.#waiting.putLast(client);
  }

  /** The first operation of the client that has least, of those that may have their turn. */
  first(hasPlaceFor: (client: string) => boolean): Waiting | undefined {
    let first: Waiting | undefined;
    let least = Infinity;
    for (const [client, line] of this.#waiting) {
      const has = this.#turns.has(client);
      if (has >= least || !this.#turns.may(client)) continue;
      const mayEnter = hasPlaceFor(client);
      const next = line.find(({ needsPlace }) => mayEnter || !needsPlace);
      if (next !== undefined) [first, least] = [next, has];
    }
    return first;
  }
}
