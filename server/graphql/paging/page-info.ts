// Makes hasPreviousPage and hasNextPage correct in both directions. PostGraphile computes only the one
// in the paging direction; for the other, a given cursor means that the cursor's row is outside the page.
import { constant, lambda, list, type FieldPlanResolver, type Step } from "postgraphile/grafast";
import { connectionOfPageInfo, fieldOfPageInfo } from "../grafast-internals.ts";

const SIDES = {
  hasPreviousPage: { cursor: "getAfter", offset: true },
  hasNextPage: { cursor: "getBefore", offset: false },
} as const;

const isSide = (name: string | undefined): name is keyof typeof SIDES =>
  name !== undefined && name in SIDES;

/** A cursor or an offset leaves rows outside the page on its side. */
const hasPage = ([known, cursor, offset]: readonly [
  boolean,
  unknown,
  number | null | undefined,
]): boolean => known || cursor != null || (offset ?? 0) > 0;

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
          const $offset = side.offset ? $connection.getOffset() : null;
          return lambda(
            list([$known, $connection[side.cursor]() ?? constant(null), $offset ?? constant(null)]),
            hasPage,
            true,
          );
        };
        return { ...field, plan };
      },
    },
  },
};
