// The HTTP server with its bounds, and what it says to a request that never becomes one.
import {
  createServer,
  STATUS_CODES,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";

/** What a client may take of the server's time and memory; milliseconds, bytes, connections. */
export interface HttpBounds {
  /** For a request's headers to arrive whole; then 408. */
  headersTimeoutMs: number;
  /** For a request to arrive whole, its body too; then 408. Not less than that for headers. */
  requestTimeoutMs: number;
  /** For the next request on a connection whose last was answered; then it is closed. */
  keepAliveMs: number;
  /**
   * For anything to move on a connection, in either direction; then it is closed. A client that
   * does not read its answer holds it no longer than this. While an answer is being made, it rests.
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
  keepAliveMs: 65_000,
  idleMs: 120_000,
  maxHeaderBytes: 16_384,
  maxConnections: 10_000,
};

/** How often the server looks for requests that are late. */
const CHECK_MS = 1000;

/** What a refused request is told: a body, by the path as far as it is known; GraphQL's has a code. */
export type RefusalBody = (path: string, message: string, code?: string) => object;

/** Makes the server; it does not listen yet. `observed` sees every request that is one. */
export function makeServer(
  listener: RequestListener,
  bounds: HttpBounds,
  bodyOf: RefusalBody,
  observed: (listener: RequestListener) => RequestListener,
): Server {
  const server = createServer(
    {
      headersTimeout: bounds.headersTimeoutMs,
      requestTimeout: bounds.requestTimeoutMs,
      keepAliveTimeout: bounds.keepAliveMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, bounds.headersTimeoutMs),
      maxHeaderSize: bounds.maxHeaderBytes,
      // Refused below, in words.
      requireHostHeader: false,
      // No stream is made of a body that a request does not have, as most do not.
      optimizeEmptyRequests: true,
    },
    observed((req, res) => {
      if (req.headers.host === undefined && req.httpVersionMinor === 1) {
        refuse(res, 400, bodyOf(req.url ?? "", "The request has no Host header"));
        return;
      }
      listener(req, res);
    }),
  );
  server.timeout = bounds.idleMs;
  server.on("timeout", (socket: Duplex) => {
    // Nothing moves while an answer is being made, either; what bounds that is not the connection.
    const answering = answerOn(socket);
    if (answering === undefined || answering.headersSent) socket.destroy();
  });
  server.maxConnections = bounds.maxConnections;
  server.on(
    "checkExpectation",
    observed((req, res) => {
      refuse(res, 417, bodyOf(req.url ?? "", "Nothing but 100-continue is accepted in Expect"));
    }),
  );
  server.on("clientError", (error: ParserError, socket) => {
    refuseUnparsed(error, socket, bounds, bodyOf);
  });
  return server;
}

/** What Node's parser gives with its error: the bytes that it could not read. */
type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer };

function refuseUnparsed(
  error: ParserError,
  socket: Duplex,
  bounds: HttpBounds,
  bodyOf: RefusalBody,
): void {
  // Where an answer has begun, another cannot; and a client that is gone hears nothing.
  const answering = answerOn(socket);
  if (error.code === "ECONNRESET" || !socket.writable || answering?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, message] = refusalOf(error.code ?? "", bounds);
  const path = /^[A-Z]+ (\S+)/.exec(error.rawPacket?.toString("latin1", 0, 200) ?? "")?.[1];
  const url = answering?.req.url ?? path ?? "";
  const body = JSON.stringify(bodyOf(url, message));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      `Date: ${new Date().toUTCString()}`,
      ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
    // What the client still sends is not waited for.
    () => socket.destroy(),
  );
}

/** The answer that is being made or sent on this connection. Node's own refusals ask in this way. */
function answerOn(socket: Duplex): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

const HEADERS = {
  "Content-Type": "application/json; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

function refusalOf(code: string, bounds: HttpBounds): [status: number, message: string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, `The request's headers exceed ${bounds.maxHeaderBytes} bytes`];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [
        408,
        `The request did not arrive in time: ${bounds.headersTimeoutMs} ms for its headers, ` +
          `${bounds.requestTimeoutMs} ms for all of it`,
      ];
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return [413, "The extensions of a chunk of the body are too long"];
    default:
      return [400, "The request is not HTTP/1.1"];
  }
}

function refuse(res: ServerResponse, status: number, refusal: object): void {
  const body = JSON.stringify(refusal);
  const length = { "Content-Length": Buffer.byteLength(body) };
  res.writeHead(status, { ...HEADERS, ...length, Connection: "close" }).end(body);
}
