// Bounds how many streams are open: event streams of REST and subscriptions of GraphQL together.
import { StreamsFull, TooManyStreams } from "../errors.ts";

export interface OpenStreamLimits {
  /** Streams of all clients. */
  all: number;
  /** Streams of one client. */
  perClient: number;
}

export class OpenStreams {
  readonly #limits: OpenStreamLimits;
  readonly #ofClient = new Map<string, number>();
  #all = 0;

  constructor(limits: OpenStreamLimits) {
    this.#limits = limits;
  }

  /** Returns the function that gives the place back. Throws StreamsFull or TooManyStreams. */
  admit(client: string): () => void {
    const { all, perClient } = this.#limits;
    if (this.#all >= all) throw new StreamsFull();
    const count = this.#ofClient.get(client) ?? 0;
    if (count >= perClient) throw new TooManyStreams(perClient);
    this.#all += 1;
    this.#ofClient.set(client, count + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#all -= 1;
      const left = (this.#ofClient.get(client) ?? 0) - 1;
      if (left > 0) this.#ofClient.set(client, left);
      else this.#ofClient.delete(client);
    };
  }
}
