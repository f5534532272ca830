// The registered pairs, from dex_pair.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import type { PairName } from "../params.ts";
import type { KeyedRow } from "../records.ts";
import { MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

const precision = z.string().regex(/^(0|[1-9]\d*)$/);

/** A registered pair. */
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

export type PairRow = KeyedRow & z.infer<typeof pairRecord>;

const SELECT_PAIRS = `
  select
    ${MOMENT},
    pair.base || '/' || pair.quote as key,
    pair.base,
    pair.quote,
    pair.base_precision::text as "basePrecision",
    pair.quote_precision::text as "quotePrecision",
    pair.active
  from dex_private.as_of
  left join dex_pair as pair
`;

/** Every registered pair, in the order of BASE/QUOTE by code point. */
export async function findPairs(db: Database): Promise<Snapshot<PairRow>> {
  return readSnapshot(db, {
    name: "rest_pairs",
    text: `
      ${SELECT_PAIRS}
        on true
      order by (pair.base || '/' || pair.quote) collate "C"
    `,
  });
}

/** One pair, active or not; symbols in any case. */
export async function findPair(
  db: Database,
  { base, quote }: PairName,
): Promise<Snapshot<PairRow>> {
  return readSnapshot(db, {
    name: "rest_pair",
    text: `
      ${SELECT_PAIRS}
        on pair.base = upper($1)
        and pair.quote = upper($2)
    `,
    values: [base, quote],
  });
}
