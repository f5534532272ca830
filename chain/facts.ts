// What happened on an exchange, as a decoder reads it from logs.

/** Where a fact stands in the chain. */
export interface Place {
  block: number;
  /** Hash of the block. */
  hash: string;
  tx: string;
  /** Index of the log in its block. */
  idx: number;
}

interface TimedPlace extends Place {
  /** Time of the block, in seconds since 1970. */
  time: number;
}

/** A maker's offer. Amounts are in the token's smallest unit; addresses have an EIP-55 checksum. */
export interface OfferFact extends TimedPlace {
  kind: "offer";
  id: number;
  maker: string;
  lotGem: string;
  lotAmt: bigint;
  bidGem: string;
  bidAmt: bigint;
}

/** A take of an offer, in part or whole. */
export interface TradeFact extends TimedPlace {
  kind: "trade";
  offerId: number;
  maker: string;
  taker: string;
  lotGem: string;
  lotAmt: bigint;
  bidGem: string;
  bidAmt: bigint;
}

/** The cancellation of an offer, with what was left of it; addresses have an EIP-55 checksum. */
export interface CancellationFact extends TimedPlace {
  kind: "cancellation";
  offerId: number;
  lotGem: string;
  lotAmt: bigint;
  bidGem: string;
  bidAmt: bigint;
}

/** A pair of tokens that the exchange lists or delists; addresses have an EIP-55 checksum. */
export interface MarketFact extends Place {
  kind: "market";
  base: string;
  quote: string;
  active: boolean;
}

export type Fact = OfferFact | TradeFact | CancellationFact | MarketFact;

/** A log of the exchange's contract, checked in form. */
export interface ChainLog {
  address: string;
  topics: readonly `0x${string}`[];
  data: `0x${string}`;
  block: number;
  hash: string;
  /** Time of the block in seconds, where the node tells it with the log. */
  time: number | undefined;
  tx: string;
  idx: number;
}

/** Reads one kind of exchange: `exchanges/README.md` says how to write another. */
export interface Decoder {
  /** Topic 0 of every event that it reads. */
  readonly topics: readonly `0x${string}`[];
  /** Topic 0 of those that give a `MarketFact`. */
  readonly marketTopics: readonly `0x${string}`[];
  /** Whether the exchange counts its offers: each id is the one before and 1. */
  readonly idsAreConsecutive: boolean;
  /** How the contract tells what is left of its offers; undefined where it does not. */
  readonly state?: ContractState;
  /**
   * The facts of logs that are in the order of the chain, whole transactions only. Throws
   * `IncompleteLogs` where a log must be missing, and a `Halt` for what this kind of exchange never says.
   */
  decode(logs: readonly ChainLog[]): Fact[];
}

export interface ContractState {
  /** The id of the last offer made. */
  lastOffer: ContractCall<number>;
  /** What is left of an offer: nothing of one that is filled, cancelled or was never made. */
  offer: (id: number) => ContractCall<{ lotAmt: bigint; bidAmt: bigint }>;
}

/** A call without a transaction. `read` gives undefined for what the function never returns. */
export interface ContractCall<T> {
  data: `0x${string}`;
  read: (result: string) => T | undefined;
}

/** A node's logs lack one that must be there. They are asked again, elsewhere. */
export class IncompleteLogs extends Error {
  override readonly name = "IncompleteLogs";
}
