// Tells whether a request of a server waits for its answer.
import type { Server, ServerResponse } from "node:http";

/** A client that asks one request after the other sends the next one within this time. */
const NEXT_MS = 5;

export class RequestsWaiting {
  readonly #answers = new Set<ServerResponse>();
  readonly #leftOut = new WeakSet<ServerResponse>();
  readonly #nextMs: number;
  #lastOverAt = -Infinity;

  constructor(nextMs = NEXT_MS) {
    this.#nextMs = nextMs;
  }

  /** Knows the requests of this server from now on. */
  watch(server: Server): void {
    server.on("request", (_, res) => {
      this.#answers.add(res);
      res.once("close", () => {
        this.#answers.delete(res);
        if (!this.#leftOut.has(res)) this.#lastOverAt = performance.now();
      });
    });
  }

  /** Takes a stream for no request: streams wait for requests, but not for one another. */
  leaveOut(stream: ServerResponse): void {
    this.#answers.delete(stream);
    this.#leftOut.add(stream);
  }

  /** Whether an answer has not begun, or the last one has just ended. */
  get any(): boolean {
    if (performance.now() - this.#lastOverAt < this.#nextMs) return true;
    for (const res of this.#answers) {
      if (!res.headersSent) return true;
      this.#answers.delete(res);
    }
    return false;
  }
}
