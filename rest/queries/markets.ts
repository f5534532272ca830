// The overview of each market, from dex_market.
import type { Database } from "../../db/connect.ts";
import type { PairName } from "../params.ts";
import { MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

/** Decimals are "0" where the figure does not exist. */
export interface MarketRow {
  key: string;
  pair: string;
  price: string;
  last: string;
  vol: string;
  ask: string;
  bid: string;
  low: string;
  high: string;
  active: boolean;
}

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
