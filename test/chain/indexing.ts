// Runs an indexer for a test, and waits for the blocks that it writes.
import type { Decoder } from "../../chain/exchange-facts.ts";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import type { IndexerEvent } from "../../chain/indexer-options.ts";
import type { IndexerOptions } from "../../chain/indexer-options.ts";
import { runIndexer } from "../../chain/indexer.ts";

export interface Indexing {
  /** What it has told, requests left out. */
  events: IndexerEvent[];
  /** Resolves when it ends by itself; rejects with its reason. */
  ended: Promise<void>;
  /** Resolves once an event matches; rejects where the indexer ends before. */
  heard(matches: (event: IndexerEvent) => boolean): Promise<IndexerEvent>;
  /** Resolves once it has written this block. */
  wrote(block: number | bigint): Promise<unknown>;
  stop(): Promise<void>;
}

export interface IndexingOptions extends Partial<IndexerOptions> {
  databaseUrl: string;
  url: string;
  exchange: string;
  decoder?: Decoder;
}

/** Starts it with short waits, so that a test does not wait for them. */
export function startIndexing({ url, ...options }: IndexingOptions): Indexing {
  const stopping = new AbortController();
  const events: IndexerEvent[] = [];
  const listeners = new Set<(event: IndexerEvent) => void>();
  const ended = runIndexer({
    rpcUrls: [url],
    fromBlock: 0,
    finality: 64,
    decoder: matchingMarket,
    requestsPerSecond: 10_000,
    backoffMs: 1,
    ...options,
    signal: stopping.signal,
    onEvent: (event) => {
      if (event.event !== "request") events.push(event);
      options.onEvent?.(event);
      for (const listener of [...listeners]) listener(event);
    },
  });
  ended.catch(() => undefined);
  const heard: Indexing["heard"] = (matches) => {
    const past = events.find(matches);
    if (past !== undefined) return Promise.resolve(past);
    const { promise, resolve, reject } = Promise.withResolvers<IndexerEvent>();
    const listener = (event: IndexerEvent): void => {
      if (!matches(event)) return;
      listeners.delete(listener);
      resolve(event);
    };
    listeners.add(listener);
    ended.then(() => reject(new Error("The indexer has ended")), reject);
    return promise;
  };
  return {
    events,
    ended,
    heard,
    wrote: (block) => heard((event) => event.event === "written" && event.indexed >= Number(block)),
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
