// Bounds how many streams are open, and what waits for their clients: event streams of REST and subscriptions of GraphQL
// together.
import { StreamsFull, TooManyStreams } from "../errors.ts";
import { UNREAD } from "../held-requests.ts";
import { Quota, type QuotaLimits } from "../quota.ts";
import { WaitingMessages } from "./waiting-messages.ts";

interface StreamQuota extends QuotaLimits {
  /** How many bytes may wait for one stream. */
  bufferBytes: number;
}

export class OpenStreams {
  readonly #quota: Quota;
  readonly #perClient: (client: string) => number;
  readonly #waiting: WaitingMessages;

  /** `ofKey` says how many the holder of a key may have. */
  constructor(
    { perClient, all, bufferBytes }: StreamQuota,
    ofKey?: (client: string) => number | undefined,
  ) {
    this.#perClient = (client) => ofKey?.(client) ?? perClient;
    this.#quota = new Quota({ perClient: this.#perClient, all });
    // Where buffers are small, some of the largest messages may wait.
    this.#waiting = new WaitingMessages({
      perClient: (client) => Math.max(UNREAD.perClient, this.#perClient(client) * bufferBytes),
      all: Math.max(UNREAD.all, all * bufferBytes),
    });
  }

  /** Returns the function that gives the place back. Throws StreamsFull or TooManyStreams. */
  admit(client: string): () => void {
    const leave = this.#quota.take(client);
    if (leave !== undefined) return leave;
    throw this.#quota.refusal(client) === "all"
      ? new StreamsFull()
      : new TooManyStreams(this.#perClient(client));
  }

  /** Counts a message until the client has taken it: then the function that is returned is called. Undefined where it is too much. */
  hold(client: string, message: Buffer): (() => void) | undefined {
    return this.#waiting.take(client, message);
  }
}
