// A connection to the service that reads as a hostile client does: all, nothing, or a byte a second.
import { connect, type Socket } from "node:net";

export type Reading = "all" | "nothing" | "a byte a second";

/** A buffer is read out before the next connection reads into it. */
const WHOLE = Buffer.alloc(65_536);
const ONE = Buffer.alloc(1);

/** Characters that are kept for a pattern that a read may cut. */
const TAIL = 200;

/** A request for graphql-ws. */
export const UPGRADE =
  "GET /graphql HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" +
  "Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n";

export const PING = Buffer.from([0x89, 0]);
/** Masked with zeros, as all frames here. */
export const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

export class RawConnection {
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  /** What a pattern may still match. */
  #text = "";
  #reading: Reading = "all";
  #hasBegun = false;
  #waiting: { pattern: RegExp; resolve: (match: RegExpExecArray | undefined) => void } | undefined;

  /** A client that will read bytes one by one does so from the start. */
  constructor(url: string, willRead: Reading) {
    const { hostname, port } = new URL(url);
    this.#socket = connect({
      ...{ host: hostname, port: Number(port) },
      onread: {
        buffer: willRead === "all" ? WHOLE : ONE,
        callback: (length, bytes) => this.#read((bytes as Buffer).subarray(0, length)),
      },
    });
    this.#socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      this.#socket.once("close", () => {
        this.#waiting?.resolve(undefined);
        resolve();
      });
    });
  }

  /** Bytes that have come. */
  get received(): number {
    return this.#socket.bytesRead;
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /** Resolves when what was read matches; to undefined when the connection is closed before. */
  async until(pattern: RegExp): Promise<RegExpExecArray | undefined> {
    const match = pattern.exec(this.#text);
    if (match !== null) return match;
    if (this.#socket.destroyed) return undefined;
    return new Promise((resolve) => (this.#waiting = { pattern, resolve }));
  }

  /** Reads so from now on, and no pattern any more. */
  read(reading: Reading): void {
    this.#reading = reading;
    this.#hasBegun = true;
    this.#text = "";
    if (reading === "nothing") this.#socket.pause();
    if (reading !== "a byte a second") return;
    const tick = setInterval(() => this.#socket.resume(), 1000).unref();
    void this.closed.then(() => clearInterval(tick));
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Returns whether to go on reading. */
  #read(bytes: Buffer): boolean {
    if (bytes.includes(PING)) this.send(PONG);
    if (!this.#hasBegun) this.#look(bytes.toString("latin1"));
    if (this.#reading === "all") return true;
    this.#socket.pause();
    return false;
  }

  #look(text: string): void {
    this.#text = this.#text.slice(-TAIL) + text;
    const match = this.#waiting?.pattern.exec(this.#text);
    if (match == null) return;
    this.#waiting?.resolve(match);
    this.#waiting = undefined;
  }
}

/** A WebSocket frame with a text, as a client sends it. */
export function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  const head = length < 126 ? [0x81, 0x80 | length] : [0x81, 0xfe, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), payload]);
}
