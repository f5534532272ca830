// What happened on an exchange, as a decoder reads it from logs.

/** The largest number of a block that the schema has room for. */
export const LARGEST_BLOCK = 2 ** 31 - 1;

/** Where a fact stands in the chain. */
export interface Place {
  block: number;
  /** Hash of the block. */
  hash: string;
  tx: string;
  /** Index of the log in its block. */
  idx: number;
}

/** Amounts are in the token's smallest unit; addresses have an EIP-55 checksum. */
interface Swap extends Place {
  /** Time of the block, in seconds since 1970. */
  time: number;
  /** Address of the contract or pool. */
  venue: string;
  /** The contract's own id of the offer, where the database gives it another. */
  ref?: string;
  lotGem: string;
  lotAmt: bigint;
  bidGem: string;
  bidAmt: bigint;
}

/** A maker's offer. */
export interface OfferFact extends Swap {
  kind: "offer";
  /** As the contract gave it, as in every fact. */
  id: number;
  maker: string;
  /** Set for an order that has the id of an earlier one, which is over. */
  isAgain?: true;
}

/** A take of an offer, in part or whole. */
export interface TradeFact extends Swap {
  kind: "trade";
  /** Null for a trade with a pool. */
  offerId: number | null;
  maker: string;
  /** Set where the event's maker need not be that of the offer's event, which counts. */
  makerIsOffers?: true;
  /** Set where the contract rounds the bid at each take: all takes together may be of more than the offer asks for. */
  isRounded?: true;
  taker: string;
}

/** The cancellation of an offer, with what was left of it. */
export interface CancellationFact extends Swap {
  kind: "cancellation";
  offerId: number;
}

/** What is left of an offer, in the tokens' smallest units: nothing where it is over. */
export interface LeftOffer extends Pick<Swap, "lotGem" | "lotAmt" | "bidGem" | "bidAmt"> {
  /** The block in which it was made. */
  block: number;
  ref: string;
  maker: string;
  /** What it was made with. */
  whole: Pick<Swap, "lotAmt" | "bidAmt">;
}

/** What happened to an offer by an event that names the offer alone. */
export interface UpdateFact extends Place, Pick<Swap, "time" | "venue"> {
  kind: "update";
  offerId: number;
  /** Of the trades that it gives. */
  taker?: string;
  /** The facts that it gives; undefined where they cannot be, so that an earlier log is missing. */
  factsOf: (offer: LeftOffer) => UpdatePart[] | undefined;
}

/** It has the time and contract of its update, and the taker. */
export type UpdatePart = Part<OfferFact> | Part<TradeFact> | Part<CancellationFact>;
type Part<F extends Swap> = Omit<F, "time" | "venue">;

/** An amount of each of a pool's two tokens, in the order that the contract has them in. */
export type Both = readonly [bigint, bigint];

/** What a pool has after a block: the lot of its first token, the bid of its second. */
export interface ReservesFact extends Swap {
  kind: "reserves";
  /** What the pool keeps of each amount that comes in, in millionths. */
  fee: number;
  /** Whether the pool can have had this before the first of its logs that were read; undefined where they do not say. */
  canFollow?: ((before: Both) => boolean) | undefined;
}

/** What a pool with liquidity in ranges of prices has after a block: the lot is its first token, the bid its second. */
export interface RangesFact extends Omit<Swap, "lotAmt" | "bidAmt" | "ref"> {
  kind: "ranges";
  /** What the pool keeps of each amount that comes in, in millionths. */
  fee: number;
  tickSpacing: number;
  /** Undefined where no log of the block says it: it is that of the block before. */
  price: { sqrtPrice: bigint; tick: number; liquidity: bigint } | undefined;
  /** What the block adds to the liquidity of ticks. */
  changes: ReadonlyMap<number, TickLiquidity>;
  /** The ticks that it changes with what they have then, once that is known. */
  nets?: string;
}

/** Of the ranges that begin at a tick: less that of the ranges that end there, and with it. */
export interface TickLiquidity {
  net: bigint;
  gross: bigint;
}

/** A pair of tokens that the exchange lists or delists; addresses have an EIP-55 checksum. */
export interface MarketFact extends Place {
  kind: "market";
  base: string;
  quote: string;
  active: boolean;
  /** Set where a row of two listed tokens is the reason: it registers a market, and changes none. */
  isSeen?: true;
  /** Set for a market of a file: its direction counts, also where the pair is registered the other way round. */
  isGiven?: true;
}

export type PoolFact = ReservesFact | RangesFact;

export type Fact = OfferFact | TradeFact | CancellationFact | PoolFact | MarketFact;

/** As a block has them, before the database shows what updates are. */
export type BlockFact = Fact | UpdateFact;

/** A fact without a time where neither the log nor the event has it. */
export type UntimedFact = Untimed<BlockFact>;
type Untimed<F> = F extends { time: number } ? Omit<F, "time"> & { time: number | undefined } : F;

