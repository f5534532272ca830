// What an indexer is given, and what it reports while it runs.
import type { Contract } from "./contracts.ts";
import type { Decoder } from "./exchange-facts.ts";
import type { GivenMarket } from "./market-files.ts";
import type { Outcome } from "./requests.ts";
import type { TokenList } from "./token-list.ts";

export interface IndexerOptions {
  /** The database, by a login that may become dex_writer. */
  databaseUrl: string;
  /** URLs of the chain's nodes, tried in turn. */
  rpcUrls: readonly string[];
  /** Address of the exchange's contract. */
  exchange: string;
  decoder: Decoder;
  /** Contracts beside it, none of which begins earlier. */
  others?: readonly Contract[] | undefined;
  /** The first block of an empty database. */
  fromBlock: number;
  /** Blocks that the chain may take back; without it, those that it does not call finalized. */
  finality?: number | undefined;
  /** Whose trade each one is: the event's taker, or the sender of its transaction. */
  taker?: "event" | "sender" | undefined;
  /** Markets to register at the start, beside those that the exchange lists. */
  markets?: readonly GivenMarket[] | undefined;
  /** The tokens that make markets, and no others do; without it, those that the exchange lists. */
  tokenList?: TokenList | undefined;
  /** The most requests a second to the nodes. */
  requestsPerSecond?: number | undefined;
  /** How long one request may take, in milliseconds. */
  requestTimeoutMs?: number | undefined;
  /** Waits of retries, in milliseconds, for tests. */
  backoffMs?: number | undefined;
  /** How often it says again what it waits for, in milliseconds, for tests. */
  repeatMs?: number | undefined;
  signal: AbortSignal;
  onEvent?: ((event: IndexerEvent) => void) | undefined;
}

export type IndexerEvent =
  /** Nothing can be written at present. */
  | { event: "waiting"; reason: string }
  /** A session begins behind this block, the last one of the database. */
  | { event: "begun"; indexed: number; time: number }
  /** The database has the head of the chain. */
  | { event: "upToDate" }
  /** Blocks are written up to `indexed`. */
  | {
      event: "written";
      indexed: number;
      time: number;
      known: number;
      knownTime: number;
      rows: number;
      leftOut: number;
      isBackfill: boolean;
      /** The first block of the index. */
      from: number;
    }
  | { event: "reorganisation"; ancestor: number; depth: number }
  | { event: "known"; known: number; knownTime: number }
  | { event: "leftOut"; reason: string }
  /** What somebody who starts it should know. */
  | { event: "notice"; reason: string }
  /** Whether the open offers are yet to be compared with the contract's state. */
  | { event: "audit"; isDue: boolean }
  /** Something cannot be checked, and is believed. */
  | { event: "doubt"; reason: string }
  /** The node or the database fails; it is tried again. */
  | { event: "failure"; reason: string }
  | { event: "recovered" }
  | { event: "request"; method: string; outcome: Outcome };
