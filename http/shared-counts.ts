// Counts the requests of each client in Redis, for all processes that are given it.
import type { ClientRateLimitInfo, Options } from "express-rate-limit";
import { Redis } from "ioredis";
import { RedisStore } from "rate-limit-redis";
import type { SharedCounts } from "./rate-limit.ts";

const PREFIX = "dex-market-data:requests:";

/** Without an answer for so long, the connection is made anew. */
const ANSWER_MS = 2000;
const RETRY_MS = 1000;

const CLOSED = "the connection is closed";

/** While more counts than these wait for an answer, no other is sent: nothing may pile up. */
const MAX_WAITING = 10_000;

export interface SharedCountsOptions {
  url: string;
  windowMs: number;
  log: Record<"info" | "warn", (line: string) => void>;
}

/** Does not wait for Redis: until it answers, and whenever it is lost, nothing is counted there. */
export function openSharedCounts({ url, windowMs, log }: SharedCountsOptions): SharedCounts {
  const redis = new Redis(url, {
    // A count that comes late is of no use.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    connectTimeout: ANSWER_MS,
    socketTimeout: ANSWER_MS,
    retryStrategy: () => RETRY_MS,
  });
  const store = new RedisStore({
    prefix: PREFIX,
    sendCommand: (command: string, ...args: string[]) =>
      redis.call(command, ...args) as Promise<number | string | (number | string)[]>,
  });
  let state: "unknown" | "counting" | "lost" = "unknown";
  /** The last reason that was logged. */
  let logged = "";
  let waiting = 0;
  let retry: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** A closed connection may have another reason, by which the next one fails. */
  function lose(error: unknown): void {
    const reason = reasonOf(error).replace(/\.$/, "");
    const isKnown = state === "lost" && (reason === logged || reason === CLOSED);
    if (!isKnown && !isClosed) {
      logged = reason;
      log.warn(
        `RATE_LIMIT_REDIS_URL does not count: ${reason}. Until it does, this process counts requests for itself.`,
      );
    }
    state = "lost";
  }

  /** Redis may refuse to write, such as a replica, or without memory. */
  async function begin(): Promise<void> {
    clearTimeout(retry);
    try {
      // Where Redis has no such database the client goes on with the first one, which may be another service's.
      const { db = 0 } = redis.options;
      if (db > 0) await redis.select(db);
      await store.init({ windowMs } as Options);
      await store.increment("any");
    } catch (error) {
      lose(error);
      // Without a connection, the next one begins.
      retry = setTimeout(() => redis.status === "ready" && void begin(), RETRY_MS).unref();
      return;
    }
    state = "counting";
    log.info("RATE_LIMIT_REDIS_URL counts the requests of each client for all processes.");
  }

  redis.on("ready", () => void begin());
  redis.on("error", lose);
  redis.on("close", () => lose(CLOSED));

  return {
    async increment(client): Promise<ClientRateLimitInfo | undefined> {
      if (state !== "counting" || waiting >= MAX_WAITING) return undefined;
      waiting += 1;
      try {
        return await store.increment(client);
      } catch (error) {
        lose(error);
        if (redis.status === "ready") void begin();
        return undefined;
      } finally {
        waiting -= 1;
      }
    },
    close() {
      isClosed = true;
      clearTimeout(retry);
      redis.disconnect();
    },
  };
}

/** Of several addresses that refuse, Node's error has no message, but a code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
