// The HTTP server with its bounds, those of bodies among them, and which of its requests wait for their answers.
import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { answerOn, refuseConnection, refuseUnread, stopParsing } from "./connections.ts";
import { noteHead, stateOf, type OnOver, type Step } from "./request.ts";

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
  next: RequestListener,
  bounds: HttpBounds,
  bodyBytes: number,
  onMalformed: (socket: Socket) => void,
  mayUpgrade: (req: IncomingMessage) => boolean,
  log: LogError = console.error,
): Server {
  const listener = boundPipelined(alone(next, log));
  const server = createServer({
    IncomingMessage: countedMessages(bodyBytes),
    headersTimeout: bounds.headersTimeoutMs,
    requestTimeout: bounds.requestTimeoutMs,
    // Node keeps the connection for a second longer than it promises to clients.
    keepAliveTimeout: Math.max(0, bounds.idleMs - 1000),
    connectionsCheckingInterval: Math.min(CHECK_MS, bounds.headersTimeoutMs),
    maxHeaderSize: bounds.maxHeaderBytes,
    // well-formed.ts refuses it with a message.
    requireHostHeader: false,
    // Makes no stream for a request without a body; with one, a cache hit takes a sixth longer.
    optimizeEmptyRequests: true,
    // Node would leave the requests before it without an end.
    shouldUpgradeCallback: (req) => answerOn(req.socket) === undefined && mayUpgrade(req),
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
    const go = (): void => {
      if (!res.headersSent) res.writeContinue();
    };
    // Whether the body follows after all is unknown.
    if (Number(req.headers["content-length"]) > bodyBytes) res.shouldKeepAlive = false;
    // Node would put the headers of the answer before it.
    else if (isPipelined(res)) res.once("socket", go);
    else go();
    listener(req, res);
  });
  // well-formed.ts refuses other expectations than 100-continue with a message.
  server.on("checkExpectation", listener);
  server.on("clientError", ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    refuseUnread(socket, onMalformed, code);
  });
  return server;
}

/**
 * Requests that wait on a connection for the answer before theirs, which Node does not bound. A connection with more is
 * closed: one read of 64 kB may bring 2,000.
 */
export const MAX_PIPELINED = 16;

/** Node gives an answer its connection when the one before it is out. */
export const isPipelined = (res: ServerResponse): boolean => res.socket === null;

function boundPipelined(next: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  const count = (socket: Socket, more: number): void => {
    waiting.set(socket, (waiting.get(socket) ?? 0) + more);
  };

  return (req, res) => {
    // One that is ignored: Node drops what was read behind it, as the other protocol's.
    if (req.headers.upgrade !== undefined || req.method === "CONNECT") res.shouldKeepAlive = false;
    if (!isPipelined(res)) {
      next(req, res);
      return;
    }
    const { socket } = req;
    if ((waiting.get(socket) ?? 0) >= MAX_PIPELINED) {
      stopParsing(socket);
      socket.destroy();
      return;
    }
    count(socket, 1);
    res.once("close", () => count(socket, -1));
    next(req, res);
  };
}

/**
 * Drops a request whose client went away before it was read: a burst of them would else be worked off while others wait.
 * A reset is read one turn of the event loop after the request. Clients that have got an answer on their connection do not
 * wait for that.
 */
export const dropAbandoned =
  (log: LogError): Step =>
  (next) => {
    const through = alone(next, log);
    return (req, res) => {
      const { socket } = req;
      if (socket.bytesWritten > 0 || stateOf(req).isOfSupervisor) {
        through(req, res);
        return;
      }
      setImmediate(() =>
        setImmediate(() => {
          if (!socket.destroyed) through(req, res);
        }),
      );
    };
  };

type LogError = (error: unknown) => void;

/** A fault of the service in one request ends the connection of that, and not the process with all others. */
const alone =
  (listener: RequestListener, log: LogError): RequestListener =>
  (req, res) => {
    try {
      listener(req, res);
    } catch (error) {
      log(error);
      res.destroy();
    }
  };

/** A client that asks one request after the other sends the next one within this time. */
const NEXT_MS = 5;

/**
 * Reports whether a request of a server waits for its answer. It counts: a Set would make its table anew with every few
 * requests, and each table that is dropped keeps the next one, with its requests, until the next full garbage collection.
 */
export class RequestsWaiting {
  readonly #nextMs: number;
  #waiting = 0;
  #lastOverAt = -Infinity;

