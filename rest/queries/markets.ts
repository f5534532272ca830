// The overview of each market, from dex_market.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import type { PairName } from "../params.ts";
import { decimal, pairKey, type KeyedRow } from "../records.ts";
import { MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

/** The overview of a market. */
export const marketRecord = z
  .object({
    pair: pairKey,
    price: decimal.describe("The volume weighted price of the last 6 hours, in quote per base."),
    last: decimal.describe("The price of the newest trade, however old, in quote per base."),
    vol: decimal.describe("The volume of the last 24 hours, in base units."),
    ask: decimal.describe("The lowest price of the open offers that sell base."),
    bid: decimal.describe("The highest price of the open offers that buy base."),
    low: decimal.describe("The lowest price of a trade of the last 24 hours."),
    high: decimal.describe("The highest price of a trade of the last 24 hours."),
    active: z.boolean().describe("Whether trading is enabled."),
  })
  .meta({ id: "Market" });

export type MarketRow = KeyedRow & z.infer<typeof marketRecord>;

const SELECT_MARKETS = `
  select
    ${MOMENT},
    market.pair as key,
    market.pair,
    trim_scale(coalesce(market.price, 0))::text as price,
    trim_scale(coalesce(market.last, 0))::text as last,
    trim_scale(coalesce(market.vol, 0))::text as vol,
    trim_scale(coalesce(market.ask, 0))::text as ask,
    trim_scale(coalesce(market.bid, 0))::text as bid,
    trim_scale(coalesce(market.low, 0))::text as low,
    trim_scale(coalesce(market.high, 0))::text as high,
    market.active
  from dex_private.as_of
  left join dex_market as market
`;

/** Every active market, in the order of BASE/QUOTE by code point. */
export async function findMarkets(db: Database): Promise<Snapshot<MarketRow>> {
  return readSnapshot(db, {
    name: "rest_markets",
    text: `
      ${SELECT_MARKETS}
        on market.active
      order by market.pair collate "C"
    `,
  });
}

/** One market, active or not; symbols in any case. */
export async function findMarket(
  db: Database,
  { base, quote }: PairName,
): Promise<Snapshot<MarketRow>> {
  return readSnapshot(db, {
    name: "rest_market",
    text: `
      ${SELECT_MARKETS}
        on market.base = upper($1)
        and market.quote = upper($2)
    `,
    values: [base, quote],
  });
}
