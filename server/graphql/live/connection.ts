// One WebSocket: what waits for its client, and whether the client is still there.
import type { WebSocket } from "ws";

export interface ConnectionBounds {
  /** How many bytes may wait for the client: a connection with more is closed when another message comes. */
  bufferBytes: number;
  /** Milliseconds between two pings; a client that takes nothing for as long is disconnected. */
  heartbeatMs: number;
}

/** Why the service closes a connection. */
export const CLOSE_REASONS = ["slow", "silent", "idle", "busy", "stopping"] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** RFC 6455's registry: these make clients come back, except the first. */
const NORMAL = 1000;
const SERVICE_RESTART = 1012;
const TRY_AGAIN_LATER = 1013;

const CODES: Record<CloseReason, number> = {
  slow: TRY_AGAIN_LATER,
  silent: TRY_AGAIN_LATER,
  idle: NORMAL,
  busy: TRY_AGAIN_LATER,
  stopping: SERVICE_RESTART,
};

/** A connection without a subscription is closed after so many pings. */
const IDLE_PINGS = 4;

export class Connection {
  readonly #socket: WebSocket;
  readonly #bounds: ConnectionBounds;
  readonly #onClose: (reason: CloseReason) => void;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #stalled: NodeJS.Timeout;
  #isAlive = true;
  #idlePings = 0;
  #subscriptions = 0;
  #lastSubscribed: Promise<unknown> = Promise.resolve();
  #lastAlone: Promise<unknown> = Promise.resolve();
  #drained: Promise<void> = Promise.resolve();

  constructor(socket: WebSocket, bounds: ConnectionBounds, onClose: (reason: CloseReason) => void) {
    this.#socket = socket;
    this.#bounds = bounds;
    this.#onClose = onClose;
    this.#heartbeat = setInterval(() => this.#beat(), bounds.heartbeatMs).unref();
    this.#stalled = setTimeout(() => this.#checkProgress(), bounds.heartbeatMs).unref();
    socket.on("pong", () => (this.#isAlive = true));
    // The answer of ws waits like a message.
    socket.on("ping", () => this.#hasRoom());
    socket.once("close", () => {
      clearInterval(this.#heartbeat);
      clearTimeout(this.#stalled);
    });
  }

  get subscriptions(): number {
    return this.#subscriptions;
  }

  /** Returns the function that ends it. */
  addSubscription(): () => void {
    this.#subscriptions += 1;
    return () => (this.#subscriptions -= 1);
  }

  /** Runs one after the other, so that a client may send many messages at once. */
  inTurn<Value>(run: () => Promise<Value>): Promise<Value> {
    const result = this.#lastSubscribed.then(run);
    this.#lastSubscribed = result.catch(() => undefined);
    return result;
  }

  /**
   * Waits for its turn to read an event that may be as large as a page: without turns a client that comes back
   * with many subscriptions would exceed the bound at once. Resolves to the function that ends the turn.
   */
  async alone(): Promise<() => void> {
    const before = this.#lastAlone;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#lastAlone = promise;
    await before;
    return () => resolve(undefined);
  }

  /** Whether more waits for the client than the bound. */
  get isFull(): boolean {
    return this.#socket.bufferedAmount > this.#bounds.bufferBytes;
  }

  /** Resolves when the client has taken all that was sent before, or is gone. */
  drained(): Promise<void> {
    return this.#drained;
  }

  /** Returns at once: what waits is bytes, and not also the event that they were made of. */
  send(text: string): void {
    if (!this.#hasRoom()) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#drained = promise;
    if (this.#socket.bufferedAmount === 0) this.#stalled.refresh();
    this.#socket.send(Buffer.from(text), { binary: false }, () => {
      this.#stalled.refresh();
      resolve(undefined);
    });
  }

  close(reason: CloseReason, text: string = reason): void {
    if (!this.#isOpen) return;
    this.#onClose(reason);
    this.#socket.close(CODES[reason], text);
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Closes the connection of a client that has taken too little. */
  #hasRoom(): boolean {
    if (this.isFull) this.close("slow");
    return this.#isOpen;
  }

  #beat(): void {
    if (!this.#isOpen) return;
    this.#idlePings = this.#subscriptions === 0 ? this.#idlePings + 1 : 0;
    if (this.#idlePings >= IDLE_PINGS) {
      this.close("idle", "no subscription");
      return;
    }
    if (!this.#isAlive) {
      this.close("silent", "no pong");
      return;
    }
    this.#isAlive = false;
    this.#socket.ping();
  }

  #checkProgress(): void {
    if (this.#socket.bufferedAmount > 0) this.close("slow");
  }
}
