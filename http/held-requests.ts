// Bounds what requests without a whole answer hold, for each client and for all: how many there are, the bytes of their
// bodies, and those of answers that are not read.
import { ServerResponse, type IncomingMessage } from "node:http";
import { stopParsing } from "./connections.ts";
import {
  AnswersUnread,
  BodiesHeld,
  ServiceBusy,
  TooManyRequestsAtOnce,
  type ClientFacingError,
} from "./errors.ts";
import { isPipelined } from "./http-server.ts";
import type { Refuse } from "./refusal.ts";
import { stateOf, type RequestState, type Step } from "./request.ts";

export interface HeldLimits {
  /** Requests of one client, 0 for any number. */
  perClient: number;
  /** Requests of all clients. */
  all: number;
  /** The most bytes of a body. */
  bodyBytes: number;
}

/** How many of the largest bodies one client may have in flight, and all clients. */
export const BODIES = { perClient: 64, all: 640 };

const MB = 1024 * 1024;

/** Bytes of answers that wait for one client to read them, and for all clients: with more no request is taken. */
export const UNREAD = { perClient: 32 * MB, all: 320 * MB };

/** Less is out in moments, or of a client that holds little. */
const COUNTED_FROM = 65_536;

interface Held {
  requests: number;
  /** Of bodies. */
  bytes: number;
  /** Bytes of answers. */
  unread: number;
}

const nothing = (): Held => ({ requests: 0, bytes: 0, unread: 0 });
const NOTHING: Readonly<Held> = nothing();

/** Clients that are known before those without a request are forgotten. */
const KNOWN = 1000;

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with this below
const endOfNode = ServerResponse.prototype.end as (...args: unknown[]) => ServerResponse;

export class HeldRequests {
  readonly #limits: HeldLimits;
  readonly #ofClient = new Map<string, Held>();
  // Created once, because the stack of an error takes a good part of a refusal's time.
  readonly #busy = new ServiceBusy();
  readonly #tooMany: TooManyRequestsAtOnce;
  readonly #bodies: BodiesHeld;
  readonly #unread = new AnswersUnread(UNREAD.perClient);
  readonly #all = nothing();
  #known = KNOWN;

  constructor(limits: HeldLimits) {
    this.#limits = limits;
    this.#tooMany = new TooManyRequestsAtOnce(limits.perClient);
    this.#bodies = new BodiesHeld(BODIES.perClient * limits.bodyBytes);
  }

  /** How many requests have no whole answer. Streams and probes are not counted. */
  get count(): number {
    return this.#all.requests;
  }

  /** Hands on the requests within the limits, and refuses the others before their bodies are read. */
  bound(refuse: Refuse): Step {
    return (next) => (req, res) => {
      const state = stateOf(req);
      if (state.isOfSupervisor) {
        next(req, res);
        return;
      }
      const bytes = this.#bytesOf(req);
      const refusal = this.#refusal(state.client, bytes);
      if (refusal === undefined) {
        this.#hold(state, bytes, res);
        next(req, res);
      } else {
        if (isPipelined(res)) {
          // It waits for the answers before it, and takes the place of all that comes behind.
          res.shouldKeepAlive = false;
          stopParsing(req.socket);
        }
        refuse(req, res, refusal);
      }
    };
  }

  /** The length that the client has named; a body of another form may be as long as is accepted. */
  #bytesOf({ headers }: IncomingMessage): number {
    const { bodyBytes } = this.#limits;
    if (headers["transfer-encoding"] !== undefined) return bodyBytes;
    // A longer one is refused, and not read.
    const length = Number(headers["content-length"] ?? 0);
    return length <= bodyBytes ? length : 0;
  }

  #refusal(client: string, bytes: number): ClientFacingError | undefined {
    const { perClient, all, bodyBytes } = this.#limits;
    const { requests, bytes: held, unread } = this.#ofClient.get(client) ?? NOTHING;
    if (perClient > 0) {
      if (requests >= perClient) return this.#tooMany;
      if (unread > UNREAD.perClient) return this.#unread;
      if (bytes > 0 && held + bytes > BODIES.perClient * bodyBytes) return this.#bodies;
    }
    if (this.#all.requests >= all || this.#all.unread > UNREAD.all) return this.#busy;
    if (bytes > 0 && this.#all.bytes + bytes > BODIES.all * bodyBytes) return this.#busy;
    return undefined;
  }

  #hold(state: RequestState, bytes: number, res: ServerResponse): void {
    let ofClient = this.#ofClient.get(state.client);
    if (ofClient === undefined) {
      if (this.#ofClient.size >= this.#known) this.#forget();
      ofClient = nothing();
      this.#ofClient.set(state.client, ofClient);
    }
    state.hold = new Hold(this.#all, ofClient, bytes);
    // An own property, because Express replaces the prototype.
    res.end = end;
  }

  /** Forgets the clients that hold nothing. Not each when it is over: a Map that changes with every request is made anew. */
  #forget(): void {
    for (const [client, { requests }] of this.#ofClient) {
      if (requests === 0) this.#ofClient.delete(client);
    }
    this.#known = Math.max(KNOWN, 2 * this.#ofClient.size);
  }
}

/** What one request holds. */
class Hold {
  readonly #all: Held;
  readonly #ofClient: Held;
  readonly #bytes: number;
  #unread = 0;

  constructor(all: Held, ofClient: Held, bytes: number) {
    this.#all = all;
    this.#ofClient = ofClient;
    this.#bytes = bytes;
    for (const held of [all, ofClient]) {
      held.requests += 1;
      held.bytes += bytes;
    }
  }

  addUnread(bytes: number): void {
    this.#unread += bytes;
    for (const held of [this.#all, this.#ofClient]) held.unread += bytes;
  }

  release(): void {
    for (const held of [this.#all, this.#ofClient]) {
      held.requests -= 1;
      held.bytes -= this.#bytes;
      held.unread -= this.#unread;
    }
  }
}

/** Not a closure around the answer: those keep it until the next full garbage collection. */
function end(this: ServerResponse, ...args: unknown[]): ServerResponse {
  endOfNode.apply(this, args);
  // What the system has not taken.
  const unread = this.writableLength;
  if (unread >= COUNTED_FROM) stateOf(this.req).hold?.addUnread(unread);
  return this;
}
