// The registered pairs, from dex_pair.
import { z } from "zod";
import type { Database } from "../../db/connect.ts";
import type { KeyedRow } from "../records.ts";
import { marketQueries } from "./snapshot.ts";

const precision = z.string().regex(/^(0|[1-9]\d*)$/);

export const pairRecord = z
  .object({
    base: z.string().describe("The base token's symbol, in upper case."),
    quote: z.string().describe("The quote token's symbol, in upper case."),
    basePrecision: precision.describe(
      "How many fractional digits an amount of base can have: an integer in a string.",
    ),
    quotePrecision: precision.describe(
      "How many fractional digits an amount of quote can have: an integer in a string.",
    ),
    active: z.boolean().describe("Whether trading is enabled."),
  })
  .meta({ id: "Pair" });

type PairRow = KeyedRow & z.infer<typeof pairRecord>;

export const { findAll: findPairs, findOne: findPair } = marketQueries<PairRow>({
  name: "dex_pair",
  key: "base || '/' || quote",
  columns: `
    base,
    quote,
    base_precision::text as "basePrecision",
    quote_precision::text as "quotePrecision",
    dex_private.active_of(id, active) as active`,
});

/** A name as it was given, and its pair; nulls where none is registered. */
interface NamedPair {
  name: string;
  base: string | null;
  quote: string | null;
}

/** The pairs of these names BASE/QUOTE, in any case. */
export async function findNamedPairs(db: Database, names: readonly string[]): Promise<NamedPair[]> {
  const { rows } = await db.query<NamedPair>({
    name: "live_pairs",
    text: `
      select
        given.name,
        pair.base,
        pair.quote
      from unnest($1::text[]) as given (name)
      left join dex_pair as pair on pair.base || '/' || pair.quote = upper(given.name)
    `,
    values: [names],
  });
  return rows;
}
