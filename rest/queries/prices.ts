// The price statistics of each market, from dex_price.
import type { Database } from "../../db/connect.ts";
import type { PairName } from "../params.ts";
import { MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

/** Decimals are "0" where the figure does not exist. */
export interface PriceRow {
  key: string;
  "24hrvwap": string;
  "12hrvwap": string;
  "6hrvwap": string;
  "1hrvwap": string;
  last: string;
}

const SELECT_PRICES = `
  select
    ${MOMENT},
    price.pair as key,
    trim_scale(coalesce(price.vwap24h, 0))::text as "24hrvwap",
    trim_scale(coalesce(price.vwap12h, 0))::text as "12hrvwap",
    trim_scale(coalesce(price.vwap6h, 0))::text as "6hrvwap",
    trim_scale(coalesce(price.vwap1h, 0))::text as "1hrvwap",
    trim_scale(coalesce(price.last, 0))::text as last
  from dex_private.as_of
  left join dex_price as price
`;

/** The prices of every registered market, in the order of BASE/QUOTE by code point. */
export async function findPrices(db: Database): Promise<Snapshot<PriceRow>> {
  return readSnapshot(db, {
    name: "rest_prices",
    text: `
      ${SELECT_PRICES}
        on true
      order by price.pair collate "C"
    `,
  });
}

/** The prices of one market; symbols in any case. */
export async function findPrice(
  db: Database,
  { base, quote }: PairName,
): Promise<Snapshot<PriceRow>> {
  return readSnapshot(db, {
    name: "rest_price",
    text: `
      ${SELECT_PRICES}
        on price.base = upper($1)
        and price.quote = upper($2)
    `,
    values: [base, quote],
  });
}
