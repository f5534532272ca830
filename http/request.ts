// The state of one request: each part of the service adds what it learns. It has the client, the part of the service
// that is asked, the headers that every answer gets, and what is reported when the request is over.
import type { RequestHandler } from "express";
import { ipKeyGenerator } from "express-rate-limit";
import { LRUCache } from "lru-cache";
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { ServerResponse, type IncomingMessage, type RequestListener } from "node:http";
import { isIP } from "node:net";
import { performance } from "node:perf_hooks";
import type { Duplex } from "node:stream";
import proxyaddr from "proxy-addr";
import type { ApiKey } from "./keys/key-file.ts";

export class RequestState {
  /** The client gets it as X-Request-Id. */
  readonly id: string;
  readonly method: string;
  /** The client's name for the limits. */
  client: string;
  /** The key that it gives, in a service with keys. */
  key: ApiKey | undefined;
  /** Whether it gives another one. */
  hasUnknownKey = false;
  /** The first segment of the path, which names the interface. */
  segment = "";
  /** Whether the path is that of GraphQL's operations, or below it. */
  isOfGraphql = false;
  /** Whether the path is that of GraphQL's operations. */
  isForGraphql = false;
  /** Whether the request asks for a block, by X-Min-Block. */
  readonly asksForBlock: boolean;
  /** Whether a supervisor asks: it is not limited. */
  isOfSupervisor = false;
  /** Headers of the answer besides its own: alternating names and values. */
  readonly headers: string[];
  /** The body of a GraphQL request. */
  body: Buffer | undefined;
  /** The block that the answer must have at least. */
  minBlock: number | undefined;
  /** The head of the answer's data, if the request asks for a block: null without any block, undefined without data. */
  head: AnswerBlock;
  /** The past block that a GraphQL answer is of; undefined for the head. */
  asOf: number | undefined;
  /** Whether that block, and with it the answer, changes no more but by a registration. */
  isFinal = false;
  /** Its place in a trace, where there are traces. */
  trace: Trace | undefined;
  /** The key of its answer in the cache. */
  cacheKey: string | undefined;
  /** Whether it is a stream, which waits for no answer. */
  isStream = false;
  /** Called when the answer begins, or the request is over without one. */
  onHead: (() => void) | undefined;
  /** What it holds of what the limits bound. */
  hold: { addUnread: (bytes: number) => void; release: () => void } | undefined;
  /** Whether it was refused for load before it was read: the log counts these. */
  isShed = false;
  /** The pattern of the matched path, never the path itself. */
  route: string | undefined;
  /** The name of the GraphQL operation. */
  operation: string | undefined;
  /** `extensions.code` of each error in a GraphQL answer, empty for none; undefined without errors. */
  errors: readonly string[] | undefined;
  /** A cache hit, the answer to an equal request in flight, or made; undefined where none is cached. */
  cache: "hit" | "shared" | "miss" | undefined;
  /** Whether equal requests have waited for its answer. */
  isShared = false;
  /** The id of the request in flight whose answer this one shares: the log has errors under that id. */
  answeredAs: string | undefined;
  /** Milliseconds until the database had answered, the wait for a connection included. */
  databaseMs: number | undefined;
  /** On the clock of performance.now(). */
  readonly startedAt = performance.now();
  /** Once it is over, or its connection is refused. */
  status = 0;
  /** Milliseconds from its start until it was over. */
  ms = 0;
  /** Whether the client went away before it had the whole answer. */
  isAborted = false;

  constructor(req: Stated) {
    const { method = "", socket, headers } = req;
    const given = headers["x-request-id"];
    this.id = typeof given === "string" && WELL_FORMED.test(given) ? given : randomUUID();
    this.method = method;
    this.client = clientAt(socket.remoteAddress);
    this.asksForBlock = headers["x-min-block"] !== undefined;
    this.headers = ["X-Request-Id", this.id];
    // Express removes from `url` the path of a router.
    locate(this, req.originalUrl ?? req.url ?? "");
  }
}

