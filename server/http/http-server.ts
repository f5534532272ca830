// The HTTP server with its bounds.
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import type { Socket } from "node:net";

export interface HttpBounds {
  /** Until a request's headers are complete; then 408. */
  headersTimeoutMs: number;
  /** Until a request is complete; then 408. Not less than that for headers. */
  requestTimeoutMs: number;
  /** Without data in either direction, except while an answer is made; then the connection is closed. */
  idleMs: number;
  /** Of the first line and the headers; more is 431. */
  maxHeaderBytes: number;
  /** Further connections are closed. */
  maxConnections: number;
}

export const HTTP_BOUNDS: HttpBounds = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  // Proxies keep a connection for 60 seconds, and must be the first to close it.
  idleMs: 65_000,
  maxHeaderBytes: 16_384,
  maxConnections: 10_000,
};

/** How often Node checks the timeouts of requests. */
const CHECK_MS = 1000;

/**
 * `onMalformed` gets the connection of what Node's parser refuses. No route takes a body above `bodyBytes`.
 * `mayUpgrade` says which requests for an upgrade are not answered as others.
 */
export function makeServer(
  listener: RequestListener,
  bounds: HttpBounds,
  bodyBytes: number,
  onMalformed: (socket: Socket) => void,
  mayUpgrade: (req: IncomingMessage) => boolean,
): Server {
  const server = createServer({
    headersTimeout: bounds.headersTimeoutMs,
    requestTimeout: bounds.requestTimeoutMs,
    // Node keeps the connection for a second longer than it promises to clients.
    keepAliveTimeout: Math.max(0, bounds.idleMs - 1000),
    connectionsCheckingInterval: Math.min(CHECK_MS, bounds.headersTimeoutMs),
    maxHeaderSize: bounds.maxHeaderBytes,
    // malformed.ts refuses it with a message.
    requireHostHeader: false,
    // Makes no stream for a request without a body; with one, a cache hit takes a sixth longer.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: mayUpgrade,
  });
  server.timeout = bounds.idleMs;
  server.on("timeout", (socket: Socket) => {
    // An answer may take longer: other limits bound that.
    const answering = answerOn(socket);
    if (answering === undefined || answering.headersSent) socket.destroy();
  });
  server.maxConnections = bounds.maxConnections;
  server.on("request", listener);
  server.on("checkContinue", (req, res) => {
    // The client waits for this before it sends the body.
    if (!(Number(req.headers["content-length"]) > bodyBytes)) res.writeContinue();
    // Whether the body follows after all is unknown.
    else res.shouldKeepAlive = false;
    listener(req, res);
  });
  // malformed.ts refuses other expectations than 100-continue with a message.
  server.on("checkExpectation", listener);
  server.on("clientError", ({ code = "" }: NodeJS.ErrnoException, socket: Socket) => {
    if (code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    onMalformed(socket);
    // No second answer can begin within the first.
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

/** The answer in flight on this connection, as Node's own handler of 'clientError' finds it. */
const answerOn = (socket: Socket) =>
  (socket as { _httpMessage?: { headersSent: boolean } | null })._httpMessage ?? undefined;
