// Limits how many requests a minute a client may send.
//
// express-rate-limit counts. Its middleware takes 10 µs a request, a quarter of an answer from memory, so
// only its store is used.
import { MemoryStore, type Options } from "express-rate-limit";
import type { IncomingMessage, RequestListener } from "node:http";
import type { Socket } from "node:net";
import { clientAt } from "./client-address.ts";
import { TooManyRequests } from "./errors.ts";
import type { Refuse } from "./refusal.ts";
import { observationOf } from "./observe/observation.ts";

const WINDOW_MS = 60_000;

/** Supervisors are not limited. */
const UNLIMITED = /^\/(?:health|ready|metrics)\/?(?:\?|$)/;

export interface RateLimiter {
  /**
   * Hands on the requests within the limit, and refuses the others. Every answer has the headers of the
   * IETF's draft 8, `RateLimit` and `RateLimit-Policy`. A minute begins with a client's first request.
   */
  limit: (next: RequestListener) => RequestListener;
  /** Counts a request that Node's parser refused. */
  count: (socket: Socket) => void;
}

/** Without a limit, 0, it counts nothing. */
export function rateLimiter(
  perMinute: number,
  clientOf: (req: IncomingMessage) => string,
  refuse: Refuse,
): RateLimiter {
  if (perMinute === 0) return { limit: (next) => next, count: () => undefined };
  const store = new MemoryStore();
  store.init({ windowMs: WINDOW_MS } as Options);
  const policy = `"requests";q=${perMinute};w=${WINDOW_MS / 1000}`;

  function hit(client: string): { left: number; seconds: number } {
    // This store counts before it returns; its promise is for stores elsewhere.
    void store.increment(client);
    const hits = store.current.get(client);
    if (hits === undefined) throw new Error("express-rate-limit's MemoryStore counts later");
    const ms = hits.resetTime.getTime() - Date.now();
    if (ms <= WINDOW_MS) {
      return { left: perMinute - hits.totalHits, seconds: Math.max(1, Math.ceil(ms / 1000)) };
    }
    // The clock was set back: the client would have to wait until it catches up.
    void store.resetKey(client);
    return hit(client);
  }

  return {
    limit: (next) => (req, res) => {
      if (UNLIMITED.test(req.url ?? "")) {
        next(req, res);
        return;
      }
      const { left, seconds } = hit(clientOf(req));
      const state = `"requests";r=${Math.max(0, left)};t=${seconds}`;
      observationOf(req)?.headers.push("RateLimit-Policy", policy, "RateLimit", state);
      if (left < 0) refuse(req, res, new TooManyRequests(perMinute, seconds));
      else next(req, res);
    },
    // Its headers cannot be read, so the nearest address counts.
    count: (socket) => void hit(clientAt(socket.remoteAddress)),
  };
}
