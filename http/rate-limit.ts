// Limits how many requests a minute a client may send.
//
// express-rate-limit counts. Its middleware takes 10 µs a request, a quarter of an answer from memory, so
// only its store is used. With shared counts no request waits for them: their answer raises the count here, so that
// a lost Redis delays and refuses nothing.
import { MemoryStore, type ClientRateLimitInfo, type Options } from "express-rate-limit";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { TooManyRequests } from "./errors.ts";
import type { Refuse } from "./refusal.ts";
import { clientAt, stateOf, type RequestState, type Step } from "./request.ts";

export const WINDOW_MS = 60_000;

export interface RateLimiter {
  /**
   * Hands on the requests within the limit and those of supervisors, and refuses the others. Every answer has the headers of the
   * IETF's draft 8, `RateLimit` and `RateLimit-Policy`. A minute begins with a client's first request.
   */
  limit: Step;
  /** Counts what is no HTTP request, as a message of a WebSocket. Returns why it is refused. */
  hit: (req: IncomingMessage) => TooManyRequests | undefined;
  /** Counts a request that Node's parser refused. */
  count: (socket: Socket) => void;
}

/** The counts of all processes. */
export interface SharedCounts {
  /** Counts one request. Undefined while that cannot be done; it never rejects. */
  increment: (client: string) => Promise<ClientRateLimitInfo | undefined>;
  close: () => void;
}

/**
 * Without a limit, 0, it counts nothing, unless there are keys, of which each may have another limit. Without `shared`,
 * this process counts for itself.
 */
export function rateLimiter(
  ofAny: number,
  refuse: Refuse,
  { shared, hasKeys = false }: { shared?: SharedCounts | undefined; hasKeys?: boolean } = {},
): RateLimiter {
  if (ofAny === 0 && !hasKeys) {
    return { limit: (next) => next, hit: () => undefined, count: () => undefined };
  }
  const store = new MemoryStore();
  store.init({ windowMs: WINDOW_MS } as Options);
  const limitOf = ({ key }: RequestState): number => key?.rate ?? ofAny;

  function hit(client: string, perMinute: number): { left: number; seconds: number } {
    // This store counts before it returns; its promise is for stores elsewhere.
    void store.increment(client);
    const hits = store.current.get(client);
    if (hits === undefined) throw new Error("express-rate-limit's MemoryStore counts later");
    const ms = hits.resetTime.getTime() - Date.now();
    if (ms <= WINDOW_MS) {
      // A client that is refused already costs nothing more.
      if (shared !== undefined && hits.totalHits <= perMinute) void raise(shared, client);
      return { left: perMinute - hits.totalHits, seconds: Math.max(1, Math.ceil(ms / 1000)) };
    }
    // The clock was set back: the client would have to wait until it catches up.
    void store.resetKey(client);
    return hit(client, perMinute);
  }

  /** The requests of all processes count from the answer on. */
  async function raise(counts: SharedCounts, client: string): Promise<void> {
    const all = await counts.increment(client);
    const hits = store.current.get(client) ?? store.previous.get(client);
    if (all === undefined || hits === undefined) return;
    hits.totalHits = Math.max(hits.totalHits, all.totalHits);
    hits.resetTime = all.resetTime ?? hits.resetTime;
  }

  return {
    limit: (next) => (req, res) => {
      const state = stateOf(req);
      const perMinute = limitOf(state);
      if (state.isOfSupervisor || perMinute === 0) {
        next(req, res);
        return;
      }
      const { left, seconds } = hit(state.client, perMinute);
      const policy = `"requests";q=${perMinute};w=${WINDOW_MS / 1000}`;
      const rest = `"requests";r=${Math.max(0, left)};t=${seconds}`;
      state.headers.push("RateLimit-Policy", policy, "RateLimit", rest);
      if (left < 0) refuse(req, res, new TooManyRequests(perMinute, seconds));
      else next(req, res);
    },
    hit(req) {
      const state = stateOf(req);
      const perMinute = limitOf(state);
      if (perMinute === 0) return undefined;
      const { left, seconds } = hit(state.client, perMinute);
      return left < 0 ? new TooManyRequests(perMinute, seconds) : undefined;
    },
    // Its headers cannot be read, so the nearest address counts.
    count: (socket) => {
      if (ofAny > 0) hit(clientAt(socket.remoteAddress), ofAny);
    },
  };
}
