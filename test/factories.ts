// Tokens, pairs, offers and trades with plain defaults: a test shows only what matters to it.
import { createHash } from "node:crypto";
import type { Database } from "../db/connect.ts";

/** The time of block 0; the block of a time is its whole seconds since then. */
export const GENESIS = Date.parse("2026-01-01T00:00:00Z");

/** A 20-byte address made of a name, the same each time. It is not checksummed. */
export const anAddress = (name: string): string =>
  `0x${createHash("sha256").update(name).digest("hex").slice(0, 40)}`;

/** A 32-byte hash made of a name, the same each time. */
export const aHash = (name: string): string =>
  `0x${createHash("sha256").update(name).digest("hex")}`;

export const WETH = anAddress("WETH");
export const DAI = anAddress("DAI");
export const MKR = anAddress("MKR");

/** ISO time of so many hours after genesis. */
export const hours = (n: number): string => new Date(GENESIS + n * 3_600_000).toISOString();

/** The block of so many hours after genesis: one block a second. */
export const blockAt = (n: number): number => Math.round(n * 3600);

export interface TradeRow {
  id?: number | string;
  offer_id: number;
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
  idx: number;
}

let made = 0;

/**
 * A trade in WETH/DAI one hour after genesis, in which the maker sells 1 WETH for 100 DAI.
 * `hour` sets both block and time; `side: "buy"` has the maker buy base instead; `base` and
 * `quote` are its amounts.
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
    pair: aHash(sells ? baseGem + quoteGem : quoteGem + baseGem),
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

/** An offer in WETH/DAI at genesis that sells 10 WETH for 1000 DAI; the same knobs as `aTrade`. */
export function anOffer({
  id = (made += 1),
  killed = 0,
  filled = false,
  ...knobs
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
    ...knobs,
  });
  return { ...row, id, killed, filled };
}

/** Inserts rows by plain SQL, as an indexer would: in one statement, in the order given. */
export async function insert(db: Database, table: string, rows: object | object[]): Promise<void> {
  const list = Array.isArray(rows) ? rows : [rows];
  if (list.length === 0) return;
  const columns = [...new Set(list.flatMap((row) => Object.keys(row)))];
  const names = columns.map((column) => `"${column}"`).join(", ");
  await db.query(
    `insert into ${table} (${names})
    select ${names}
    from json_populate_recordset(null::${table}, $1)`,
    [JSON.stringify(list)],
  );
}

/** Registers WETH, DAI and MKR with 18 decimals, and WETH/DAI and MKR/WETH as active pairs. */
export async function registerMarkets(db: Database): Promise<void> {
  await insert(db, "dex_token", [
    { address: WETH, symbol: "WETH", decimals: 18, name: "Wrapped Ether" },
    { address: DAI, symbol: "DAI", decimals: 18, name: "Dai Stablecoin" },
    { address: MKR, symbol: "MKR", decimals: 18, name: "Maker" },
  ]);
  await insert(db, "dex_pair", [
    { base: "WETH", quote: "DAI", active: true },
    { base: "MKR", quote: "WETH", active: true },
  ]);
}

/** Declares the head so many hours after genesis, or moves it there. */
export async function setHead(db: Database, hour: number): Promise<void> {
  const head = [blockAt(hour), hours(hour)];
  const moved = await db.query("update dex_head set block = $1, time = $2", head);
  if (moved.rowCount === 1) return;
  await db.query("insert into dex_head (block, time) values ($1, $2)", head);
}
