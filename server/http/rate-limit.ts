// Limits how often one client may ask.
//
// express-rate-limit counts, and knows which IPv6 addresses are one client's. Its middleware takes 10 µs
// a request, a quarter of what an answer from memory takes, so only its store is used.
import { ipKeyGenerator, MemoryStore, type Options } from "express-rate-limit";
import type { IncomingMessage, RequestListener } from "node:http";
import type { Socket } from "node:net";
import { clientAddressOf, type TrustedProxies } from "./client-address.ts";
import { TooManyRequests } from "./errors.ts";
import type { Refuse } from "./refusal.ts";
import { observationOf } from "./observe/observation.ts";

export interface RateLimit {
  /** How many requests a client may send in a minute. */
  perMinute: number;
  /** Which proxies say for whom they ask. */
  trustedProxies: TrustedProxies;
}

const WINDOW_MS = 60_000;
const WINDOW_SECONDS = WINDOW_MS / 1000;

/** Whoever supervises the service is never told to wait. */
const UNLIMITED = /^\/(?:health|ready|metrics)\/?(?:\?|$)/;

/** How many IPv6 addresses are remembered with their network, which takes long to tell. */
const KNOWN_NETWORKS = 10_000;

export interface RateLimiter {
  /**
   * Hands on the requests within the limit, and refuses the others with TooManyRequests. A minute begins
   * with a client's first request. Every answer carries the headers of the IETF's draft 8, `RateLimit`
   * and `RateLimit-Policy`.
   */
  limit: (next: RequestListener) => RequestListener;
  /** Counts what came on a connection and is no request. */
  count: (socket: Socket) => void;
}

/** Makes a rate limiter; without a limit, it counts nothing. */
export function rateLimiter(rateLimit: RateLimit | undefined, refuse: Refuse): RateLimiter {
  if (rateLimit === undefined) return { limit: (next) => next, count: () => undefined };
  const { perMinute, trustedProxies } = rateLimit;
  const store = new MemoryStore();
  store.init({ windowMs: WINDOW_MS } as Options);
  const addressOf = clientAddressOf(trustedProxies);
  const nameOf = addressNames();
  const policy = `"requests";q=${perMinute};w=${WINDOW_SECONDS}`;

  /** The requests of this client in its minute, this one too, and when that ends. */
  function counted(client: string): { totalHits: number; resetTime: Date } {
    // It counts at once, and shows what it has counted; its promise is for stores elsewhere.
    void store.increment(client);
    const hits = store.current.get(client);
    if (hits === undefined) throw new Error("express-rate-limit's MemoryStore counts later");
    return hits;
  }

  function hit(client: string): { left: number; seconds: number } {
    const { totalHits, resetTime } = counted(client);
    const ms = resetTime.getTime() - Date.now();
    if (ms <= WINDOW_MS) {
      return { left: perMinute - totalHits, seconds: Math.max(1, Math.ceil(ms / 1000)) };
    }
    // The clock was put back: the client would have to wait for it.
    void store.resetKey(client);
    return hit(client);
  }

  return {
    limit: (next) => (req, res) => {
      if (UNLIMITED.test(req.url ?? "")) {
        next(req, res);
        return;
      }
      const { left, seconds } = hit(nameOf(addressOf(req)));
      const state = `"requests";r=${Math.max(0, left)};t=${seconds}`;
      observationOf(req)?.headers.push("RateLimit-Policy", policy, "RateLimit", state);
      if (left < 0) refuse(req, res, new TooManyRequests(perMinute, seconds));
      else next(req, res);
    },
    // Its headers cannot be read, so it counts for the nearest address.
    count: (socket) => void hit(nameOf(socket.remoteAddress ?? "")),
  };
}

/** Names the client of a request by its address. */
export function clientNames(trustedProxies: TrustedProxies): (req: IncomingMessage) => string {
  const addressOf = clientAddressOf(trustedProxies);
  const nameOf = addressNames();
  return (req) => nameOf(addressOf(req));
}

/** Names a client by its address; by the network of an IPv6 address, of which one client has many. */
function addressNames(): (address: string) => string {
  const networks = new Map<string, string>();
  return (address) => {
    if (!address.includes(":")) return address;
    const known = networks.get(address);
    if (known !== undefined) return known;
    const network = ipKeyGenerator(address);
    if (networks.size >= KNOWN_NETWORKS) networks.clear();
    networks.set(address, network);
    return network;
  };
}
