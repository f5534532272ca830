// Turns facts into the rows that the database takes: amounts in whole tokens, exactly.
import { pairHash } from "../db/load/checksum.ts";
import type { OfferRow, TradeRow } from "../db/load/checked-rows.ts";
import type { Header } from "./node-answers.ts";
import { isOfPool, type Fact, type PoolFact } from "./exchange-facts.ts";
import { Halt } from "./halt.ts";

/** Of an offer that has no id of the database yet. */
interface Ref {
  ref?: string;
}

export interface BlockRows {
  offers: (OfferRow & Ref)[];
  trades: (TradeRow & Ref & { idx: number })[];
  cancellations: (Ref & { block: number; time: string; offerId: number; venue: string })[];
  pools: PoolRow[];
  /** How many offers, trades and cancellations are left out, since a token's amounts are not exact. */
  leftOut: number;
}

/** What a pool has after a block: reserves, or liquidity in ranges. */
export interface PoolRow {
  block: number;
  time: string;
  venue: string;
  gem0: string;
  gem1: string;
  fee: number;
  reserve0?: string;
  reserve1?: string;
  tick_spacing?: number;
  sqrt_price?: string;
  tick?: number;
  liquidity?: string;
  nets?: string;
}

/** `decimalsOf` gives a token's decimals, or undefined where its rows are left out. */
export function rowsOf(
  facts: readonly Fact[],
  decimalsOf: (token: string) => number | undefined,
): BlockRows {
  const rows: BlockRows = { offers: [], trades: [], cancellations: [], pools: [], leftOut: 0 };
  for (const fact of facts) {
    if (fact.kind === "market") continue;
    const lotDecimals = decimalsOf(fact.lotGem);
    const bidDecimals = decimalsOf(fact.bidGem);
    if (lotDecimals === undefined || bidDecimals === undefined) {
      if (!isOfPool(fact)) rows.leftOut += 1;
      continue;
    }
    if (isOfPool(fact)) {
      rows.pools.push(poolRow(fact, lotDecimals, bidDecimals));
      continue;
    }
    const { block, tx, venue } = fact;
    const time = isoTime(fact.time);
    const lot_amt = decimal(fact.lotAmt, lotDecimals);
    const bid_amt = decimal(fact.bidAmt, bidDecimals);
    const own: Ref = fact.ref === undefined ? {} : { ref: fact.ref };
    if (fact.kind === "cancellation") {
      rows.cancellations.push({ block, time, offerId: fact.offerId, venue, ...own });
      continue;
    }
    const row = {
      maker: fact.maker,
      lot_gem: fact.lotGem,
      lot_amt,
      bid_gem: fact.bidGem,
      bid_amt,
      block,
      time,
      tx,
      venue,
      ...own,
    };
    if (fact.kind === "offer") rows.offers.push({ id: fact.id, ...row });
    else {
      const offerId = fact.offerId ?? undefined;
      rows.trades.push({ offer_id: offerId, taker: fact.taker, idx: fact.idx, ...row });
    }
  }
  return rows;
}

function poolRow(fact: PoolFact, decimals0: number, decimals1: number): PoolRow {
  const { block, venue, fee, lotGem: gem0, bidGem: gem1 } = fact;
  const row = { block, time: isoTime(fact.time), venue, gem0, gem1, fee };
  if (fact.kind === "reserves") {
    const reserve0 = decimal(fact.lotAmt, decimals0);
    return { ...row, reserve0, reserve1: decimal(fact.bidAmt, decimals1) };
  }
  const { price, nets, tickSpacing: tick_spacing } = fact;
  if (price === undefined || nets === undefined) {
    throw new Error(`the state of ${venue} after block ${block} is not whole`);
  }
  const { tick, sqrtPrice, liquidity } = price;
  return {
    ...{ ...row, tick_spacing, tick, nets },
    ...{ sqrt_price: String(sqrtPrice), liquidity: String(liquidity) },
  };
}

/** An amount of the smallest unit as a decimal number of whole tokens: 1500000 with 6 decimals is 1.5. */
export function decimal(amount: bigint, decimals: number): string {
  const digits = String(amount).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

/** The reverse of `decimal`, of a row; `decimals` are null where its token is not registered: no row of an indexer is so. */
export function smallestUnits(amount: string, token: string, decimals: number | null): bigint {
  if (decimals === null) {
    throw new Halt(
      `The database has rows of the token ${token}, which is not registered: \`ingest.register_token\` takes it with its decimals.`,
    );
  }
  const [whole = "", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

export const isoTime = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** A row of its block, which names neither block nor time, with the hash of its two tokens. */
export const withPair = <Row extends { lot_gem: string; bid_gem: string }>({ ...row }: Row) => {
  const { block: _block, time: _time, ...rest } = row as Row & { block?: number; time?: string };
  return { ...rest, pair: pairHash(row.lot_gem, row.bid_gem) };
};

type Moment = Pick<Header, "number" | "hash" | "time">;

/** The blocks of the range that have rows, with their hashes, and its last block. */
export function blocksOf(facts: readonly Fact[], end: Header): Moment[] {
  const blocks = new Map<number, Moment>([[end.number, end]]);
  for (const fact of facts) {
    if (fact.kind === "market") continue;
    const { block: number, hash, time } = fact;
    if (!blocks.has(number)) blocks.set(number, { number, hash, time });
  }
  return [...blocks.values()];
}
