// The overview of each market, from dex_market.
import { z } from "zod";
import { decimal, pairKey, type KeyedRow } from "../records.ts";
import { figures, marketQueries } from "./snapshot.ts";

export const marketRecord = z
  .object({
    pair: pairKey,
    price: decimal.describe("The volume weighted price of the last 6 hours, in quote per base."),
    last: decimal.describe("The price of the newest trade, however old, in quote per base."),
    vol: decimal.describe("The volume of the last 24 hours, in base units."),
    ask: decimal.describe("The lowest price of the open offers and pools that sell base."),
    bid: decimal.describe("The highest price of the open offers and pools that buy base."),
    low: decimal.describe("The lowest price of a trade of the last 24 hours."),
    high: decimal.describe("The highest price of a trade of the last 24 hours."),
    active: z.boolean().describe("Whether trading is enabled."),
  })
  .meta({ id: "Market" });

type MarketRow = KeyedRow & z.infer<typeof marketRecord>;

/** The list has the active markets only. */
export const {
  findAll: findMarkets,
  findSome: findSomeMarkets,
  findOne: findMarket,
} = marketQueries<MarketRow>({
  name: "dex_market",
  columns: `pair, ${figures("price", "last", "vol", "ask", "bid", "low", "high")}, active`,
  listed: "active",
});
