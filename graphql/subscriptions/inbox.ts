// What a client sends on one connection: one message is handled after the other, and no more is read until then. So what
// waits is what one read of the socket has brought, and the rest waits with the client.
import { MessageType, validateMessage, type Message, type SubscribeMessage } from "graphql-ws";
import type { WebSocket } from "ws";
import { parseJson } from "../exact-json.ts";

/** Messages of one read: the connection of a client that sends more in 64 kB is closed. */
export const MAX_WAITING = 1000;

export interface InboxOptions {
  socket: WebSocket;
  /** Counts a message against the limits; false if it is not to be handled. */
  mayReceive: () => boolean;
  /** Hands the message to graphql-ws, or the text that is none. Resolves when all is done for it: for a subscription, at its end. */
  receive: (message: Message | string) => Promise<void>;
  /** Counts the bytes of a message until it is done; undefined where they are too many. */
  hold: (bytes: number) => (() => void) | undefined;
  /** There is more than may wait. */
  onFull: () => void;
}

interface Waiting {
  data: Buffer;
  release: () => void;
}

export class Inbox {
  readonly #options: InboxOptions;
  /** Their data are views of one buffer. */
  readonly #waiting: Waiting[] = [];
  /** The subscriptions that are not over, by their ids. */
  readonly #running = new Map<string, Promise<void>>();
  /** Those of them that the client has completed. */
  readonly #completed = new Set<string>();
  #begun: (() => void) | undefined;
  #isHandling = false;

  constructor(options: InboxOptions) {
    this.#options = options;
    options.socket.on("message", (data: Buffer) => this.#take(data));
  }

  /** Whether a message waits for its turn, or for its subscription to begin. */
  get isBusy(): boolean {
    return this.#isHandling;
  }

  /** The subscription in turn has begun, or was refused: the next message may be handled. */
  hasBegun(): void {
    this.#begun?.();
  }

  get #isOpen(): boolean {
    const { socket } = this.#options;
    return socket.readyState === socket.OPEN;
  }

  #take(data: Buffer): void {
    if (!this.#isOpen || !this.#options.mayReceive()) return;
    const isFull = this.#waiting.length >= MAX_WAITING;
    const release = isFull ? undefined : this.#options.hold(data.length);
    if (release === undefined) {
      this.#options.onFull();
      return;
    }
    this.#waiting.push({ data, release });
    if (!this.#isHandling) void this.#handleAll();
  }

  async #handleAll(): Promise<void> {
    const { socket } = this.#options;
    this.#isHandling = true;
    for (;;) {
      const next = this.#isOpen ? this.#waiting.shift() : undefined;
      if (next === undefined) break;
      const begun = this.#handle(next);
      if (begun === undefined) continue;
      socket.pause();
      await begun;
    }
    for (const { release } of this.#waiting.splice(0)) release();
    this.#isHandling = false;
    // Also of a connection that is being closed: the client's answer must be read.
    socket.resume();
  }

  /** Undefined where nothing is to be waited for. */
  #handle({ data, release }: Waiting): Promise<void> | undefined {
    const text = String(data);
    const message = messageOf(text);
    if (message?.type === MessageType.Complete && this.#running.has(message.id)) {
      this.#completed.add(message.id);
    }
    if (message?.type === MessageType.Subscribe) return this.#begin(message, release);
    void this.#options.receive(message ?? text).then(release);
    return undefined;
  }

  /**
   * graphql-ws knows a subscription by its id alone. At its end it would send the complete of one that the client has
   * completed for the next one of this id, and forget that one: so the next one waits for this end.
   */
  async #begin(message: SubscribeMessage, release: () => void): Promise<void> {
    const { id } = message;
    if (this.#completed.has(id)) await this.#running.get(id);
    if (!this.#isOpen) {
      release();
      return;
    }
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#begun = () => resolve(undefined);
    const over = this.#options.receive(message).then(release);
    // graphql-ws closes the connection where the id is in use.
    if (!this.#running.has(id)) {
      const forget = over.then(() => {
        this.#running.delete(id);
        this.#completed.delete(id);
      });
      this.#running.set(id, forget);
    }
    await Promise.race([promise, over]);
    this.#begun = undefined;
  }
}

/**
 * Undefined for a text that is no message: graphql-ws closes the connection for it. Without a payload that nothing reads:
 * graphql-ws keeps one for as long as the connection is open.
 */
function messageOf(text: string): Message | undefined {
  try {
    const message = validateMessage(parseJson(text));
    const { type } = message;
    return type === MessageType.ConnectionInit || type === MessageType.Pong ? { type } : message;
  } catch {
    return undefined;
  }
}
