// Bounds how many streams are open, and what waits for their clients: event streams of REST and subscriptions of GraphQL
// together.
import { StreamsFull, TooManyStreams } from "../errors.ts";
import { UNREAD } from "../held-requests.ts";
import { Quota, type QuotaLimits } from "../quota.ts";
import { WaitingMessages } from "./waiting-messages.ts";

export class OpenStreams {
  readonly #quota: Quota;
  readonly #perClient: (client: string) => number;
  readonly #waiting = new WaitingMessages(UNREAD);

  /** `ofKey` says how many the holder of a key may have. */
  constructor({ perClient, all }: QuotaLimits, ofKey?: (client: string) => number | undefined) {
    this.#perClient = (client) => ofKey?.(client) ?? perClient;
    this.#quota = new Quota({ perClient: this.#perClient, all });
  }

  /** Returns the function that gives the place back. Throws StreamsFull or TooManyStreams. */
  admit(client: string): () => void {
    const leave = this.#quota.take(client);
    if (leave !== undefined) return leave;
    throw this.#quota.refusal(client) === "all"
      ? new StreamsFull()
      : new TooManyStreams(this.#perClient(client));
  }

  /**
   * Counts a message that does not fit into the buffer of its stream, until the client has taken it: then the function that is
   * returned is called. Undefined where it is too much.
   */
  hold(client: string, message: Buffer): (() => void) | undefined {
    return this.#waiting.take(client, message);
  }
}
