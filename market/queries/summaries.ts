// The last 24 hours of each market, from dex_summary.
import { z } from "zod";
import { decimal, isoMoment, pairKey, signedDecimal, type KeyedRow } from "../records.ts";
import { figure, figures, isoTime, marketQueries } from "./snapshot.ts";

/** Of the 24 hours that end at the head; a trade exactly 24 hours old is out. */
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
    bid: decimal.describe("The highest price of the open offers and pools that buy base."),
    ask: decimal.describe("The lowest price of the open offers and pools that sell base."),
    spread: signedDecimal.describe('ask - bid; "0" where one of them does not exist.'),
  })
  .meta({ id: "Summary" });

export type SummaryRecord = z.infer<typeof summaryRecord>;

type SummaryRow = KeyedRow & SummaryRecord;

export const {
  findAll: findSummaries,
  findSome: findSomeSummaries,
  findOne: findSummary,
} = marketQueries<SummaryRow>({
  name: "dex_summary",
  columns: `
    pair,
    ${figure("last")},
    ${isoTime("last_time")} as "lastTime",
    ${figures("open", "change", "percent", "low", "high", "vwap", "vol")},
    ${figure("quote_vol", "quoteVol")},
    trades,
    ${figures("bid", "ask", "spread")}`,
});
