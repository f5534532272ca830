// What an indexer is given.
import type { Contract } from "./contracts.ts";
import type { Decoder } from "./exchange-facts.ts";
import type { GivenMarket } from "./given-markets.ts";
import type { IndexerEvent } from "./indexer-event.ts";
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
