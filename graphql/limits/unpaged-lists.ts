// Returns a list without `first` and `last` whole, or not at all: the statement reads one row more than the
// list may have, and if that row exists, the list is an error.
import { lambda, list, SafeError, type FieldPlanResolver, type Step } from "postgraphile/grafast";
import { fromContext, selectOf, type AnyConnection } from "../grafast-internals.ts";
import type { Assessment } from "./operation-limits.ts";
import type { GraphqlLimits } from "./limits.ts";

type Given = number | null | undefined;

/** A page of rows after it is read. */
interface Rows {
  items: readonly unknown[];
  hasNextPage: boolean;
}

export function makeWholeListsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  const checkLength =
    (fieldName: string) =>
    ([rows, bound]: readonly [Rows | null, number | null]): null => {
      if (rows === null || bound === null) return null;
      if (rows.items.length <= bound && !rows.hasNextPage) return null;
      const fewer =
        bound < limits.rows
          ? ` (${limits.rows} where the query asks for one list alone, and little of each row)`
          : "";
      throw new SafeError(
        `"${fieldName}" has more than ${bound} rows, which is the most that a list without "first" and "last" may have${fewer}: ask for pages by "first", up to ${limits.page}, and page on with "after": endCursor.`,
        { code: "LIST_TOO_LONG" },
      );
    };

  return {
    name: "WholeListsPlugin",
    description: "A list without first and last comes whole, or is an error that says how to page.",

    schema: {
      hooks: {
        GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
          // The plan below sets both.
          const isSetBelow = scope.argName === "first" || scope.argName === "last";
          if (scope.isPgFieldConnection !== true || !isSetBelow) return arg;
          const { applyPlan: _stock, ...withoutPlan } = arg;
          return withoutPlan;
        },

        GraphQLObjectType_fields_field(field, _build, { scope }) {
          const { plan } = field;
          if (scope.isPgFieldConnection !== true || plan === undefined) return field;
          const boundedPlan: FieldPlanResolver = ($parent, fieldArgs, info) => {
            const $connection = plan($parent, fieldArgs, info) as AnyConnection;
            // The connection's own setFirst and setLast would read the rows even for a count alone.
            const $rows = selectOf($connection);
            const $first = fieldArgs.getRaw("first") as Step<Given>;
            const $last = fieldArgs.getRaw("last") as Step<Given>;
            const $bound = lambda(
              list([$first, $last, fromContext<Assessment>("assessment")]),
              ([first, last, { listBound }]) => (first == null && last == null ? listBound : null),
              true,
            );
            $rows.setLast($last);
            $rows.setFirst(
              lambda(
                list([$first, $bound]),
                ([first, bound]) => (bound === null ? (first ?? null) : bound + 1),
                true,
              ),
            );
            $connection.addValidation(() =>
              lambda(list([$rows, $bound]) as never, checkLength(info.fieldName), true),
            );
            return $connection;
          };
          return { ...field, plan: boundedPlan };
        },
      },
    },
  };
}
