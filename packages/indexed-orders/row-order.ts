// Reads the smart tag @order, which declares the columns that a table's rows are ordered by.
//
// `@order id follows block by schema.first_of, time by schema.first_from, idx`: rows sorted by `id` are
// also sorted by block and by time, and rows of one block by idx. `schema.first_of(block)` returns the
// smallest id that a row of this block or a later one can have.
import type { Introspection, PgClass } from "postgraphile/graphile-build-pg/pg-introspection";
import { sql, type SQL } from "postgraphile/pg-sql2";

export interface RowOrder {
  /** They define the order and make it unique. */
  columns: string[];
  /** The columns that are sorted too. */
  follows: Followed[];
}

interface Followed {
  column: string;
  /** Function: the smallest value of the order's first column for rows from a value of this column on. */
  first?: SQL;
  /** Whether all rows are sorted by this column, or only rows that tie in the other followed columns. */
  isGlobal: boolean;
}

const TAG = /^(\w+(?:, *\w+)*)(?: follows (.+))?$/;
const FOLLOWED = /^(\w+)(?: by (\w+)\.(\w+))?$/;

/** Types with a next value, so that an exclusive bound can become an inclusive one. */
const STEPPED = ["int4", "timestamptz"];

export const primaryKeyOf = (table: PgClass): string[] => {
  const primary = table.getIndexes().find((index) => index.indisprimary);
  return (primary?.getKeys() ?? []).map((key) => key?.attname ?? "");
};

/** Parses the tag; undefined if it is invalid. */
export function rowOrderOf(
  table: PgClass,
  tag: string,
  introspection: Introspection,
): RowOrder | undefined {
  const [, order = "", follows] = TAG.exec(tag.trim()) ?? [];
  const columns = order.split(/, */);
  const primaryKey = primaryKeyOf(table);
  const isUnique = primaryKey.length > 0 && primaryKey.every((column) => columns.includes(column));
  const isNeverNull = columns.every((name) => table.getAttribute({ name })?.attnotnull === true);
  if (!isUnique || !isNeverNull) return undefined;

  const followed = (follows?.split(/, */) ?? []).map((text): Followed | undefined => {
    const [, column = "", schema, name] = FOLLOWED.exec(text) ?? [];
    const attribute = table.getAttribute({ name: column });
    if (attribute?.attnotnull !== true) return undefined;
    if (schema === undefined || name === undefined) {
      return { column, isGlobal: column === columns[0] };
    }
    const functions = introspection.getNamespace({ name: schema })?.getProcs({ name });
    const isStepped = STEPPED.includes(attribute.getType()?.typname ?? "");
    if (functions?.length !== 1 || !isStepped) return undefined;
    return { column, first: sql.identifier(schema, name), isGlobal: true };
  });
  const valid = followed.filter((one) => one !== undefined);
  return valid.length === followed.length ? { columns, follows: valid } : undefined;
}
