// The book of one market at the head, from dex_book.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import { UnknownPair } from "../absent.ts";
import { decimal, type KeyedRow } from "../records.ts";
import { figure, figures, readRowsOfPair, type PairName, type Snapshot } from "./snapshot.ts";

const level = z
  .object({
    price: decimal.describe("In quote per base."),
    vol: decimal.describe(
      "What is left of its offers, and what pools trade up to it, in base units.",
    ),
    quoteVol: decimal.describe("The same in quote units."),
    offers: z
      .int()
      .min(0)
      .describe("How many offers there are at this price; 0 where it is of a pool alone."),
  })
  .meta({ id: "BookLevel" });

export const bookRecord = z
  .object({
    bids: z.array(level).describe("What buys base, by price from the highest down."),
    asks: z.array(level).describe("What sells base, by price from the lowest up."),
  })
  .meta({ id: "Book" });

export type BookRecord = z.infer<typeof bookRecord>;

/** An empty book is one row whose act is null. */
type LevelRow = KeyedRow & z.infer<typeof level> & { act: "buy" | "sell" | null };

/** The best `depth` levels of each side, the best first. */
export const findBook = (
  db: Database,
  pair: PairName,
  { depth }: { depth: number },
): Promise<Snapshot<LevelRow>> =>
  readRowsOfPair(db, pair, {
    name: "rest_book",
    columns: `act, ${figures("price", "vol")}, ${figure("quote_vol", "quoteVol")}, offers`,
    joined: `
      dex_book(pair.base, pair.quote, $3) with ordinality as level on true
      order by level.ordinality`,
    values: [depth],
  });

/** The two sides. Throws UnknownPair where there is no pair. */
export function bookOf(rows: LevelRow[]): BookRecord {
  if (rows.length === 0) throw new UnknownPair();
  const side = (act: LevelRow["act"]): BookRecord["bids"] =>
    rows
      .filter((row) => row.act === act)
      .map(({ price, vol, quoteVol, offers }) => ({ price, vol, quoteVol, offers }));
  return { bids: side("buy"), asks: side("sell") };
}

/** With the digits of its columns. */
export type RawLevel = z.infer<typeof level> & { act: "buy" | "sell" };

export interface AskedBook extends PairName {
  depth: number;
}

/** The levels of each book as GraphQL has them: the bids, then the asks, the best first. */
export async function findLevels(db: Database, books: readonly AskedBook[]): Promise<RawLevel[][]> {
  const { rows } = await db.query<RawLevel & { book: number }>({
    name: "live_books",
    text: `
      select
        asked.number::integer - 1 as book,
        level.act,
        level.price::text as price,
        level.vol::text as vol,
        level.quote_vol::text as "quoteVol",
        level.offers
      from unnest($1::text[], $2::text[], $3::integer[])
        with ordinality as asked(base, quote, depth, number)
      cross join lateral dex_book(asked.base, asked.quote, asked.depth)
        with ordinality as level
      order by
        asked.number,
        level.ordinality`,
    values: [
      books.map(({ base }) => base),
      books.map(({ quote }) => quote),
      books.map(({ depth }) => depth),
    ],
  });
  const found: RawLevel[][] = books.map(() => []);
  for (const { book, ...level } of rows) found[book]?.push(level);
  return found;
}
