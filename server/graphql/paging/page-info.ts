// Makes hasPreviousPage and hasNextPage correct in both directions. PostGraphile computes only the one
// in the paging direction; for the other, a given cursor means that the cursor's row is outside the page.
import { constant, lambda, list, type FieldPlanResolver, type Step } from "postgraphile/grafast";
import {
  connectionOfPageInfo,
  fieldOfPageInfo,
  unpagedRowsOf,
  type AnyConnection,
} from "../grafast-internals.ts";

const SIDES = {
  hasPreviousPage: { cursor: "getAfter", offset: true },
  hasNextPage: { cursor: "getBefore", offset: false },
} as const;

const isSide = (name: string | undefined): name is keyof typeof SIDES =>
  name !== undefined && name in SIDES;

/**
 * A cursor leaves rows outside the page on its side, and so does an offset that skips rows. grafast assumes
 * that an offset always skips rows.
 */
const hasPage = ([known, cursor, offset, skipped]: readonly [
  boolean,
  unknown,
  number | null | undefined,
  readonly unknown[] | null,
]): boolean => cursor != null || (offset ? (skipped?.length ?? 0) > 0 : known);

/** One row of those that an offset skips, if there is any. */
function skippedRows($connection: AnyConnection, $offset: Step<number | null | undefined>): Step {
  // The clone has the bounds that the page has set already.
  const $rows = unpagedRowsOf($connection).setOffset(constant(0));
  return $rows.setFirst(lambda($offset, (offset) => Math.min(offset ?? 0, 1), true)).items();
}

const CURSORS = new Set(["startCursor", "endCursor"]);

/** Reads the rows: grafast does not read them if only a cursor is selected. */
function cursorPlan(fieldName: string, stock: FieldPlanResolver | undefined): FieldPlanResolver {
  return ($pageInfo, fieldArgs, info) => {
    connectionOfPageInfo($pageInfo).nodes();
    return stock ? stock($pageInfo, fieldArgs, info) : fieldOfPageInfo($pageInfo, fieldName);
  };
}

export const PageInfoPlugin: GraphileConfig.Plugin = {
  name: "PageInfoPlugin",
  version: "1.0.0",
  description: "Makes pageInfo correct in both directions.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, _build, { scope, Self }) {
        const { fieldName } = scope;
        if (Self.name !== "PageInfo") return field;
        if (CURSORS.has(fieldName)) return { ...field, plan: cursorPlan(fieldName, field.plan) };
        if (!isSide(fieldName)) return field;
        const side = SIDES[fieldName];
        const stock: FieldPlanResolver =
          field.plan ?? (($pageInfo) => fieldOfPageInfo($pageInfo, fieldName));
        const plan: FieldPlanResolver = ($pageInfo, fieldArgs, info) => {
          const $known = stock($pageInfo, fieldArgs, info) as Step<boolean>;
          const $connection = connectionOfPageInfo($pageInfo);
          const $cursor = $connection[side.cursor]() ?? constant(null);
          const $offset = side.offset ? $connection.getOffset() : null;
          const $skipped = $offset === null ? constant(null) : skippedRows($connection, $offset);
          return lambda(
            list([$known, $cursor, $offset ?? constant(null), $skipped]),
            hasPage,
            true,
          );
        };
        return { ...field, plan };
      },
    },
  },
};
