// Reads rows and the moment that they describe in one statement, so that both are of one snapshot.
import type { Database } from "../../db/connect.ts";
import type { PairName } from "../params.ts";
import type { KeyedRow } from "../records.ts";

/** SQL for a time in ISO 8601 UTC with milliseconds, truncated. */
export const isoTime = (column: string): string =>
  `to_char(date_trunc('milliseconds', ${column}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** SQL for a decimal without trailing zeros; "0" where the figure does not exist. */
export const figure = (column: string, name = column): string =>
  `trim_scale(coalesce(${column}, 0))::text as "${name}"`;

/** SQL for several decimals under the names of their columns. */
export const figures = (...columns: string[]): string =>
  columns.map((column) => figure(column)).join(", ");

const SELECT_MOMENT = `
  select
    ${isoTime("as_of.time")} as "asOf",
    as_of.block is not null as "isHead"`;

export interface Snapshot<Row> {
  /** ISO 8601 UTC with milliseconds, truncated. */
  time: string;
  /** Whether the moment is a head; else it is the database's clock. */
  isHead: boolean;
  rows: Row[];
}

/** A statement prepared once per connection under its name. */
interface Statement {
  name: string;
  text: string;
  values?: (string | number | null)[];
}

// `dex_private.as_of` is left-joined with the rows, so a row with a null `key` means none.
async function readSnapshot<Row extends KeyedRow>(
  db: Database,
  statement: Statement,
): Promise<Snapshot<Row>> {
  const { rows } = await db.query<{ asOf: string; isHead: boolean; key: string | null }>(statement);
  const [first] = rows;
  if (first === undefined) throw new Error("dex_private.as_of has no row");
  const found = rows.map((read) => {
    const { asOf: _asOf, isHead: _isHead, ...row } = read;
    return row;
  });
  const isRow = (row: { key: string | null }): row is Row => row.key !== null;
  return { time: first.asOf, isHead: first.isHead, rows: found.filter(isRow) };
}

interface MarketView {
  name: string;
  /** SQL for the columns of a record. */
  columns: string;
  /** SQL for BASE/QUOTE. */
  key?: string;
  /** SQL for the condition of the list. */
  listed?: string;
}

/** The queries of a view with one row per market: of all of them, and of one pair. */
export function marketQueries<Row extends KeyedRow>({
  name,
  columns,
  key = "pair",
  listed = "true",
}: MarketView) {
  const select = `
    ${SELECT_MOMENT},
      ${key} as key,
      ${columns}
    from dex_private.as_of
    left join ${name}`;
  return {
    /** In the order of BASE/QUOTE by code point. */
    findAll: (db: Database): Promise<Snapshot<Row>> =>
      readSnapshot(db, {
        name: `rest_${name}_list`,
        text: `${select} on ${listed} order by (${key}) collate "C"`,
      }),
    /** Symbols in any case. */
    findOne: (db: Database, { base, quote }: PairName): Promise<Snapshot<Row>> =>
      readSnapshot(db, {
        name: `rest_${name}`,
        text: `${select} on base = upper($1) and quote = upper($2)`,
        values: [base, quote],
      }),
  };
}

interface RowsOfPair {
  name: string;
  /** SQL for the columns of a row. */
  columns: string;
  /** SQL of what is joined to `pair`, and its order. Its parameters begin with $3. */
  joined: string;
  values: (string | number | null)[];
}

/** Reads the rows of one pair, symbols in any case: one with null columns where the pair has none. */
export const readRowsOfPair = <Row extends KeyedRow>(
  db: Database,
  { base, quote }: PairName,
  { name, columns, joined, values }: RowsOfPair,
): Promise<Snapshot<Row>> =>
  readSnapshot(db, {
    name,
    text: `
      ${SELECT_MOMENT},
        pair.base || '/' || pair.quote as key,
        ${columns}
      from dex_private.as_of
      left join dex_pair as pair
        on pair.base = upper($1)
        and pair.quote = upper($2)
      left join lateral ${joined}`,
    values: [base, quote, ...values],
  });
