// Makes hasPreviousPage and hasNextPage correct in both directions. PostGraphile computes only the one
// in the paging direction (https://github.com/graphile/crystal/issues/2138); for the other, a given cursor means that
// the cursor's row is outside the page.
import { constant, lambda, list, type FieldPlanResolver, type Step } from "postgraphile/grafast";
import {
  connectionOfPageInfo,
  fieldOfPageInfo,
  unpagedRowsOf,
  type AnyConnection,
} from "./internals.ts";

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
  // The clone has the bounds that the page has set already; beside a `last`, even an offset of 0 is refused.
  const $rows = unpagedRowsOf($connection).setOffset(constant(null));
  return $rows.setFirst(lambda($offset, (offset) => Math.min(offset ?? 0, 1), true)).items();
}

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
          const $stock = stock($pageInfo, fieldArgs, info) as Step<boolean>;
          const $connection = connectionOfPageInfo($pageInfo);
          if (fieldName === "startCursor" || fieldName === "endCursor") {
            // grafast does not read the rows if only a cursor is selected.
            $connection.nodes();
            return $stock;
          }
          const isPrevious = fieldName === "hasPreviousPage";
          const $cursor = isPrevious ? $connection.getAfter() : $connection.getBefore();
          const $offset = isPrevious ? $connection.getOffset() : null;
          const $skipped = $offset === null ? constant(null) : skippedRows($connection, $offset);
          return lambda(
            list([$stock, $cursor ?? constant(null), $offset ?? constant(null), $skipped]),
            hasPage,
            true,
          );
        };
        return { ...field, plan };
      },
    },
  },
};
