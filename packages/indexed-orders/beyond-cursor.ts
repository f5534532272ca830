// Makes the condition that a row is at a cursor or beyond it, seen from the page. PostGraphile makes only its opposite.
import type { PgOrderSpec, PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";
import { sql, type SQL } from "postgraphile/pg-sql2";

export type ExpressionSpec = Extract<PgOrderSpec, { fragment: SQL }>;

/** An expression of an order, with the cursor's value of it. */
interface Compared {
  expression: SQL;
  value: SQL;
  isNullable: boolean;
  /** Whether greater values are beyond the cursor. */
  isUp: boolean;
  /** Whether null is beyond other values. */
  isNullBeyond: boolean;
}

/** The order of each statement that is being made. */
const orders = new WeakMap<PgSelectQueryBuilder, readonly ExpressionSpec[]>();

export const keepOrder = (builder: PgSelectQueryBuilder, order: readonly ExpressionSpec[]) =>
  orders.set(builder, order);

function compare(spec: ExpressionSpec, given: unknown, isAfter: boolean): Compared {
  const { fragment: expression, codec, nullable, nulls, direction } = spec;
  const isNullFirst = nulls ? nulls === "FIRST" : direction === "DESC";
  return {
    expression,
    value: sql`${sql.value(given as string)}::${codec.sqlType}`,
    isNullable: nullable === true,
    isUp: (direction === "DESC") === isAfter,
    isNullBeyond: isNullFirst === isAfter,
  };
}

/** One comparison of all expressions, which an index serves. */
function areBeyond(compared: readonly Compared[], isUp: boolean): SQL {
  const joined = (name: "expression" | "value"): SQL =>
    sql.join(
      compared.map((one) => one[name]),
      ", ",
    );
  const comparator = isUp ? sql`>=` : sql`<=`;
  return sql`(${joined("expression")}) ${comparator} (${joined("value")})`;
}

/** Whether the first is beyond, or ties while the others are beyond. */
function isEachBeyond([first, ...others]: readonly Compared[]): SQL {
  if (first === undefined) return sql.true;
  const { expression, value, isNullable, isUp, isNullBeyond } = first;
  const isBeyond = isUp ? sql`${expression} > ${value}` : sql`${expression} < ${value}`;
  const [nulls, values] = isNullBeyond ? [expression, value] : [value, expression];
  const byNull = isNullable ? sql` or (${nulls} is null and ${values} is not null)` : sql.blank;
  const ties = isNullable ? sql`is not distinct from` : sql`=`;
  return sql`(${isBeyond}${byNull} or (${expression} ${ties} ${value} and ${isEachBeyond(others)}))`;
}

/** For rows before the page, the cursor of `after`; for rows behind it, that of `before`. */
export function isAtOrBeyond(
  builder: PgSelectQueryBuilder,
  [, ...values]: readonly unknown[],
  isAfter: boolean,
): SQL {
  const order = orders.get(builder);
  // Rows without an order are numbered from 1, and the first is not behind any cursor.
  if (order === undefined || order.length === 0) return sql.true;
  const compared = order.map((spec, n) => compare(spec, values[n], isAfter));
  const isUp = compared[0]?.isUp === true;
  const isTuple = compared.every((one) => !one.isNullable && one.isUp === isUp);
  return isTuple ? areBeyond(compared, isUp) : isEachBeyond(compared);
}
