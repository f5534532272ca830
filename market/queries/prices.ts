// The price statistics of each market, from dex_price.
import { z } from "zod";
import { decimal, type KeyedRow } from "../records.ts";
import { figure, marketQueries } from "./snapshot.ts";

const vwap = (hours: string) =>
  decimal.describe(
    `The volume weighted price of the last ${hours}, in quote per base: the quote that was traded ` +
      "over the base.",
  );

export const priceRecord = z
  .object({
    "24hrvwap": vwap("24 hours"),
    "12hrvwap": vwap("12 hours"),
    "6hrvwap": vwap("6 hours"),
    "1hrvwap": vwap("hour"),
    last: decimal.describe("The price of the newest trade, however old, in quote per base."),
  })
  .meta({ id: "Price" });

type PriceRow = KeyedRow & z.infer<typeof priceRecord>;

export const { findAll: findPrices, findOne: findPrice } = marketQueries<PriceRow>({
  name: "dex_price",
  columns: [
    ...["24", "12", "6", "1"].map((hours) => figure(`vwap${hours}h`, `${hours}hrvwap`)),
    figure("last"),
  ].join(", "),
});
