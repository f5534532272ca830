// The HTTP server with its bounds, and what it says to a request that never becomes one.
import {
  createServer,
  IncomingMessage,
  ServerResponse,
  type RequestListener,
  type Server,
} from "node:http";
import type { Socket } from "node:net";
import {
  ChunkExtensionsTooLong,
  HeadersTooLong,
  NoHost,
  NotHttp,
  RequestTooSlow,
  UnmetExpectation,
  type ClientFacingError,
} from "./errors.ts";
import type { Refuse } from "./front-refusal.ts";
import { observationOf } from "./observe/observation.ts";

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

/** Makes the server; it does not listen yet. `observed` sees every request, also what is refused here. */
export function makeServer(
  listener: RequestListener,
  bounds: HttpBounds,
  refuse: Refuse,
  observed: (listener: RequestListener) => RequestListener,
): Server {
  // A second less, so that a client that heeds it never asks on a connection that is being closed.
  const keptSeconds = Math.floor(bounds.idleMs / 1000) - 1;
  const keepAlive = keptSeconds > 0 ? `timeout=${keptSeconds}` : undefined;
  const server = createServer(
    {
      headersTimeout: bounds.headersTimeoutMs,
      requestTimeout: bounds.requestTimeoutMs,
      // Node's own bound between two requests takes a timer for each, and time for another at its end.
      keepAliveTimeout: 0,
      connectionsCheckingInterval: Math.min(CHECK_MS, bounds.headersTimeoutMs),
      maxHeaderSize: bounds.maxHeaderBytes,
      // Refused below, in words.
      requireHostHeader: false,
      // No stream is made of a body that a request does not have, as most do not.
      optimizeEmptyRequests: true,
    },
    observed((req, res) => {
      if (req.headers.host === undefined && req.httpVersionMinor === 1) {
        refuse(req, res, new NoHost());
        return;
      }
      if (keepAlive !== undefined && res.shouldKeepAlive) {
        observationOf(req)?.headers.push("Keep-Alive", keepAlive);
      }
      listener(req, res);
    }),
  );
  server.timeout = bounds.idleMs;
  server.on("timeout", (socket: Socket) => {
    // Nothing moves while an answer is being made, either; what bounds that is not the connection.
    const answering = answerOn(socket);
    if (answering === undefined || answering.headersSent) socket.destroy();
  });
  server.maxConnections = bounds.maxConnections;
  server.on(
    "checkExpectation",
    observed((req, res) => refuse(req, res, new UnmetExpectation())),
  );
  server.on("clientError", (error: ParserError, socket: Socket) => {
    // Where an answer has begun, another cannot; and a client that is gone hears nothing.
    const answering = answerOn(socket);
    if (error.code === "ECONNRESET" || !socket.writable || answering?.headersSent) {
      socket.destroy();
      return;
    }
    const told = errorOf(error.code ?? "", bounds);
    const refused = observed((req, res) => {
      withoutKeepAlive(observationOf(req)?.headers);
      refuse(req, res, told);
    });
    refused(...asRequest(socket, answering, error.rawPacket));
  });
  return server;
}

/** What Node's parser gives with its error: the bytes that it could not read. */
type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer };

/** The answer that is being made or sent on this connection. Node's own refusals ask in this way. */
function answerOn(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/** Of a connection that ends after all. */
function withoutKeepAlive(headers: string[] = []): void {
  const at = headers.indexOf("Keep-Alive");
  if (at >= 0) headers.splice(at, 2);
}

/**
 * What came on a connection as a request, as far as it is known, and a last answer to it, in place of
 * the one that is being made. Once that is out, what the client still sends is not waited for.
 *
 * Of a head that was never whole Node gives the packet that it could not read, and where that came
 * late not even this: the method is unknown, and the answer has a body though it may be to a HEAD.
 * It tells all others why, and nothing can be mistaken for it: the connection ends with it.
 */
function asRequest(
  socket: Socket,
  answering: ServerResponse | undefined,
  packet: Buffer | undefined,
): [IncomingMessage, ServerResponse] {
  answering?.detachSocket(socket);
  const req = answering?.req ?? new IncomingMessage(socket);
  if (answering === undefined) {
    const line = /^([A-Z]+) (\S+)/.exec(packet?.toString("latin1", 0, 200) ?? "");
    req.method = line?.[1] ?? "";
    req.url = line?.[2] ?? "";
  }
  const res = new ServerResponse(req);
  res.assignSocket(socket);
  res.on("finish", () => socket.destroySoon());
  return [req, res];
}

function errorOf(code: string, bounds: HttpBounds): ClientFacingError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new HeadersTooLong(bounds.maxHeaderBytes);
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new RequestTooSlow(bounds.headersTimeoutMs, bounds.requestTimeoutMs);
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new ChunkExtensionsTooLong();
    default:
      return new NotHttp();
  }
}