  constructor(nextMs = NEXT_MS) {
    this.#nextMs = nextMs;
  }

  /** Knows the requests that pass it. It stands behind `begin`. */
  readonly count: Step = (next) => (req, res) => {
    this.#waiting += 1;
    stateOf(req).onHead = this.#leave;
    next(req, res);
  };

  readonly #leave = (): void => {
    this.#waiting -= 1;
  };

  /** Is reported each request that is over. */
  readonly over: OnOver = ({ isStream, startedAt, ms }) => {
    if (!isStream) this.#lastOverAt = startedAt + ms;
  };

  /** Takes a stream for no request: streams wait for requests, but not for one another. */
  leaveOut(stream: ServerResponse): void {
    const state = stateOf(stream.req);
    noteHead(state);
    state.isStream = true;
  }

  /** Whether an answer has not begun, or the last one has just ended. */
  get any(): boolean {
    return this.#waiting > 0 || performance.now() - this.#lastOverAt < this.#nextMs;
  }
}

/** As many as a message to a WebSocket has fragments. */
export const MAX_SMALL_PIECES = 128;

/** Larger ones are few, since a body is short. */
const SMALL_BYTES = 256;

const TOO_LARGE = 413;
const HEADERS = "Content-Type: text/plain; charset=utf-8\r\n";
const MESSAGE = `The body must not come in more than ${MAX_SMALL_PIECES} chunks of less than ${SMALL_BYTES} bytes\n`;

type Push = (this: IncomingMessage, piece: Buffer | null, encoding?: BufferEncoding) => boolean;

/** What Node calls where an answer is out and its request's body was not read: it drops the rest of that, without an end. */
interface Dumped {
  readonly _dump: (this: IncomingMessage) => void;
  _dumped: boolean;
}

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with this below
const pushOfNode = IncomingMessage.prototype.push as Push;

const dumpOfNode = (IncomingMessage.prototype as unknown as Dumped)._dump;

/**
 * Closes the connection of a request whose body comes in many small pieces: Node makes an object of each, which takes
 * hundreds of times its bytes. Counts each piece when it arrives, also of a request that waits, or whose body is not read.
 * Closes it also where more of a body than one may have comes behind the answer, which would take the event loop.
 */
export class CountedMessage extends IncomingMessage {
  small = 0;
  /** How many bytes may come behind the answer: of a client that is refused before it has sent them. */
  left: number;
  isAnswered = false;
  declare mayUpgrade: boolean | null;

  constructor(socket: Socket, bodyBytes = Infinity) {
    super(socket);
    this.left = bodyBytes;
    // Own properties, because Express replaces the prototype.
    this.push = push;
    (this as { _dump?: unknown })._dump = dump;
  }

  /** Node sets it. CONNECT is refused as others are: where it is true, Node leaves the requests before it without an end. */
  get upgrade(): boolean | null {
    return this.mayUpgrade && this.method !== "CONNECT";
  }
  set upgrade(is: boolean | null) {
    this.mayUpgrade = is;
  }
}

/** Of a server that takes no body above `bodyBytes`. */
export const countedMessages = (bodyBytes: number): typeof CountedMessage =>
  class extends CountedMessage {
    constructor(socket: Socket) {
      super(socket, bodyBytes);
    }
  };

function dump(this: CountedMessage): void {
  dumpOfNode.call(this);
  if (this.complete) return;
  this.isAnswered = true;
  // Else Node hands on no piece.
  (this as unknown as Dumped)._dumped = false;
}

function push(this: CountedMessage, ...[piece, encoding]: Parameters<Push>): boolean {
  // The parser goes on to the end of what was read.
  if (this.small > MAX_SMALL_PIECES || this.left < 0) return false;
  if (piece !== null && piece.length < SMALL_BYTES) this.small += 1;
  if (piece !== null && this.isAnswered) this.left -= piece.length;
  if (this.small > MAX_SMALL_PIECES || this.left < 0) {
    refuseBody(this);
    return false;
  }
  // No handler will read it.
  if (piece !== null && this.isAnswered) return true;
  return pushOfNode.call(this, piece, encoding);
}

function refuseBody(message: IncomingMessage): void {
  const { socket } = message;
  stopParsing(socket);
  const answer = answerOn(socket);
  // No second answer can begin within the first, or before it.
  if (answer?.req !== message || answer.headersSent) socket.destroy();
  else refuseConnection(socket, TOO_LARGE, HEADERS, MESSAGE);
}
