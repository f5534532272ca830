// What reads a chain: requests to its nodes, its blocks, and the tokens.
import type { IndexerOptions } from "./indexer-options.ts";
import { KnownContracts } from "./known-contracts.ts";
import { Registry } from "./index-registry.ts";
import { Requests } from "./requests.ts";
import { ChainSource } from "./source.ts";

/** Shared by all sessions: the rate of requests, the chain's id, and what was learned of nodes and tokens. */
export interface Reading extends IndexerOptions {
  requests: Requests;
  source: ChainSource;
  registry: Registry;
  /** What the database has found out about contracts. */
  known: KnownContracts;
}

/** `onDoubt` is called for what is believed although logs may be missing. */
export function readingOf(options: IndexerOptions, onDoubt?: () => void): Reading {
  const { rpcUrls, requestsPerSecond, requestTimeoutMs, backoffMs, signal, onEvent } = options;
  const requests = new Requests({
    urls: rpcUrls,
    perSecond: requestsPerSecond,
    timeoutMs: requestTimeoutMs,
    backoffMs,
    signal,
    onRequest: (method, outcome) => onEvent?.({ event: "request", method, outcome }),
  });
  const onLeftOut = (reason: string) => onEvent?.({ event: "leftOut", reason });
  const known = new KnownContracts(onLeftOut);
  const source = new ChainSource({
    ...options,
    requests,
    known,
    doubtMs: backoffMs,
    onDoubt: (reason) => {
      onDoubt?.();
      onEvent?.({ event: "doubt", reason });
    },
  });
  const registry = new Registry({ requests, onLeftOut });
  return { ...options, requests, source, registry, known };
}
