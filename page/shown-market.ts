// Reads what the page of one market shows, as of the head or of a past block.
import type { Database } from "../db/connect.ts";
import { INTERVALS, type Interval } from "../market/candle-intervals.ts";
import { bookOf, findBook, type BookRecord } from "../market/queries/book.ts";
import { candleRecords, findCandles, type CandleRecord } from "../market/queries/candles.ts";
import { findPair } from "../market/queries/pairs.ts";
import { findNeighbours, type Neighbours } from "../market/queries/head.ts";
import { onlyRecord, type KeyedRow } from "../market/records.ts";
import type { PairName, Snapshot } from "../market/queries/snapshot.ts";
import { findSummary, type SummaryRecord } from "../market/queries/summaries.ts";
import { findTradeDetails, findTrades, tradeRecords } from "../market/queries/trades.ts";
import type { TradeDetails, TradeRecord } from "../market/queries/trades.ts";

import type { UsdVolume } from "../market/queries/usd-volumes.ts";

export interface ListedMarket {
  base: string;
  quote: string;
  active: boolean;
  summary: SummaryRecord;
  /** Where the operator names tokens that are worth a dollar. */
  dollars?: UsdVolume | undefined;
}

export interface ShownMarket extends ListedMarket {
  book: BookRecord;
  trades: TradeRecord[];
  /** Of the same trades. */
  details: TradeDetails[];
}

export interface PastMarket extends ShownMarket {
  interval: Interval;
  candles: CandleRecord[];
  neighbours: Neighbours;
}

const BOOK_LEVELS = 50;
const NEWEST_TRADES = 50;
const CANDLES = 300;

/** In one snapshot, if `db` is a transaction. Throws UnknownPair. */
export async function findMarket(
  db: Database,
  asked: PairName,
): Promise<Snapshot<KeyedRow & ShownMarket>> {
  const { rows, time, block } = await findPair(db, asked);
  const summary = onlyRecord((await findSummary(db, asked)).rows);
  const book = bookOf((await findBook(db, asked, { depth: BOOK_LEVELS })).rows);
  const trades = tradeRecords((await findTrades(db, asked, { limit: NEWEST_TRADES })).rows);
  const details = await findTradeDetails(db, asked, NEWEST_TRADES);
  return { rows: rows.map((pair) => ({ ...pair, summary, book, trades, details })), time, block };
}

/** With what the page reads by its stream and by REST at the head. */
export const findPastMarket =
  (asked: PairName, interval: Interval) =>
  async (db: Database): Promise<Snapshot<KeyedRow & PastMarket>> => {
    const { rows, time, block } = await findMarket(db, asked);
    const query = { interval, limit: CANDLES, empty: "omit" } as const;
    const candles = candleRecords((await findCandles(db, asked, query)).rows);
    const neighbours = await findNeighbours(db, block);
    return {
      rows: rows.map((market) => ({ ...market, interval, candles, neighbours })),
      time,
      block,
    };
  };

/** The interval in the query string; any other is an hour. */
export function intervalIn(url: string): Interval {
  const given = new URLSearchParams(/\?(.*)$/s.exec(url)?.[1] ?? "").get("interval");
  return INTERVALS.find((interval) => interval === given) ?? "1h";
}
