// Bounds the connections of one address, so that none can open all that the service accepts.
import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Quota } from "./quota.ts";
import { clientAt, GRAPHQL_PATH, stateOf } from "./request.ts";

/** How often refusals are reported, in milliseconds. */
const REPORT_MS = 10_000;

const TOO_MANY = 429;

export interface ConnectionLimits {
  /** Requests of one client, 0 for any number: then of connections too. */
  requests: number;
  /** Streams of one client, and as many WebSockets. */
  streams: number;
  /** Whether the connections of an address are other clients', who are known by the headers alone. */
  isProxy: (address: string) => boolean;
  warn: (line: string) => void;
}

/** As many as a client can use by its other limits, and as many idle ones. */
const maxConnections = ({ requests, streams }: ConnectionLimits): number =>
  requests === 0 ? Infinity : 2 * (requests + 2 * streams);

export function boundConnections(server: Server, limits: ConnectionLimits): void {
  const max = maxConnections(limits);
  const open = new Quota({ perClient: max, all: Infinity });
  const refused = new Map<string, number>();
  const report = (): void => {
    const count = [...refused.values()].reduce((sum, each) => sum + each, 0);
    limits.warn(
      `Connections refused in ${REPORT_MS / 1000} s: ${count}, of ${refused.size} address(es) with ${max} open. ` +
        `Are they a proxy's, give TRUST_PROXY.`,
    );
    refused.clear();
  };

  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    if (limits.isProxy(address)) return;
    const client = clientAt(address);
    const leave = open.take(client);
    if (leave !== undefined) {
      socket.once("close", leave);
      return;
    }
    if (refused.size === 0) setTimeout(report, REPORT_MS).unref();
    refused.set(client, (refused.get(client) ?? 0) + 1);
    refuseConnection(socket, TOO_MANY, "Retry-After: 1\r\n");
  });
}

/** Closes a connection with a status, whole lines of headers and a text, in place of its answer, whose request has that status. */
export function refuseConnection(socket: Socket, status: number, headers = "", text = ""): void {
  const answer = answerOn(socket);
  if (answer !== undefined) {
    const state = stateOf(answer.req);
    state.status = status;
    if (state.isForGraphql) state.route ??= GRAPHQL_PATH;
  }
  const lines = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}Connection: close\r\n\r\n`;
  socket.write(lines + text);
  socket.destroySoon();
}

/** The answer in flight on a connection, as Node's own handler of 'clientError' finds it. */
export const answerOn = (socket: Socket) =>
  (socket as { _httpMessage?: Answer | null })._httpMessage ?? undefined;

type Answer = Pick<ServerResponse, "headersSent" | "once" | "req" | "shouldKeepAlive">;

/** The value by which the parser leaves the rest of what was read to another protocol. */
const LEAVE_THE_REST = 2;

/** The name of Node's callback for a chunk of a body. */
const ON_BODY = "parserOnBody";

/** Node has its callbacks for a request under numbers. */
type Parser = Record<string, unknown> & { onIncoming: unknown };

/** What these connections still bring is nothing to answer, also where the parser refuses it. */
const stopped = new WeakSet<Socket>();

/**
 * Node parses all that was read before it sees that the socket is destroyed. It keeps each request until then, and copies
 * each chunk of a body: 64 kB may have 10,000, which take 10 ms. So it does until the answers before are out.
 */
export function stopParsing(socket: Socket & { parser?: Parser | null }): void {
  const { parser } = socket;
  if (!parser) return;
  stopped.add(socket);
  parser.onIncoming = (req: IncomingMessage & { upgrade?: boolean }) => {
    // Else Node hands the connection to the other protocol.
    req.upgrade = false;
    return LEAVE_THE_REST;
  };
  const isOnBody = (value: unknown): boolean =>
    typeof value === "function" && value.name === ON_BODY;
  const [name, onBody] = Object.entries(parser).find(([, value]) => isOnBody(value)) ?? [];
  if (name === undefined) return;
  parser[name] = undefined;
  // Node uses the parser again for another connection.
  socket.once("close", () => (parser[name] = onBody));
}

/** As Node itself answers its parser's errors. */
const STATUSES: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Refuses what Node cannot read as a request on a connection, in its turn. Its answers may wait. */
export function refuseUnread(
  socket: Socket,
  onMalformed: (socket: Socket) => void,
  code = "",
): void {
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  if (stopped.has(socket)) return;
  onMalformed(socket);
  stopParsing(socket);
  behindAnswers(socket, () => {
    // No second answer can begin within the first.
    if (answerOn(socket)?.headersSent) socket.destroySoon();
    else refuseConnection(socket, STATUSES[code] ?? 400);
  });
}

/**
 * Acts when the answers to all requests that have come whole on a connection are out, unless it is closed before. The answer to
 * one that comes no further is then the connection's.
 */
function behindAnswers(socket: Socket, act: () => void): void {
  const answer = answerOn(socket);
  if (answer?.req.complete) answer.once("close", () => behindAnswers(socket, act));
  else if (!socket.destroyed) act();
}
