// The load generator: keep-alive connections, each sending its next request after an answer.
//
// Not a general HTTP client, because the load generator shares the processor with servers that answer tens of
// thousands of requests a second: the client would dominate the measurement.
import { connect, type Socket } from "node:net";
import { AnswerMeter, AnswerReader, wireBytes, type Answer, type BenchRequest } from "./request.ts";

export interface Load {
  connections: number;
  seconds: number;
}

export interface Burst {
  /** Answers per second. */
  rate: number;
  /** Milliseconds from a request to the end of its answer. */
  latencies: number[];
}

/** Size of a connection's read buffer. */
const PIECE_BYTES = 256 * 1024;

/** Sends load for some seconds; throws if an answer is not 200 or a connection is lost. */
export async function askFor(url: string, request: BenchRequest, load: Load): Promise<Burst> {
  const bytes = wireBytes(request);
  const latencies: number[] = [];
  const askers = Array.from({ length: load.connections }, () => new Asker(bytes, latencies));
  try {
    await Promise.all(askers.map((asker) => asker.open(url)));
    const started = performance.now();
    const until = started + load.seconds * 1000;
    await Promise.all(askers.map((asker) => asker.askUntil(until)));
    return { rate: (latencies.length * 1000) / (performance.now() - started), latencies };
  } finally {
    for (const asker of askers) asker.close();
  }
}

/** Sends one request; resolves to the answer, whatever its status. */
export async function askOnce(url: string, request: BenchRequest): Promise<Answer> {
  const socket = await openSocket(url);
  try {
    return await new Promise<Answer>((resolve, reject) => {
      const reader = new AnswerReader();
      socket.on("data", (piece: Buffer) => {
        try {
          const answer = reader.add(piece);
          if (answer !== undefined) resolve(answer);
        } catch (error) {
          reject(asError(error));
        }
      });
      socket.once("error", reject);
      socket.once("close", () =>
        reject(new Error(`${url} closed the connection without an answer`)),
      );
      socket.write(wireBytes(request));
    });
  } finally {
    socket.destroy();
  }
}

function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return connected(connect({ host: hostname, port: Number(port), noDelay: true }));
}

function connected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

/** One connection. It measures answers in its read buffer and allocates no memory for them. */
class Asker {
  readonly #bytes: Buffer;
  readonly #latencies: number[];
  readonly #meter = new AnswerMeter();
  #socket: Socket | undefined;
  #asked = 0;
  #until = 0;
  #done: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(bytes: Buffer, latencies: number[]) {
    this.#bytes = bytes;
    this.#latencies = latencies;
  }

  async open(url: string): Promise<void> {
    const { hostname, port } = new URL(url);
    const onread = {
      buffer: Buffer.allocUnsafe(PIECE_BYTES),
      callback: (length: number, buffer: Uint8Array) => {
        this.#read(buffer as Buffer, length);
        return true;
      },
    };
    this.#socket = await connected(
      connect({ host: hostname, port: Number(port), noDelay: true, onread }),
    );
  }

  askUntil(until: number): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined) throw new Error("the connection is not open");
    this.#until = until;
    socket.once("error", (error) => this.#done.reject(error));
    socket.once("close", () =>
      this.#done.reject(new Error("the server closed a connection under load")),
    );
    this.#ask();
    return this.#done.promise;
  }

  close(): void {
    this.#socket?.destroy();
  }

  #ask(): void {
    this.#asked = performance.now();
    this.#socket?.write(this.#bytes);
  }

  #read(buffer: Buffer, length: number): void {
    try {
      if (!this.#meter.add(buffer, length)) return;
    } catch (error) {
      this.#done.reject(asError(error));
      return;
    }
    const now = performance.now();
    this.#latencies.push(now - this.#asked);
    if (now >= this.#until) this.#done.resolve();
    else this.#ask();
  }
}

const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
