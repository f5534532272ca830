// A line of operations that wait for a limited time, from which the client that has had least is taken first.
import { waitBehindOwn } from "../../http/behind-own.ts";
import { ServiceBusy } from "../../http/errors.ts";

export class WaitingLine {
  /** Each with its client, in the order in which they came. */
  readonly #waiting = new Map<() => void, string>();
  readonly #waitMs: number;

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Resolves when it is this operation's turn; rejects if that takes too long. */
  async wait(client: string, isBehindOwn: boolean): Promise<void> {
    const isOver = isBehindOwn ? waitBehindOwn() : undefined;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const begin = (): void => resolve(undefined);
    const timer = setTimeout(() => {
      this.#waiting.delete(begin);
      reject(new ServiceBusy());
    }, this.#waitMs);
    this.#waiting.set(begin, client);
    await promise.finally(() => clearTimeout(timer)).finally(isOver);
  }

  /** Ends the wait of the first operation of the client that has had least, if it may; returns that client. */
  begin(had: (client: string) => number, may: (client: string) => boolean): string | undefined {
    let next: { begin: () => void; client: string; count: number } | undefined;
    for (const [begin, client] of this.#waiting) {
      const count = had(client);
      if (next === undefined || count < next.count) next = { begin, client, count };
    }
    if (next === undefined || !may(next.client)) return undefined;
    this.#waiting.delete(next.begin);
    next.begin();
    return next.client;
  }
}
