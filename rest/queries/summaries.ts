// The last 24 hours of each market, from dex_summary.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import { isoMoment } from "../../server/http/envelope.ts";
import type { PairName } from "../params.ts";
import { decimal, pairKey, signedDecimal, type KeyedRow } from "../records.ts";
import { isoTime, MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

/** The last 24 hours of a market: those that end at the head, a trade exactly as old left out. */
export const summaryRecord = z
  .object({
    pair: pairKey,
    last: decimal.describe("The price of the newest trade, however old, in quote per base."),
    lastTime: isoMoment
      .nullable()
      .describe(
        "The time of that trade's block, in ISO 8601 UTC with milliseconds; null before the first.",
      ),
    open: decimal.describe(
      "The price that stood 24 hours ago: of the newest trade that was as old then, in quote per base.",
    ),
    change: signedDecimal.describe('last - open; "0" where one of them does not exist.'),
    percent: signedDecimal.describe(
      'change in percent of open, rounded once to 18 fractional digits; "0" where open is 0.',
    ),
    low: decimal.describe("The lowest price of a trade of the last 24 hours."),
    high: decimal.describe("The highest price of a trade of the last 24 hours."),
    vwap: decimal.describe(
      "The volume weighted price of the last 24 hours, in quote per base: quoteVol over vol.",
    ),
    vol: decimal.describe("The volume of the last 24 hours, in base units."),
    quoteVol: decimal.describe("The volume of the last 24 hours, in quote units."),
    trades: z
      .int()
      .min(0)
      .describe(
        "How many trades the last 24 hours had, those of no base, and so no price, included.",
      ),
    bid: decimal.describe("The highest price of the open offers that buy base."),
    ask: decimal.describe("The lowest price of the open offers that sell base."),
    spread: signedDecimal.describe('ask - bid; "0" where one of them does not exist.'),
  })
  .meta({ id: "Summary" });

export type SummaryRow = KeyedRow & z.infer<typeof summaryRecord>;

const SELECT_SUMMARIES = `
  select
    ${MOMENT},
    summary.pair as key,
    summary.pair,
    trim_scale(coalesce(summary.last, 0))::text as last,
    ${isoTime("summary.last_time")} as "lastTime",
    trim_scale(coalesce(summary.open, 0))::text as open,
    trim_scale(coalesce(summary.change, 0))::text as change,
    trim_scale(coalesce(summary.percent, 0))::text as percent,
    trim_scale(coalesce(summary.low, 0))::text as low,
    trim_scale(coalesce(summary.high, 0))::text as high,
    trim_scale(coalesce(summary.vwap, 0))::text as vwap,
    trim_scale(coalesce(summary.vol, 0))::text as vol,
    trim_scale(coalesce(summary.quote_vol, 0))::text as "quoteVol",
    summary.trades,
    trim_scale(coalesce(summary.bid, 0))::text as bid,
    trim_scale(coalesce(summary.ask, 0))::text as ask,
    trim_scale(coalesce(summary.spread, 0))::text as spread
  from dex_private.as_of
  left join dex_summary as summary
`;

/** The summary of every registered market, in the order of BASE/QUOTE by code point. */
export async function findSummaries(db: Database): Promise<Snapshot<SummaryRow>> {
  return readSnapshot(db, {
    name: "rest_summaries",
    text: `
      ${SELECT_SUMMARIES}
        on true
      order by summary.pair collate "C"
    `,
  });
}

/** The summary of one market; symbols in any case. */
export async function findSummary(
  db: Database,
  { base, quote }: PairName,
): Promise<Snapshot<SummaryRow>> {
  return readSnapshot(db, {
    name: "rest_summary",
    text: `
      ${SELECT_SUMMARIES}
        on summary.base = upper($1)
        and summary.quote = upper($2)
    `,
    values: [base, quote],
  });
}
