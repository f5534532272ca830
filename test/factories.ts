// Factories of tokens, pairs, offers and trades with defaults: a test shows only the values it needs.
import { createHash } from "node:crypto";
import type { Database } from "../db/connect.ts";
import { checksumAddress, pairHash } from "../db/load/checksum.ts";

/** The time of block 0; a block's number is its time in whole seconds since then. */
export const GENESIS = Date.parse("2026-01-01T00:00:00Z");

/** A 20-byte address derived from a name, with the checksum that stored addresses have. */
export const anAddress = (name: string): string =>
  checksumAddress(`0x${createHash("sha256").update(name).digest("hex").slice(0, 40)}`);

/** A 32-byte hash derived from a name. */
export const aHash = (name: string): string =>
  `0x${createHash("sha256").update(name).digest("hex")}`;

export const WETH = anAddress("WETH");
export const DAI = anAddress("DAI");
export const MKR = anAddress("MKR");

/** The ISO time n hours after genesis. */
export const hours = (n: number): string => new Date(GENESIS + n * 3_600_000).toISOString();

/** The block n hours after genesis: one block a second. */
export const blockAt = (n: number): number => Math.round(n * 3600);

export interface TradeRow {
  id?: number | string;
  offer_id: number | null;
  pair: string;
  maker: string;
  taker: string;
  lot_gem: string;
  lot_amt: string;
  bid_gem: string;
  bid_amt: string;
  block: number;
  time: string;
  tx: string;
  venue?: string | null;
  idx: number;
}

let made = 0;

/**
 * A trade in WETH/DAI one hour after genesis: the maker sells 1 WETH for 100 DAI. `hour` sets block and
 * time; with `side: "buy"` the maker buys base; `base` and `quote` are the amounts.
 */
export function aTrade({
  hour = 1,
  side = "sell",
  base = "1",
  quote = "100",
  baseGem = WETH,
  quoteGem = DAI,
  ...columns
}: Partial<TradeRow> & {
  hour?: number;
  side?: "buy" | "sell";
  base?: string;
  quote?: string;
  baseGem?: string;
  quoteGem?: string;
} = {}): TradeRow {
  made += 1;
  const sells = side === "sell";
  return {
    offer_id: 1,
    pair: sells ? pairHash(baseGem, quoteGem) : pairHash(quoteGem, baseGem),
    maker: anAddress("maker"),
    taker: anAddress("taker"),
    lot_gem: sells ? baseGem : quoteGem,
    lot_amt: sells ? base : quote,
    bid_gem: sells ? quoteGem : baseGem,
    bid_amt: sells ? quote : base,
    block: blockAt(hour),
    time: hours(hour),
    tx: aHash(`trade ${made}`),
    idx: 0,
    ...columns,
  };
}

export type OfferRow = Omit<TradeRow, "id" | "offer_id" | "taker" | "idx"> & {
  id: number;
  killed: number;
  filled: boolean;
};

/** An offer in WETH/DAI at genesis that sells 10 WETH for 1000 DAI; the same options as `aTrade`. */
export function anOffer({
  id = (made += 1),
  killed = 0,
  filled = false,
  ...options
}: Parameters<typeof aTrade>[0] &
  Partial<Pick<OfferRow, "killed" | "filled">> & { id?: number } = {}): OfferRow {
  const {
    offer_id: _offer,
    taker: _taker,
    idx: _idx,
    ...row
  } = aTrade({
    hour: 0,
    base: "10",
    quote: "1000",
    ...options,
  });
  return { ...row, id, killed, filled };
}

/** Rows to write, and the head after them. */
export interface Written {
  offers?: readonly OfferRow[];
  trades?: readonly TradeRow[];
  /** In hours after genesis; the head block may have no rows. */
  head?: number;
}

interface Block {
  time: string;
  offers: object[];
  trades: object[];
  killed: number[];
}

const timeOf = (block: number): string => new Date(GENESIS + block * 1000).toISOString();

/**
 * Writes rows block by block, as an indexer does; an offer's `killed` is a cancellation in that block. A
 * block has the time of its rows, or without rows the time of its number. Where trades of a block have one idx, as by
 * default, all get their ordinal.
 */
export async function write(
  db: Database,
  { offers = [], trades = [], head }: Written,
): Promise<void> {
  const blocks = new Map<number, Block>();
  const blockOf = (block: number, time = timeOf(block)): Block => {
    const known = blocks.get(block) ?? { time, offers: [], trades: [], killed: [] };
    blocks.set(block, known);
    return known;
  };
  for (const beside of Map.groupBy(trades, ({ block }) => block).values()) {
    const isOrdered = new Set(beside.map(({ idx }) => idx)).size === beside.length;
    for (const [ordinal, trade] of beside.entries()) {
      const row = isOrdered ? trade : { ...trade, idx: ordinal };
      blockOf(trade.block, trade.time).trades.push(row);
    }
  }
  for (const { killed, ...offer } of offers) {
    blockOf(offer.block, offer.time).offers.push(offer);
    if (killed > 0) blockOf(killed).killed.push(offer.id);
  }
  if (head !== undefined) blockOf(blockAt(head), hours(head));
  for (const [block, rows] of [...blocks].sort(([one], [other]) => one - other)) {
    await db.query("select ingest.write_block($1, $2, null, null, $3, $4, $5)", [
      block,
      rows.time,
      JSON.stringify(rows.offers),
      JSON.stringify(rows.trades),
      rows.killed,
    ]);
  }
}

/** Writes an empty block at this hour after genesis: the new head. */
export const setHead = (db: Database, hour: number): Promise<void> => write(db, { head: hour });

export interface TokenRow {
  address: string;
  symbol: string | null;
  decimals?: number;
  name?: string | null;
}

/** Registers tokens, by default with 18 decimals. */
export async function registerTokens(db: Database, ...tokens: TokenRow[]): Promise<void> {
  for (const { address, symbol, decimals = 18, name = null } of tokens) {
    await db.query("select ingest.register_token($1, $2, $3, $4)", [
      address,
      symbol,
      decimals,
      name,
    ]);
  }
}

/** Registers the pair of two registered tokens, by their addresses. */
export async function registerPair(
  db: Database,
  base: string,
  quote: string,
  active = true,
): Promise<void> {
  await db.query("select ingest.register_pair($1, $2, $3)", [base, quote, active]);
}

/** Registers WETH, DAI and MKR with 18 decimals, and WETH/DAI and MKR/WETH as active pairs. */
export async function registerMarkets(db: Database): Promise<void> {
  await registerTokens(
    db,
    { address: WETH, symbol: "WETH", name: "Wrapped Ether" },
    { address: DAI, symbol: "DAI", name: "Dai Stablecoin" },
    { address: MKR, symbol: "MKR", name: "Maker" },
  );
  await registerPair(db, WETH, DAI);
  await registerPair(db, MKR, WETH);
}
