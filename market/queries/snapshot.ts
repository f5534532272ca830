// Reads rows and the moment that they describe in one statement, so that both are of one snapshot.
import type { Database, Pool, PooledClient } from "../../db/connect.ts";
import { isUnreachable } from "../../db/failure.ts";
import { UnknownPair } from "../absent.ts";
import type { KeyedRow } from "../records.ts";

/** The name of a market in any case. */
export interface PairName {
  base: string;
  quote: string;
  /** What `base` and `quote` are: symbols, parts of BASE/QUOTE, or addresses. Default: symbols. */
  by?: "symbols" | "key" | "addresses";
}

export interface NamedInPath {
  base?: string | undefined;
  quote?: string | undefined;
}

/** The pair that a path names. Throws UnknownPair for a symbol that PostgreSQL does not take as a text, or none. */
export function pairNamed({ base, quote }: NamedInPath): PairName {
  if (!base || !quote || `${base}${quote}`.includes("\0")) throw new UnknownPair();
  return { base, quote };
}

/** No symbol is empty. */
export const NO_PAIR: PairName = { base: "", quote: "" };

/** Ends a transaction that has only read, and gives the connection back. It is given up where that fails. */
async function end(client: PooledClient, statement: "commit" | "rollback"): Promise<void> {
  const isEnded = await client.query(statement).then(
    () => true,
    () => false,
  );
  Object.assign(client, { pipeline: false });
  client.release(!isEnded);
}

/** Reads several statements of one snapshot. They are sent without waiting for the answer to `begin`. */
export async function inSnapshot<Found>(
  pool: Pool,
  read: (db: Database) => Promise<Found>,
): Promise<Found> {
  const client = await pool.connect();
  Object.assign(client, { pipeline: true });
  try {
    const [, found] = await Promise.all([
      client.query("begin transaction isolation level repeatable read read only"),
      read(client),
    ]);
    // All rows are here: the answer does not wait for the commit.
    void end(client, "commit");
    return found;
  } catch (error) {
    // A connection that still waits for an answer is given up; in a pipeline `pg` would wait for it.
    if (isUnreachable(error)) Object.assign(client, { pipeline: false }).release(true);
    else await end(client, "rollback");
    throw error;
  }
}

/** SQL for a time in ISO 8601 UTC with milliseconds, to which `MS` truncates. */
export const isoTime = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

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
    as_of.shown as "asOf",
    as_of.block as "asOfBlock"`;

/** `offset 0` has the moment formatted once, and not in each row, which takes a fifth of a page of trades. */
export const FROM_AS_OF = `
  from (
    select
      as_of.*,
      ${isoTime("as_of.time")} as shown
    from dex_private.as_of
    offset 0
  ) as as_of`;

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

// `dex_private.as_of` is left-joined with the rows, so a row with a null `key` means none. The key follows the moment.
export async function readSnapshot<Row extends KeyedRow>(
  db: Database,
  statement: Statement,
): Promise<Snapshot<Row>> {
  // As arrays, since taking the moment out of an object copies it, which takes longer than to make it.
  const { rows: found, fields } = await db.query<Found>({ ...statement, rowMode: "array" });
  const [first] = found;
  if (first === undefined) throw new Error("dex_private.as_of has no row");
  const names = fields.map(({ name }) => name);
  const rows: Row[] = [];
  for (const values of found) {
    if (values[KEY_AT] === null) continue;
    const row: Record<string, unknown> = {};
    for (let n = KEY_AT; n < names.length; n += 1) row[names[n] ?? ""] = values[n];
    rows.push(row as unknown as Row);
  }
  return { time: first[0], block: first[1], rows };
}

/** The columns of SELECT_MOMENT, the key, and those of a row. */
type Found = [time: string, block: number | null, key: string | null, ...unknown[]];
const KEY_AT = 2;

interface MarketView {
  name: string;
  /** SQL for the columns of a record. */
  columns: string;
  /** SQL for BASE/QUOTE. */
  key?: string;
  /** SQL for the condition of the list. */
  listed?: string;
}

/** A record, and the hash of all columns of its row. */
export type FoundRecord<Row extends KeyedRow> = Row & { hash: string };

/** The queries of a view with one row per market: of all of them, and of one pair. */
export function marketQueries<Row extends KeyedRow>({
  name,
  columns,
  key = "pair",
  listed = "true",
}: MarketView) {
  const selected = (others = ""): string => `
    ${SELECT_MOMENT},
      ${key} as key,${others}
      ${columns}
    ${FROM_AS_OF}
    left join ${name}`;
  const select = selected();
  const hashed = selected(`
      md5(${name}::text) as hash,`);
  return {
    /** In the order of BASE/QUOTE by code point. */
    findAll: (db: Database): Promise<Snapshot<Row>> =>
      readSnapshot(db, {
        name: `rest_${name}_list`,
        text: `${select} on ${listed} order by (${key}) collate "C"`,
      }),
    /** Those with these keys, or all, and the hash of all columns of each. */
    findSome: async (db: Database, keys?: readonly string[]): Promise<FoundRecord<Row>[]> => {
      const { rows } = await readSnapshot<FoundRecord<Row>>(db, {
        name: keys === undefined ? `live_${name}` : `live_${name}_some`,
        text: `${hashed} on ${keys === undefined ? "true" : `(${key}) = any ($1)`}`,
        values: keys === undefined ? [] : [keys],
      });
      return rows;
    },
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
      ${FROM_AS_OF}
      left join dex_pair as pair
        on ${pairIsNamed(pair)}
      left join lateral ${joined}`,
    values: [pair.base, pair.quote, ...values],
  });
