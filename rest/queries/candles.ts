// The candles of one market up to the head, from dex_candles.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import { UnknownPair } from "../../server/http/errors.ts";
import { isoMoment } from "../../server/http/envelope.ts";
import type { PairName } from "../params.ts";
import { decimal, type KeyedRow } from "../records.ts";
import { isoTime, MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

/** What was traded in a market in an interval. */
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

type CandleRecord = z.infer<typeof candleRecord>;

/** A candle; where there are none, one row whose time is null. */
export type CandleRow = KeyedRow & Omit<CandleRecord, "time"> & { time: string | null };

/** Which intervals there are. */
export const INTERVALS = ["1m", "5m", "15m", "30m", "1h", "4h", "1d"] as const;

/** What an interval without trades gives: no candle, or one at the price before it. */
export const EMPTY = ["omit", "flat"] as const;

/** Which candles of a pair are asked for. */
export interface Candles {
  interval: (typeof INTERVALS)[number];
  /** The first may start then, in ISO 8601. */
  from?: string | undefined;
  /** The last must start before, in ISO 8601. */
  to?: string | undefined;
  /** How many at most: the first ones where `from` is given, else the last. */
  limit: number;
  empty: (typeof EMPTY)[number];
}

/** The candles, the oldest first; symbols in any case. */
export async function findCandles(
  db: Database,
  { base, quote }: PairName,
  { interval, from, to, limit, empty }: Candles,
): Promise<Snapshot<CandleRow>> {
  return readSnapshot(db, {
    name: "rest_candles",
    text: `
      select
        ${MOMENT},
        pair.base || '/' || pair.quote as key,
        ${isoTime("candle.time")} as time,
        trim_scale(candle.open)::text as open,
        trim_scale(candle.high)::text as high,
        trim_scale(candle.low)::text as low,
        trim_scale(candle.close)::text as close,
        trim_scale(candle.vol)::text as vol,
        trim_scale(candle.quote_vol)::text as "quoteVol",
        candle.trades,
        candle.complete
      from dex_private.as_of
      left join dex_pair as pair
        on pair.base = upper($1)
        and pair.quote = upper($2)
      left join lateral dex_candles(pair.base, pair.quote, $3, $4, $5, $6, $7) as candle
        on true
      order by candle.time
    `,
    values: [base, quote, interval, from ?? null, to ?? null, limit, empty],
  });
}

/** The candles of the one pair, which may be none. Throws UnknownPair where there is no pair. */
export function candleRecords(rows: CandleRow[]): CandleRecord[] {
  if (rows.length === 0) throw new UnknownPair();
  return rows.flatMap(({ time, open, high, low, close, vol, quoteVol, trades, complete }) =>
    time === null ? [] : [{ time, open, high, low, close, vol, quoteVol, trades, complete }],
  );
}
