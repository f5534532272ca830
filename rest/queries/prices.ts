// The price statistics of each market, from dex_price.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import type { PairName } from "../params.ts";
import { decimal, type KeyedRow } from "../records.ts";
import { MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

const vwap = (hours: string) =>
  decimal.describe(
    `The volume weighted price of the last ${hours}, in quote per base: the quote that was traded ` +
      "over the base.",
  );

/** The price statistics of a market. */
export const priceRecord = z
  .object({
    "24hrvwap": vwap("24 hours"),
    "12hrvwap": vwap("12 hours"),
    "6hrvwap": vwap("6 hours"),
    "1hrvwap": vwap("hour"),
    last: decimal.describe("The price of the newest trade, however old, in quote per base."),
  })
  .meta({ id: "Price" });

export type PriceRow = KeyedRow & z.infer<typeof priceRecord>;

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
