// One statement, so that its figures and the moment they describe are of one snapshot.
import type { Database } from "../../db/connect.ts";

/** SQL for a column's time in ISO 8601 UTC with milliseconds, truncated. */
export const isoTime = (column: string): string =>
  `to_char(date_trunc('milliseconds', ${column}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** SQL for the columns of the moment, with which the statements of `readSnapshot` begin. */
export const MOMENT = `${isoTime("as_of.time")} as "asOf",
    as_of.block is not null as "isHead"`;

/** What was found, and the moment it describes. */
export interface Snapshot<Row> {
  /** ISO 8601 UTC with milliseconds, truncated. */
  time: string;
  /** Whether the moment is a head; else it is the database's clock. */
  isHead: boolean;
  rows: Row[];
}

/** A statement prepared once per connection under its name. */
export interface Statement {
  name: string;
  text: string;
  values?: (string | number | null)[];
}

type ReadRow<Row> = Row & { asOf: string; isHead: boolean };

/**
 * Reads a statement in which `dex_private.as_of` is left-joined with what is sought: each row has
 * "asOf" and "isHead", and one with a null `key` says that nothing was found.
 */
export async function readSnapshot<Row extends { key: string }>(
  db: Database,
  statement: Statement,
): Promise<Snapshot<Row>> {
  const { rows } = await db.query<ReadRow<Row | { key: null }>>(statement);
  const [first] = rows;
  if (first === undefined) throw new Error("dex_private.as_of has no row");
  return {
    time: first.asOf,
    isHead: first.isHead,
    rows: rows.filter((row): row is ReadRow<Row> => row.key !== null).map(withoutMoment<Row>),
  };
}

function withoutMoment<Row>(read: ReadRow<Row>): Row {
  const { asOf: _asOf, isHead: _isHead, ...row } = read;
  return row as Row;
}
