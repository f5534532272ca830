// Bounds how many streams are open: event streams of REST and subscriptions of GraphQL together.
import { StreamsFull, TooManyStreams } from "../errors.ts";
import { Quota, type QuotaLimits } from "../quota.ts";

export class OpenStreams {
  readonly #quota: Quota;
  readonly #perClient: number;

  constructor({ perClient, all }: QuotaLimits) {
    this.#quota = new Quota({ perClient, all });
    this.#perClient = perClient;
  }

  /** Returns the function that gives the place back. Throws StreamsFull or TooManyStreams. */
  admit(client: string): () => void {
    const leave = this.#quota.take(client);
    if (leave !== undefined) return leave;
    throw this.#quota.refusal(client) === "all"
      ? new StreamsFull()
      : new TooManyStreams(this.#perClient);
  }
}
