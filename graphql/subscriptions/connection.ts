// One WebSocket: what waits for its client, and whether the client is still there.
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { Patience } from "../../http/streams/patience.ts";
import type { SharedMessage } from "./shared-message.ts";
import { Inbox, MAX_WAITING, type InboxOptions } from "./inbox.ts";

export interface ConnectionBounds {
  /** How many bytes may wait for the client: a connection with more is closed when another message comes. */
  bufferBytes: number;
  /** Milliseconds between two pings; a client that takes no byte for as long is disconnected. */
  heartbeatMs: number;
}

/** Why the service closes a connection. */
export const CLOSE_REASONS = ["slow", "silent", "idle", "busy", "stopping", "unreachable"] as const;
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
  unreachable: SERVICE_RESTART,
};

/** A connection without a subscription is closed after so many pings. */
const IDLE_PINGS = 4;

/** In the time between two pings it is looked so often whether the client takes what waits. */
const LOOKS = 5;

/** A client has so many times this time for a message, or for its pong behind large ones. */
const MAX_PINGS = 8;

/** A client that takes 10 MB within MAX_PINGS takes more than this between two. */
const LARGE_BYTES = 1_000_000;

export interface ConnectionOptions {
  socket: WebSocket;
  /** The connection below it. */
  raw: Socket;
  bounds: ConnectionBounds;
  /** Counts a message that does not fit into the buffer, until it is taken; undefined where it is too much beside those of the client's other streams. */
  hold: (message: Buffer) => (() => void) | undefined;
  onClose: (reason: CloseReason) => void;
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  /** Gives back the bytes of messages that are not taken. */
  readonly #held = new Set<() => void>();
  readonly #heartbeat: NodeJS.Timeout;
  readonly #stalled: NodeJS.Timeout;
  readonly #patience: Patience;
  /** Pings since the last pong. */
  #unanswered = 0;
  /** Bytes that were written before the first of them. */
  #beforePing = 0;
  /** Bytes that the client has read, as its last pong says. */
  #read = 0;
  #idlePings = 0;
  #subscriptions = 0;
  #inbox: Inbox | undefined;
  #lastAlone: Promise<unknown> = Promise.resolve();
  /** How many messages wait for the client. */
  #waiting = 0;
  /** The bytes of the largest of them. */
  #largest = 0;
  #drained: PromiseWithResolvers<undefined> | undefined;

  constructor(options: ConnectionOptions) {
    const { socket, raw, bounds } = options;
    this.#options = options;
    this.#socket = socket;
    this.#raw = raw;
    this.#heartbeat = setInterval(() => this.#beat(), bounds.heartbeatMs).unref();
    this.#patience = new Patience(raw, { still: LOOKS, all: MAX_PINGS * LOOKS });
    this.#stalled = setTimeout(() => this.#checkProgress(), bounds.heartbeatMs / LOOKS).unref();
    socket.on("pong", () => {
      this.#unanswered = 0;
      this.#read = this.#beforePing;
    });
    socket.once("close", () => {
      clearInterval(this.#heartbeat);
      clearTimeout(this.#stalled);
      for (const release of this.#held) release();
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

  /** Handles the client's messages from now on. */
  receiveBy(options: Pick<InboxOptions, "mayReceive" | "receive" | "hold">): void {
    const onFull = (): void =>
      this.close("busy", `more than ${MAX_WAITING} messages wait, or too many bytes`);
    this.#inbox = new Inbox({ ...options, socket: this.#socket, onFull });
  }

  /** Begins the subscription in turn; then the next message is handled. */
  async begin<Value>(run: () => Promise<Value>): Promise<Value> {
    try {
      return await run();
    } finally {
      this.#inbox?.hasBegun();
    }
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
    return this.#socket.bufferedAmount > this.#options.bounds.bufferBytes;
  }

  /** Resolves when the client has taken all that was sent before, or is gone. */
  async drained(): Promise<void> {
    if (this.#waiting === 0) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }

  /** Returns at once: what waits is bytes, and not also the event that they were made of. */
  send(text: string): void {
    const bytes = Buffer.from(text);
    if (!this.#hasRoom(bytes.length)) return;
    const onTaken = this.#note(bytes, this.#socket.bufferedAmount + bytes.length);
    if (onTaken !== undefined) this.#socket.send(bytes, { binary: false }, onTaken);
  }

  /** Returns false if more waits for the client than the bound. Its frame is made here, because ws would copy the bytes. */
  sendShared(message: SharedMessage, id: string): boolean {
    if (this.isFull) return false;
    if (!this.#isOpen) return true;
    const beginning = message.beginningFor(id);
    const waits = this.#raw.writableLength + beginning.length + message.rest.length;
    const onTaken = this.#note(message.rest, waits);
    if (onTaken === undefined) return true;
    this.#raw.cork();
    this.#raw.write(beginning);
    this.#raw.write(message.rest, onTaken);
    this.#raw.uncork();
    return true;
  }

  /** Returns what is to be called when the client has taken the message; undefined where it is too much, and the connection is closed. */
  #note(message: Buffer, waits: number): (() => void) | undefined {
    // What fits into the buffer is bounded by it.
    const fits = waits <= this.#options.bounds.bufferBytes;
    const release = fits ? this.#noteTaken : this.#options.hold(message);
    if (release === undefined) {
      this.close("slow", "too much waits for this client");
      return undefined;
    }
    if (this.#waiting === 0) this.#awaitProgress();
    this.#waiting += 1;
    this.#largest = Math.max(this.#largest, message.length);
    if (fits) return release;
    this.#held.add(release);
    return () => {
      this.#held.delete(release);
      release();
      this.#noteTaken();
    };
  }

  readonly #noteTaken = (): void => {
    this.#awaitProgress();
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#largest = 0;
    this.#drained?.resolve(undefined);
    this.#drained = undefined;
  };

  #awaitProgress(): void {
    this.#patience.renew();
    this.#stalled.refresh();
  }

  close(reason: CloseReason, text: string = reason): void {
    if (!this.#isOpen) return;
    this.#options.onClose(reason);
    this.#socket.close(CODES[reason], text);
    // The client's answer must be read.
    this.#socket.resume();
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Closes the connection of a client that has taken too little. Answers to its pings may wait behind a full buffer and a large message. */
  #hasRoom(bytes: number): boolean {
    const most = 2 * this.#options.bounds.bufferBytes + Math.max(this.#largest, bytes);
    if (this.#socket.bufferedAmount + bytes > most) this.close("slow");
    return this.#isOpen;
  }

  #beat(): void {
    if (!this.#isOpen) return;
    this.#idlePings = this.#subscriptions === 0 ? this.#idlePings + 1 : 0;
    if (this.#idlePings >= IDLE_PINGS) {
      this.close("idle", "no subscription");
      return;
    }
    // Its pong waits behind the messages that are not read.
    const isLarge = this.#raw.bytesWritten - this.#read > LARGE_BYTES;
    if (this.#unanswered >= (isLarge ? MAX_PINGS : 1) && this.#inbox?.isBusy !== true) {
      this.close("silent", "no pong");
      return;
    }
    if (this.#unanswered === 0) this.#beforePing = this.#raw.bytesWritten;
    this.#unanswered += 1;
    this.#socket.ping();
  }

  #checkProgress(): void {
    if (this.#socket.bufferedAmount === 0) return;
    if (this.#patience.look()) this.#stalled.refresh();
    else this.close("slow");
  }
}
