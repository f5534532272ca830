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

const FIGURES = `
        ${isoTime("candle.time")} as time,
        ${figures("open", "high", "low", "close", "vol")},
        ${figure("quote_vol", "quoteVol")},
        candle.trades,
        candle.complete`;

/** The candles, the oldest first. */
export const findCandles = (
  db: Database,
  pair: PairName,
  { interval, from, to, limit, empty }: CandleQuery,
): Promise<Snapshot<CandleRow>> =>
  readRowsOfPair(db, pair, {
    name: "rest_candles",
    columns: FIGURES,
    joined: `
      dex_candles(pair.base, pair.quote, $3, $4, $5, $6, $7) as candle on true
      order by candle.time`,
    values: [interval, from ?? null, to ?? null, limit, empty],
  });

/** Those of one market, without what has none. */
export interface AskedCandles extends Omit<CandleQuery, "empty"> {
  pair: PairName;
}

/** A candle, and the hash of all its columns. */
type HashedCandle = CandleRecord & { hash: string };

/** The candles of each, the oldest first; none where there is no pair. */
export async function findHashedCandles(
  db: Database,
  asked: readonly AskedCandles[],
): Promise<HashedCandle[][]> {
  const { rows } = await db.query<HashedCandle & { number: number }>({
    name: "live_candles",
    text: `
      select
        asked.number::integer - 1 as number,
        md5(candle::text) as hash,${FIGURES}
      from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::integer[])
        with ordinality as asked(base, quote, "interval", "from", "to", most, number)
      cross join lateral dex_candles(
        asked.base,
        asked.quote,
        asked."interval",
        asked."from",
        asked."to",
        asked.most,
        'omit'
      ) as candle
      order by
        asked.number,
        candle.time`,
    values: [
      asked.map(({ pair }) => pair.base),
      asked.map(({ pair }) => pair.quote),
      asked.map(({ interval }) => interval),
      asked.map(({ from = null }) => from),
      asked.map(({ to = null }) => to),
      asked.map(({ limit }) => limit),
    ],
  });
  const found: HashedCandle[][] = asked.map(() => []);
  for (const { number, ...candle } of rows) found[number]?.push(candle);
  return found;
}

/** The candles of the one pair, which may be none. Throws UnknownPair where there is no pair. */
export function candleRecords(rows: CandleRow[]): CandleRecord[] {
  if (rows.length === 0) throw new UnknownPair();
  return rows.flatMap(({ time, open, high, low, close, vol, quoteVol, trades, complete }) =>
    time === null ? [] : [{ time, open, high, low, close, vol, quoteVol, trades, complete }],
  );
}
