// The load generator: keep-alive connections, each sending its next request after an answer.
//
// Not a general HTTP client, because the load generator shares the processor with servers that answer tens of
// thousands of requests a second: the client would dominate the measurement.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { AnswerMeter, wireBytes, type BenchRequest } from "./wire-request.ts";

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
export async function askOnce(
  url: string,
  { method, path, body }: BenchRequest,
): Promise<{ status: number; body: string }> {
  const headers = { Accept: "application/json", "Content-Type": "application/json" };
  const sent = body === undefined ? {} : { body };
  const response = await fetch(url + path, { method, headers, ...sent });
  return { status: response.status, body: await response.text() };
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
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true, onread });
    await once(this.#socket, "connect");
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
      this.#done.reject(error);
      return;
    }
    const now = performance.now();
    this.#latencies.push(now - this.#asked);
    if (now >= this.#until) this.#done.resolve();
    else this.#ask();
  }
}
