// Reads the smart tag @order, by which whoever evolves the schema says of a table what its rows are in
// the order of.
//
// `@order id follows block by schema.first_of, time by schema.first_from, idx`: rows in the order of
// `id` are in that of block and of time too, and rows of one block in that of idx. The function tells
// the first id that a row of this value or a later one can have.
import type { Introspection, PgClass } from "pg-introspection";
import { sql, type SQL } from "postgraphile/pg-sql2";

export interface RowOrder {
  /** They say the order, and make it unique. */
  columns: string[];
  /** Whose order it is as well. */
  follows: Followed[];
}

interface Followed {
  column: string;
  /** Of the first column of the order, the first value of rows from a value of this column on. */
  first?: SQL;
  /** Whether it is so of all rows, or else of those that tie in the columns of which it is. */
  isOfAll: boolean;
}

const TAG = /^(\w+(?:, *\w+)*)(?: follows (.+))?$/;
const FOLLOWED = /^(\w+)(?: by (\w+)\.(\w+))?$/;

/** What a function can be of: an integer or a moment, which have a next one. */
export const STEPPED = ["int4", "timestamptz"];

/** What the tag says, or undefined where it cannot be followed. */
export function rowOrderOf(
  table: PgClass,
  tag: string,
  introspection: Introspection,
): RowOrder | undefined {
  const [, order = "", follows] = TAG.exec(tag.trim()) ?? [];
  const columns = order.split(/, */);
  const primary = table.getIndexes().find((index) => index.indisprimary);
  const primaryKey = (primary?.getKeys() ?? []).map((key) => key?.attname ?? "");
  const isUnique = primaryKey.length > 0 && primaryKey.every((column) => columns.includes(column));
  const isNeverNull = columns.every((name) => table.getAttribute({ name })?.attnotnull === true);
  if (!isUnique || !isNeverNull) return undefined;

  const followed = (follows?.split(/, */) ?? []).map((text): Followed | undefined => {
    const [, column = "", schema, name] = FOLLOWED.exec(text) ?? [];
    const attribute = table.getAttribute({ name: column });
    if (attribute?.attnotnull !== true) return undefined;
    if (schema === undefined || name === undefined) {
      return { column, isOfAll: column === columns[0] };
    }
    const functions = introspection.getNamespace({ name: schema })?.getProcs({ name });
    const isStepped = STEPPED.includes(attribute.getType()?.typname ?? "");
    if (functions?.length !== 1 || !isStepped) return undefined;
    return { column, first: sql.identifier(schema, name), isOfAll: true };
  });
  const known = followed.filter((one) => one !== undefined);
  return known.length === followed.length ? { columns, follows: known } : undefined;
}
