// The registered pairs, from dex_pair.
import type { Database } from "../../db/connect.ts";
import type { PairName } from "../params.ts";
import { MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

/** Precisions are integers in a string. */
export interface PairRow {
  key: string;
  base: string;
  quote: string;
  basePrecision: string;
  quotePrecision: string;
  active: boolean;
}

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
