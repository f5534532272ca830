// The HTTP server with its bounds.
import {
  createServer,
  STATUS_CODES,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";

/** What a client may take of the server's time and memory; milliseconds, bytes, connections. */
export interface HttpBounds {
  /** For a request's headers to arrive whole; then 408. */
  headersTimeoutMs: number;
  /** For a request to arrive whole, its body too; then 408. Not less than that for headers. */
  requestTimeoutMs: number;
  /**
   * For anything to move on a connection, in either direction; then it is closed. It is for how long a
   * client may wait with its next request, or with reading an answer. While one is made, it rests.
   */
  idleMs: number;
  /** All of a request's headers, and its first line; more is 431. */
  maxHeaderBytes: number;
  /** Connections at once; further ones are closed as they come. */
  maxConnections: number;
}

export const HTTP_BOUNDS: HttpBounds = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  // Longer than the 60 seconds that proxies keep a connection, so that theirs is never cut first.
  idleMs: 65_000,
  maxHeaderBytes: 16_384,
  maxConnections: 10_000,
};

/** How often the server looks for requests that are late. */
const CHECK_MS = 1000;

/**
 * Makes the server; it does not listen yet. Node's parser refuses what is not HTTP/1.1, without a body:
 * `onMalformed` gets its connection.
 */
export function makeServer(
  listener: RequestListener,
  bounds: HttpBounds,
  onMalformed: (socket: Socket) => void,
): Server {
  const server = createServer({
    headersTimeout: bounds.headersTimeoutMs,
    requestTimeout: bounds.requestTimeoutMs,
    // Node promises this to clients, and keeps the connection for a second more.
    keepAliveTimeout: Math.max(0, bounds.idleMs - 1000),
    connectionsCheckingInterval: Math.min(CHECK_MS, bounds.headersTimeoutMs),
    maxHeaderSize: bounds.maxHeaderBytes,
    // Refused in words.
    requireHostHeader: false,
    // No stream is made for a request without a body, as most are.
    optimizeEmptyRequests: true,
  });
  server.timeout = bounds.idleMs;
  server.on("timeout", (socket: Socket) => {
    // Nothing moves while an answer is being made, either; other limits bound that.
    const answering = answerOn(socket);
    if (answering === undefined || answering.headersSent) socket.destroy();
  });
  server.maxConnections = bounds.maxConnections;
  server.on("request", listener);
  // Another expectation than 100-continue is refused in words.
  server.on("checkExpectation", listener);
  server.on("clientError", ({ code = "" }: NodeJS.ErrnoException, socket: Socket) => {
    if (code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    onMalformed(socket);
    // Where an answer has begun, another cannot.
    if (!answerOn(socket)?.headersSent) {
      const status = STATUSES[code] ?? 400;
      socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
    }
    socket.destroySoon();
  });
  return server;
}

/** As Node itself answers its parser's errors. */
const STATUSES: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The answer that is being made or sent on this connection. Node's own refusals ask in this way. */
function answerOn(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}
