// The candles of one market up to the head, from dex_candles.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import { UnknownPair } from "../absent.ts";
import type { Interval } from "../candle-intervals.ts";
import { decimal, isoMoment, type KeyedRow } from "../records.ts";
import {
  figure,
  figures,
  isoTime,
  readRowsOfPair,
  type PairName,
  type Snapshot,
} from "./snapshot.ts";

export const candleRecord = z
  .object({
    time: isoMoment.describe(
      "The start of the interval, in ISO 8601 UTC with milliseconds. The interval ends before the next.",
    ),
    open: decimal.describe("The price of the first trade, in quote per base."),
    high: decimal.describe("The highest price of a trade."),
    low: decimal.describe("The lowest price of a trade."),
    close: decimal.describe("The price of the last trade."),
    vol: decimal.describe("The volume in base units."),
    quoteVol: decimal.describe("The volume in quote units."),
    trades: z.int().min(0).describe("How many trades there were that have a price."),
    complete: z
      .boolean()
      .describe("Whether the interval is over; else the candle is of its trades up to the head."),
  })
  .meta({ id: "Candle" });

export type CandleRecord = z.infer<typeof candleRecord>;

/** No candles are one row whose time is null. */
type CandleRow = KeyedRow & Omit<CandleRecord, "time"> & { time: string | null };

/** What an interval without trades gives: no candle, or one at the price before it. */
export const EMPTY = ["omit", "flat"] as const;

interface CandleQuery {
  interval: Interval;
  /** ISO 8601: the first may start then. */
  from?: string | undefined;
  /** ISO 8601: the last must start before. */
  to?: string | undefined;
  /** The first candles where `from` is given, else the last. */
  limit: number;
  empty: (typeof EMPTY)[number];
}

const readCandles = <Row extends KeyedRow>(
  db: Database,
  pair: PairName,
  { interval, from, to, limit, empty }: CandleQuery,
  { name, others = "" }: { name: string; others?: string },
): Promise<Snapshot<Row>> =>
  readRowsOfPair(db, pair, {
    name,
    columns: `
        ${isoTime("candle.time")} as time,
        ${figures("open", "high", "low", "close", "vol")},
        ${figure("quote_vol", "quoteVol")},
        trades,${others}
        complete`,
    joined: `
      dex_candles(pair.base, pair.quote, $3, $4, $5, $6, $7) as candle on true
      order by candle.time`,
    values: [interval, from ?? null, to ?? null, limit, empty],
  });

/** The candles, the oldest first. */
export const findCandles = (
  db: Database,
  pair: PairName,
  query: CandleQuery,
): Promise<Snapshot<CandleRow>> => readCandles(db, pair, query, { name: "rest_candles" });

/** A candle, and the hash of all its columns. */
type HashedCandle = CandleRecord & { hash: string };

/** The candles, the oldest first; none where there is no pair. */
export async function findHashedCandles(
  db: Database,
  pair: PairName,
  query: CandleQuery,
): Promise<HashedCandle[]> {
  const { rows } = await readCandles<CandleRow & { hash: string }>(db, pair, query, {
    name: "live_candles",
    others: `
        md5(candle::text) as hash,`,
  });
  if (rows.length === 0) return [];
  return candleRecords(rows).map((candle, n) => ({ ...candle, hash: rows[n]?.hash ?? "" }));
}

/** The candles of the one pair, which may be none. Throws UnknownPair where there is no pair. */
export function candleRecords(rows: CandleRow[]): CandleRecord[] {
  if (rows.length === 0) throw new UnknownPair();
  return rows.flatMap(({ time, open, high, low, close, vol, quoteVol, trades, complete }) =>
    time === null ? [] : [{ time, open, high, low, close, vol, quoteVol, trades, complete }],
  );
}