/** The same as a decoder reads it: without a venue where it is the contract. */
export type ReadFact = Read<UntimedFact>;
type Read<F> = F extends { venue: string } ? Omit<F, "venue"> & { venue?: string } : F;

export const isOfPool = <F extends { kind: string }>(
  fact: F,
): fact is F & { kind: PoolFact["kind"] } => fact.kind === "reserves" || fact.kind === "ranges";

export const marketsOf = (facts: readonly BlockFact[]): MarketFact[] =>
  facts.filter((fact) => fact.kind === "market");

/** A log of the exchange's contract, checked in form. */
export interface ChainLog {
  address: string;
  topics: readonly `0x${string}`[];
  data: `0x${string}`;
  block: number;
  hash: string;
  /** Time of the block in seconds, where the node returns it with the log. */
  time: number | undefined;
  tx: string;
  idx: number;
}

/** Reads one kind of exchange: `exchanges/README.md` says how to write another. */
export interface Decoder {
  /** The name of the kind, which is recorded with a database. */
  readonly kind: string;
  /** Topic 0 of every event that it reads. */
  readonly topics: readonly `0x${string}`[];
  /** Topic 0 of those that give a `MarketFact`. */
  readonly marketTopics: readonly `0x${string}`[];
  /** Whether the exchange counts its offers: each id is the one before and 1. */
  readonly idsAreConsecutive: boolean;
  /** A pool has no offers: each trade has the `offerId` null. */
  readonly hasOffers?: false;
  /** An order can have the id of an earlier one: each offer has its own `ref`, its id before the first ":", and gets another id. */
  readonly reusesIds?: true;
  /** What `discover` gives are pairs of tokens, not contracts with logs; `decode` gets all up to its logs. */
  readonly discoversPairs?: true;
  /** Whose trade it is by default: the taker of the event, or the sender of the transaction. */
  readonly takerIs?: "event" | "sender";
  /** Which logs of a factory add a contract, by topic 0, and which contract one adds: its logs are read from this log on. */
  readonly discover?: { topics: readonly `0x${string}`[]; made: (log: ChainLog) => Made };
  /** The decoder of a contract whose events do not say all, by what it returns when it is asked. It never changes that. */
  readonly setUp?: (ask: Ask) => Promise<Decoder>;
  /** How the contract returns what is left of its offers; undefined where it does not. */
  readonly state?: ContractState;
  /** The same for pools that keep another share of what comes in, in millionths; undefined where events or contracts say it. */
  readonly withFee?: (fee: number) => Decoder;
  /** That share, where it is another than the kind's. */
  readonly otherFee?: number;
  /** Each pool and factory of this kind answers one of these. */
  readonly recognisedBy?: readonly ContractCall<unknown>[];
  /** How a pool returns what it has: its reserves, or its price, tick and liquidity. */
  readonly poolState?: PoolState;
  /**
   * The facts of logs that are in the order of the chain, whole transactions only. Throws
   * `IncompleteLogs` where a log must be missing, and a `Halt` for what this kind of exchange never says. A fact without
   * a time gets that of its block's header.
   */
  decode(logs: readonly ChainLog[], pairs?: readonly Pair[]): ReadFact[];
}

/** Two tokens that orders are of, and the block that says so. */
export interface Pair {
  block: number;
  answers: Made["answers"];
}

/** A contract that a factory made. */
export interface Made {
  /** In lower case. */
  address: string;
  /** Which one of the factory's it is, from 1; null where the factory does not count them. */
  number: number | null;
  /** What `setUp` would ask it, by the names of the calls; of a pair its tokens, and the `log` that orders the pairs of a block. */
  answers: Readonly<Record<string, string | number>>;
}

export type Ask = <T extends string | number>(call: ContractCall<T>) => Promise<T>;

export interface ContractState {
  /** The id of the last offer made. */
  lastOffer: ContractCall<number>;
  /** What is left of an offer: nothing of one that is filled, cancelled or was never made. Undefined for what is not exact. */
  offer: (id: number) => ContractCall<{ lotAmt: bigint | undefined; bidAmt: bigint | undefined }>;
  /** Set where the call reverts for an offer of which nothing is left. */
  revertsWhenOver?: true;
}

export interface PoolState {
  /** What it is, as messages show it. */
  name: string;
  calls: readonly ContractCall<readonly bigint[]>[];
  /** How a pool with liquidity in ranges returns the ticks that they end at. */
  ticks?: PoolTicks;
}

export interface PoolTicks {
  at: (tick: number) => ContractCall<TickLiquidity>;
  /** Of the 256 ticks from 256 × `n` × the tick spacing on, a bit of each, the lowest one first: whether ranges end there. */
  word: (n: number) => ContractCall<bigint>;
}

/** A call without a transaction. `read` gives undefined for what the function never returns. */
export interface ContractCall<T> {
  /** As messages show it. */
  name: string;
  data: `0x${string}`;
  read: (result: string) => T | undefined;
}

/** A node's logs lack one that must be there. They are asked again, elsewhere. */
export class IncompleteLogs extends Error {
  override readonly name = "IncompleteLogs";
}
