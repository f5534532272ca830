// Reads rows and the moment that they describe in one statement, so that both are of one snapshot.
import type { Database, Pool } from "../../db/connect.ts";
import type { PairName } from "../params.ts";
import type { KeyedRow } from "../records.ts";

/** Reads several statements of one snapshot. */
export async function inSnapshot<Found>(
  pool: Pool,
  read: (db: Database) => Promise<Found>,
): Promise<Found> {
  const client = await pool.connect();
  let isLost = true;
  try {
    await client.query("begin transaction isolation level repeatable read read only");
    const found = await read(client);
    await client.query("commit");
    isLost = false;
    return found;
  } finally {
    // A connection with an open transaction must not go back to the pool.
    client.release(isLost);
  }
}

/** SQL for a time in ISO 8601 UTC with milliseconds, truncated. */
export const isoTime = (column: string): string =>
  `to_char(date_trunc('milliseconds', ${column}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** SQL for a decimal without trailing zeros; "0" where the figure does not exist. */
export const figure = (column: string, name = column): string =>
  `trim_scale(coalesce(${column}, 0))::text as "${name}"`;

/** SQL for a decimal without trailing zeros; null where the figure does not exist. */
export const figureOrNull = (column: string, name = column): string =>
  `trim_scale(${column})::text as "${name}"`;

/** SQL for several decimals under the names of their columns. */
export const figures = (...columns: string[]): string =>
  columns.map((column) => figure(column)).join(", ");

export const SELECT_MOMENT = `
  select
    ${isoTime("as_of.time")} as "asOf",
    as_of.block as "asOfBlock"`;

/** What the rows of a snapshot describe. */
export interface Moment {
  /** ISO 8601 UTC with milliseconds, truncated. */
  time: string;
  /** The head; null if the moment is the database's clock. */
  block: number | null;
}

export interface Snapshot<Row> extends Moment {
  rows: Row[];
}

/** A statement prepared once per connection under its name. */
interface Statement {
  name: string;
  text: string;
  values?: (string | number | null | readonly string[])[];
}

// `dex_private.as_of` is left-joined with the rows, so a row with a null `key` means none.
export async function readSnapshot<Row extends KeyedRow>(
  db: Database,
  statement: Statement,
): Promise<Snapshot<Row>> {
  const { rows } = await db.query<{ asOf: string; asOfBlock: number | null; key: string | null }>(
    statement,
  );
  const [first] = rows;
  if (first === undefined) throw new Error("dex_private.as_of has no row");
  const found = rows.map((read) => {
    const { asOf: _asOf, asOfBlock: _block, ...row } = read;
    return row;
  });
  const isRow = (row: { key: string | null }): row is Row => row.key !== null;
  return { time: first.asOf, block: first.asOfBlock, rows: found.filter(isRow) };
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
    /** Those with these keys. */
    findSome: (db: Database, keys: readonly string[]): Promise<Snapshot<Row>> =>
      readSnapshot(db, {
        name: `rest_${name}_some`,
        text: `${select} on (${key}) = any ($1)`,
        values: [keys],
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

/** SQL for the condition that `pair` has the name in $1 and $2. */
const NAMED = {
  symbols: "pair.base = upper($1) and pair.quote = upper($2)",
  // Wherever the name is split, it is the same again.
  key: "pair.base || '/' || pair.quote = upper($1::text || '/' || $2::text)",
  addresses: `
    pair.base_gem = (select token.address from dex_token as token where lower(token.address) = lower($1))
    and pair.quote_gem = (select token.address from dex_token as token where lower(token.address) = lower($2))`,
};

export const pairIsNamed = ({ by = "symbols" }: PairName): string => NAMED[by];

/** The name of a statement, which depends on how the pair is named. */
export const statementFor = (name: string, { by = "symbols" }: PairName): string =>
  by === "symbols" ? name : `${name}_by_${by}`;

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
  pair: PairName,
  { name, columns, joined, values }: RowsOfPair,
): Promise<Snapshot<Row>> =>
  readSnapshot(db, {
    name: statementFor(name, pair),
    text: `
      ${SELECT_MOMENT},
        pair.base || '/' || pair.quote as key,
        ${columns}
      from dex_private.as_of
      left join dex_pair as pair
        on ${pairIsNamed(pair)}
      left join lateral ${joined}`,
    values: [pair.base, pair.quote, ...values],
  });
