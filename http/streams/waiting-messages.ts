// Bounds the bytes of messages that wait for clients: a message counts once for a client and once for all, however many
// of their streams it waits for. One that is larger than the bound waits alone: else its clients would never get it.
import { Quota, type QuotaLimits } from "../quota.ts";

/** Gives back what was taken. */
type Release = () => void;

interface Waiting {
  ofClients: Map<string, { streams: number; release: Release }>;
  release: Release;
}

export class WaitingMessages {
  readonly #limits: QuotaLimits;
  readonly #ofClients: Quota;
  readonly #ofAll: Quota;
  readonly #messages = new Map<Buffer, Waiting>();

  constructor(limits: QuotaLimits) {
    const { perClient, all } = limits;
    this.#limits = limits;
    this.#ofClients = new Quota({ perClient, all: Infinity });
    this.#ofAll = new Quota({ perClient: all, all });
  }

  /** Undefined where the message would be too much for the client, or for all. */
  take(client: string, bytes: Buffer): Release | undefined {
    const message = this.#messages.get(bytes) ?? this.#begin(bytes);
    const held = message && this.#hold(message, client, bytes);
    if (message?.ofClients.size === 0) this.#end(bytes, message);
    if (message === undefined || held === undefined) return undefined;
    held.streams += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      held.streams -= 1;
      if (held.streams > 0) return;
      held.release();
      message.ofClients.delete(client);
      if (message.ofClients.size === 0) this.#end(bytes, message);
    };
  }

  #begin(bytes: Buffer): Waiting | undefined {
    const release = this.#ofAll.take("", Math.min(bytes.length, this.#limits.all));
    if (release === undefined) return undefined;
    const message = { ofClients: new Map(), release };
    this.#messages.set(bytes, message);
    return message;
  }

  #hold({ ofClients }: Waiting, client: string, bytes: Buffer) {
    const held = ofClients.get(client);
    if (held !== undefined) return held;
    const counted = Math.min(bytes.length, this.#limits.perClient);
    const release = this.#ofClients.take(client, counted);
    if (release === undefined) return undefined;
    const first = { streams: 0, release };
    ofClients.set(client, first);
    return first;
  }

  #end(bytes: Buffer, { release }: Waiting): void {
    release();
    this.#messages.delete(bytes);
  }
}
