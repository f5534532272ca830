// Makes hasPreviousPage and hasNextPage correct in both directions. PostGraphile computes only the one
// in the paging direction (https://github.com/graphile/crystal/issues/2138). On the side of a given cursor, the row
// next to the page is read: the cursor's row may be out of the set.
import { TYPES, type PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";
import { constant, lambda, list, type FieldPlanResolver, type Step } from "postgraphile/grafast";
import { sql } from "postgraphile/pg-sql2";
import { isAtOrBeyond } from "./beyond-cursor.ts";
import {
  connectionOfPageInfo,
  fieldOfPageInfo,
  selectOf,
  unpagedRowsOf,
  type AnyConnection,
} from "./internals.ts";

type Rows = readonly unknown[];
type Cursor = readonly unknown[];
type Given<Value> = Step<Value | null | undefined>;

const NONE = (): Step<null> => constant(null);

const hasSkipped = ([known, offset, skipped]: readonly [
  boolean,
  number | null | undefined,
  Rows,
]): boolean => (offset ? skipped.length > 0 : known);

/** Rows without an order are numbered: those of a page have the row of its cursor before them. */
const isNumbered = ([known, cursor, { items }]: readonly [
  boolean,
  Cursor | null | undefined,
  { items: Rows },
]): boolean => known || (cursor?.[0] === "natural" && items.length > 0);

const hasPage = ([known, beyond]: readonly [boolean, Rows]): boolean => known || beyond.length > 0;

const oneIfSkips = (offset: number | null | undefined): number => Math.min(offset ?? 0, 1);

const oneIfGiven = (cursor: unknown): number => (cursor == null ? 0 : 1);

/** One row of those that an offset skips, if there is any. */
function skippedRows($connection: AnyConnection, $offset: Given<number>): Step<Rows> {
  // The clone has the bounds that the page has set already; beside a `last`, even an offset of 0 is refused.
  const $rows = unpagedRowsOf($connection).setOffset(NONE());
  return $rows.setFirst(lambda($offset, oneIfSkips, true)).items() as Step<Rows>;
}

/** The row at the cursor or the next one beyond it, seen from the page, if there is any. */
function rowsBeyond(
  $connection: AnyConnection,
  $cursor: Given<Cursor>,
  isAfter: boolean,
  $known: Step<boolean>,
): Step<Rows> {
  const $rows = unpagedRowsOf($connection).setOffset(NONE());
  $rows.setAfter(NONE());
  $rows.setBefore(NONE());
  const $limit = lambda($cursor, oneIfGiven, true);
  $rows.setFirst(isAfter ? NONE() : $limit);
  $rows.setLast(isAfter ? $limit : NONE());
  // It waits for the page, so that nothing is read where the page is an error.
  $rows.where(sql`not ${$rows.placeholder($known, TYPES.boolean)}`);
  $rows.apply(
    lambda(
      $cursor,
      (cursor) => (builder: PgSelectQueryBuilder) => {
        if (cursor != null) builder.where(isAtOrBeyond(builder, cursor, isAfter));
      },
      true,
    ),
  );
  return $rows.items() as Step<Rows>;
}

/** Whether the connection has rows before its page, or behind it, given what grafast knows of it. */
function planSide($connection: AnyConnection, isAfter: boolean, $stock: Step<boolean>) {
  const $cursor = isAfter ? $connection.getAfter() : $connection.getBefore();
  const $offset = isAfter ? $connection.getOffset() : null;
  // grafast assumes that an offset always skips rows.
  const $known =
    $offset === null
      ? $stock
      : lambda(list([$stock, $offset, skippedRows($connection, $offset)]), hasSkipped, true);
  if ($cursor === null) return $known;
  // A connection gives its cursors decoded.
  const $decoded = $cursor as unknown as Given<Cursor>;
  const $page = selectOf($connection) as Step<{ items: Rows }>;
  const $numbered = lambda(list([$known, $decoded, $page]), isNumbered, true);
  const $beyond = rowsBeyond($connection, $decoded, isAfter, $numbered);
  return lambda(list([$numbered, $beyond]), hasPage, true);
}

/** Of each connection, by the name of the field: aliases add nothing to the plan. */
const planned = new WeakMap<AnyConnection, Map<string, Step>>();

export const PageInfoPlugin: GraphileConfig.Plugin = {
  name: "PageInfoPlugin",
  description: "Makes pageInfo correct in both directions.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, _build, { scope: { fieldName }, Self }) {
        if (Self.name !== "PageInfo") return field;
        const stock: FieldPlanResolver =
          field.plan ?? (($pageInfo) => fieldOfPageInfo($pageInfo, fieldName));
        const plan: FieldPlanResolver = ($pageInfo, fieldArgs, info) => {
          const $connection = connectionOfPageInfo($pageInfo);
          if (fieldName === "startCursor" || fieldName === "endCursor") {
            // grafast does not read the rows if only a cursor is selected.
            $connection.nodes();
            return stock($pageInfo, fieldArgs, info);
          }
          const sides = planned.get($connection) ?? new Map<string, Step>();
          planned.set($connection, sides);
          const $side =
            sides.get(fieldName) ??
            $connection.withLayerPlan(() => {
              const $stock = stock($pageInfo, fieldArgs, info) as Step<boolean>;
              return planSide($connection, fieldName === "hasPreviousPage", $stock);
            });
          sides.set(fieldName, $side);
          return $side;
        };
        return { ...field, plan };
      },
    },
  },
};