/** Ids by which a collector of traces has a request, in hexadecimal digits. */
export interface Trace {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** The head of an answer: null without any block, undefined if the answer reads no data. */
export type AnswerBlock = number | null | undefined;

/** Whether an answer of this block is older than the request allows. */
export const isTooOld = ({ minBlock = 0 }: RequestState, block: AnswerBlock): boolean =>
  block !== undefined && (block ?? 0) < minBlock;

const STATE = Symbol("state");

interface Stated extends IncomingMessage {
  [STATE]?: RequestState;
  originalUrl?: string;
}

/** The state of a request. */
export function stateOf(req: IncomingMessage): RequestState {
  const stated: Stated = req;
  const known = stated[STATE];
  return known ?? (stated[STATE] = new RequestState(stated));
}

/** The state of the request that grafserv and grafast pass on as their context; undefined for a WebSocket's. */
export const stateIn = (
  context: { node?: { req: IncomingMessage } } | undefined,
): RequestState | undefined => context?.node && stateOf(context.node.req);

const current = new AsyncLocalStorage<RequestState>();

/** The state of the request that the running code serves, for an error that is logged where no request is known. */
export const currentState = (): RequestState | undefined => current.getStore();

/** The client that the running code serves. */
export const currentClient = (): string | undefined => current.getStore()?.client;

/** Calls a function that serves no request alone. */
export const forNoRequest = <Result>(act: () => Result): Result => current.exit(act);

/** Ids of clients: UUIDs, ULIDs and trace ids match. */
const WELL_FORMED = /^[A-Za-z0-9._:/+=-]{1,128}$/;

export const GRAPHQL_PATH = "/graphql";

const FIRST_SEGMENT = /^\/([^/?#]*)(\/?)(?:([?#]|$)|)/;
const OF_SUPERVISORS = new Set(["health", "ready", "metrics"]);

/** Notes which part of the service is asked. */
export function locate(state: RequestState, url: string): void {
  const [, segment = "", slash, end] = FIRST_SEGMENT.exec(url) ?? [];
  const isWhole = end !== undefined;
  state.segment = segment;
  state.isOfGraphql = segment === GRAPHQL_PATH.slice(1);
  state.isForGraphql = state.isOfGraphql && isWhole && slash === "";
  state.isOfSupervisor = isWhole && OF_SUPERVISORS.has(segment);
}

/** Gets each request when its answer is out or its client gone. */
export type OnOver = (state: RequestState) => void;

/** nginx's status for a request whose client went away before the answer began. */
const CLIENT_CLOSED_REQUEST = 499;

/** A step of the way to an answer: it answers, or hands the request on to `next`. */
export type Step = (next: RequestListener) => RequestListener;

/** A step for some requests alone. */
export const when =
  (flag: "isForGraphql" | "asksForBlock", step: Step): Step =>
  (next) => {
    const through = step(next);
    return (req, res) => (stateOf(req)[flag] ? through : next)(req, res);
  };

/** The first step: begins the state, and reports it when the request is over; `onShed`, if it was refused for load. */
export const begin =
  (clientOf: ClientOf, onOver: readonly OnOver[], onShed: readonly OnOver[] = onOver): Step =>
  (next) =>
  (req, res) => {
    const state = stateOf(req);
    state.client = clientOf(req);
    res.on("close", () => {
      noteHead(state);
      release(state);
      state.isAborted = state.status === 0 && !res.writableFinished;
      state.status ||= res.headersSent ? res.statusCode : CLIENT_CLOSED_REQUEST;
      state.ms = performance.now() - state.startedAt;
      for (const report of state.isShed ? onShed : onOver) report(state);
    });
    // An own property, because Express replaces the prototype.
    res.writeHead = writeHead;
    current.run(state, next, req, res);
  };

/** Notes that the answer begins, or that there will be none. */
export function noteHead(state: RequestState): void {
  state.onHead?.();
  state.onHead = undefined;
}

/** Gives back what the request holds. */
export function release(state: RequestState): void {
  state.hold?.release();
  state.hold = undefined;
}

const SWITCHING_PROTOCOLS = 101;

/** The same for a request that becomes a connection of another protocol. */
export function beginUpgrade(
  req: IncomingMessage,
  socket: Duplex,
  clientOf: ClientOf,
  onOver: OnOver,
): void {
  const state = stateOf(req);
  state.client = clientOf(req);
  state.route = GRAPHQL_PATH;
  state.status = SWITCHING_PROTOCOLS;
  socket.once("close", () => {
    state.ms = performance.now() - state.startedAt;
    onOver(state);
  });
}

/** An Express middleware that notes the route: the pattern below its router. */
export const noteRoute =
  (pattern: string): RequestHandler =>
  (req, _res, next) => {
    stateOf(req).route = req.baseUrl + pattern;
    next();
  };

type WriteHead = (this: ServerResponse, ...args: unknown[]) => ServerResponse;

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with this below
const writeHeadOfNode = ServerResponse.prototype.writeHead as WriteHead;

/** Adds the headers of the state: id, rate limit, Server-Timing. */
function writeHead(this: ServerResponse, ...args: unknown[]): ServerResponse {
  const state = stateOf(this.req);
  noteHead(state);
  const added = [...state.headers, "Server-Timing", serverTiming(state)];
  const given = args.at(-1);
  // Node writes a list as it is, but copies it where a header was set before.
  if (Array.isArray(given)) {
    return writeHeadOfNode.call(this, ...args.slice(0, -1), given.concat(added));
  }
  for (let n = 0; n < added.length; n += 2) this.setHeader(added[n] ?? "", added[n + 1] ?? "");
  return writeHeadOfNode.apply(this, args);
}

/** Milliseconds to the microsecond. */
function serverTiming({ cache, databaseMs, startedAt, trace }: RequestState): string {
  const traced = trace === undefined ? "" : `, traceparent;desc="${traceparent(trace)}"`;
  if (cache === "hit") return `cache;desc=hit${traced}`;
  const total = `total;dur=${(performance.now() - startedAt).toFixed(3)}`;
  const database = databaseMs === undefined ? "" : `, db;dur=${databaseMs.toFixed(3)}`;
  return `${cache === undefined ? "" : `cache;desc=${cache}, `}${total}${database}${traced}`;
}

/** As W3C's header of this name, which a browser cannot read. */
const traceparent = ({ traceId, spanId, isSampled }: Trace): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;

/** Which proxies' X-Forwarded-For is believed: a number of them, or their addresses; 0 is none. */
export type TrustedProxies = number | readonly string[];

export type ClientOf = (req: IncomingMessage) => string;

// ipKeyGenerator takes longer than the rest of the rate limiter.
const networks = new LRUCache<string, string>({
  max: 10_000,
  memoMethod: (address) => ipKeyGenerator(address),
});

/** The address, or the network of an IPv6 address, as one client has many of these. */
export const clientAt = (address = ""): string =>
  address.includes(":") ? networks.memo(address) : address;

const believed = (trusted: TrustedProxies): ((address: string, hop: number) => boolean) =>
  typeof trusted === "number" ? (_address, hop) => hop < trusted : proxyaddr.compile([...trusted]);

/** Whether a connection from an address is a trusted proxy's. */
export function trustedNeighbours(trusted: TrustedProxies): (address: string) => boolean {
  const isTrusted = believed(trusted);
  // A connection that is closed already has no address.
  return (address) => isIP(address) !== 0 && isTrusted(address, 0);
}

const PORT = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/;

export function clientNames(trusted: TrustedProxies): ClientOf {
  if (trusted === 0) return ({ socket }) => clientAt(socket.remoteAddress);
  const isTrusted = believed(trusted);
  return (req) => {
    // Some proxies add the port, which would make each request another client's, as any other text would. A reset connection has none.
    const address = ((proxyaddr(req, isTrusted) as string | undefined) ?? "").replace(PORT, "$1$2");
    return clientAt(isIP(address) === 0 ? req.socket.remoteAddress : address);
  };
}
