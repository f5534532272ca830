// The book of one market at the head, from dex_book.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import { UnknownPair } from "../../server/http/errors.ts";
import type { PairName } from "../params.ts";
import { decimal, type KeyedRow } from "../records.ts";
import { MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

const level = z
  .object({
    price: decimal.describe("In quote per base."),
    vol: decimal.describe("What is left of its offers, in base units."),
    quoteVol: decimal.describe("What is left of its offers, in quote units."),
    offers: z.int().min(1).describe("How many offers there are at this price."),
  })
  .meta({ id: "BookLevel" });

/** The book of a market. */
export const bookRecord = z
  .object({
    bids: z.array(level).describe("The offers that buy base, by price from the highest down."),
    asks: z.array(level).describe("The offers that sell base, by price from the lowest up."),
  })
  .meta({ id: "Book" });

type BookRecord = z.infer<typeof bookRecord>;

/** A level of one side; where the book is empty, one row whose act is null. */
export type LevelRow = KeyedRow & z.infer<typeof level> & { act: "buy" | "sell" | null };

/** The best `depth` levels of each side, the best first; symbols in any case. */
export async function findBook(
  db: Database,
  { base, quote }: PairName,
  { depth }: { depth: number },
): Promise<Snapshot<LevelRow>> {
  return readSnapshot(db, {
    name: "rest_book",
    text: `
      select
        ${MOMENT},
        pair.base || '/' || pair.quote as key,
        level.act,
        trim_scale(level.price)::text as price,
        trim_scale(level.vol)::text as vol,
        trim_scale(level.quote_vol)::text as "quoteVol",
        level.offers
      from dex_private.as_of
      left join dex_pair as pair
        on pair.base = upper($1)
        and pair.quote = upper($2)
      left join lateral dex_book(pair.base, pair.quote, $3) with ordinality as level
        on true
      order by level.ordinality
    `,
    values: [base, quote, depth],
  });
}

/** The two sides. Throws UnknownPair where there is no pair. */
export function bookOf(rows: LevelRow[]): BookRecord {
  if (rows.length === 0) throw new UnknownPair();
  const side = (act: LevelRow["act"]): BookRecord["bids"] =>
    rows
      .filter((row) => row.act === act)
      .map(({ price, vol, quoteVol, offers }) => ({ price, vol, quoteVol, offers }));
  return { bids: side("buy"), asks: side("sell") };
}
