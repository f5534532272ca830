// The answer to one client: events as they come, bounded by what the client takes.
import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from "node:http";
import { crc32 } from "node:zlib";
import { encodingFor } from "../../http/answer.ts";
import { FIXED_HEADERS } from "../../http/fixed-headers.ts";
import type { Follower } from "../../market/live/feed.ts";
import { Patience } from "../../http/streams/patience.ts";
import { Frame } from "./frame.ts";

export interface StreamBounds {
  /** How many bytes may wait for a client; a stream with more is closed. */
  bufferBytes: number;
  /** Milliseconds of silence until a heartbeat. */
  heartbeatMs: number;
}

/** Why the service ends all streams: it stops, or cannot read its database. */
const ENDS_OF_ALL = ["stopping", "unreachable"] as const;
export type EndOfAll = (typeof ENDS_OF_ALL)[number];

/** Why it ends one: the client reads too slowly, has too much to catch up with, or must go elsewhere. */
export const END_REASONS = ["slow", "behind", ...ENDS_OF_ALL] as const;
type EndReason = (typeof END_REASONS)[number];

export const STREAM_BOUNDS: StreamBounds = { bufferBytes: 1024 * 1024, heartbeatMs: 15_000 };

/** When a client comes back by itself. */
const RETRY_MS = 3000;

/** Clients that must go elsewhere come back spread over this time. */
const RETRY_SOON_MS = 1000;

/** After the end a client that takes no byte for so long is disconnected. */
const LINGER_MS = 5000;
const LOOKS = 5;

/** One that reads slowly has so many times this time for the rest: else it would be sent the same event again for ever. */
const MAX_LINGERS = 24;

const HEARTBEAT = new Frame(":\n\n");

const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** An empty block that is marked as the last. */
const LAST_BLOCK = Buffer.from([3, 0]);

const HEADERS = [
  ...FIXED_HEADERS,
  ...["Content-Type", "text/event-stream", "Cache-Control", "no-store"],
  // A stream ends with its connection, which a service that stops would else wait for.
  ...["Connection", "close"],
  // nginx would collect the events.
  ...["X-Accel-Buffering", "no", "Vary", "Accept-Encoding, X-Min-Block"],
];

export interface EventStreamOptions {
  bounds: StreamBounds;
  /** Counts a message that does not fit into the buffer, until it is taken; undefined where it is too much beside those of the client's other streams. */
  hold: (message: Buffer) => (() => void) | undefined;
  onEnd: (reason: EndReason) => void;
  client?: string;
}

export class EventStream implements Follower<Frame> {
  readonly #options: EventStreamOptions;
  readonly #res: ServerResponse;
  readonly #isCompressed: boolean;
  readonly #heartbeat: NodeJS.Timeout;
  /** Gives back the messages that are not taken. */
  readonly #held = new Set<() => void>();
  #hasBegun = false;
  #checksum = 0;
  #bytes = 0;

  constructor(req: IncomingMessage, res: ServerResponse, options: EventStreamOptions) {
    const { heartbeatMs } = options.bounds;
    this.#options = options;
    this.#res = res;
    this.#isCompressed = encodingFor(req, "gzip") === "gzip";
    this.#heartbeat = setTimeout(() => this.send([HEARTBEAT]), heartbeatMs).unref();
    res.once("close", () => {
      clearTimeout(this.#heartbeat);
      for (const release of this.#held) release();
    });
  }

  get client(): string | undefined {
    return this.#options.client;
  }

  isClosed(): boolean {
    return this.#res.destroyed || this.#res.writableEnded;
  }

  send(frames: readonly Frame[]): void {
    if (this.isClosed()) return;
    this.#begin();
    const isFull = this.#res.writableLength > this.#options.bounds.bufferBytes;
    if (isFull || !frames.every((frame) => this.#writeHeld(frame))) {
      this.end("slow", RETRY_MS);
      return;
    }
    this.#heartbeat.refresh();
  }

  /** Returns false where the frame would be too much for the client. */
  #writeHeld(frame: Frame): boolean {
    const bytes = this.#bytesOf(frame);
    if (this.#res.writableLength + bytes.length <= this.#options.bounds.bufferBytes) {
      this.#write(frame);
      return true;
    }
    const release = this.#options.hold(bytes);
    if (release === undefined) return false;
    this.#held.add(release);
    this.#write(frame, () => {
      this.#held.delete(release);
      release();
    });
    return true;
  }

  /** The answer to HEAD. */
  sendHeaders(): void {
    clearTimeout(this.#heartbeat);
    this.#res.writeHead(200, [...HEADERS]).end();
  }

  /** Resolves when the client has taken what waits, or is gone. */
  async drained(): Promise<void> {
    const res = this.#res;
    if (!res.writableNeedDrain || this.isClosed()) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        res.off("drain", end).off("close", end);
        resolve();
      };
      res.on("drain", end).on("close", end);
    });
  }

  fallBehind(): void {
    this.end("behind", RETRY_MS);
  }

  goElsewhere(reason: EndOfAll): void {
    // One that has ended is not waited for any longer.
    if (this.isClosed()) this.#linger(1);
    else this.end(reason, Math.ceil(Math.random() * RETRY_SOON_MS), 1);
  }

  /** The last event names the reason, and has no id: the client resumes at the last id that it has got. */
  end(reason: EndReason, retryMs: number, lingers = MAX_LINGERS): void {
    if (this.isClosed()) return;
    this.#options.onEnd(reason);
    this.#begin();
    this.#write(
      new Frame(`retry: ${retryMs}\nevent: closed\ndata: ${JSON.stringify({ reason })}\n\n`),
    );
    if (this.#isCompressed) this.#res.write(this.#trailer());
    this.#res.end();
    this.#linger(lingers);
  }

  #linger(most: number): void {
    const patience = new Patience(this.#res.socket, { still: LOOKS, all: most * LOOKS });
    const stop = (): void => clearInterval(timer);
    const timer = setInterval(() => {
      if (patience.look()) return;
      stop();
      this.#res.destroy();
    }, LINGER_MS / LOOKS).unref();
    this.#res.once("close", stop);
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    // The heartbeat keeps the connection; silence of the client is no sign of anything.
    this.#res.socket?.setTimeout(0);
    this.#res.socket?.setNoDelay(true);
    const encoding = this.#isCompressed ? ["Content-Encoding", "gzip"] : [];
    this.#res.writeHead(200, [...HEADERS, ...encoding] as OutgoingHttpHeader[]);
    if (this.#isCompressed) this.#res.write(GZIP_HEADER);
    this.#write(new Frame(`retry: ${RETRY_MS}\n\n`));
  }

  #bytesOf(frame: Frame): Buffer {
    return this.#isCompressed ? frame.deflated : frame.bytes;
  }

  #write(frame: Frame, onTaken?: () => void): void {
    if (this.#isCompressed) {
      this.#checksum = crc32(frame.bytes, this.#checksum);
      this.#bytes += frame.bytes.length;
    }
    this.#res.write(this.#bytesOf(frame), onTaken);
  }

  #trailer(): Buffer {
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#checksum, 0);
    trailer.writeUInt32LE(this.#bytes % 2 ** 32, 4);
    return Buffer.concat([LAST_BLOCK, trailer]);
  }
}
