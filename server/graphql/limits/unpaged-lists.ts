// A list that is asked for without `first` and `last` comes whole, or not at all: PostgreSQL is asked
// for one row more than it may have, and where that comes, the list is an error.
import {
  ConstantStep,
  context,
  lambda,
  list,
  SafeError,
  type FieldPlanResolver,
  type Step,
} from "postgraphile/grafast";
import { selectOf, type AnyConnection } from "../grafast-internals.ts";
import type { GraphqlLimits } from "./limits.ts";

type Given = number | null | undefined;

/** What is known of a page of rows, once they are read. */
interface Rows {
  items: readonly unknown[];
  hasNextPage: boolean;
}

/** Whether the query itself gives a number here, not by a variable that may be null. */
const isWritten = ($given: Step<Given> | undefined): boolean =>
  $given instanceof ConstantStep && $given.data != null;

/** Whether the query says nothing here. */
const isAbsent = ($given: Step<Given> | undefined): boolean =>
  $given === undefined || ($given instanceof ConstantStep && $given.data === undefined);

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
    version: "1.0.0",
    description: "A list without first and last comes whole, or is an error that says how to page.",

    schema: {
      hooks: {
        GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
          // The plan below sets them, the first also where it is not given.
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
            // By the connection's own setFirst and setLast they would be read where a count alone is
            // asked for.
            const $rows = selectOf($connection);
            const $first = fieldArgs.getRaw("first") as Step<Given>;
            const $last = fieldArgs.getRaw("last") as Step<Given>;
            if (!isAbsent($last)) $rows.setLast($last);
            if (isWritten($first)) $rows.setFirst($first);
            if (isWritten($first) || isWritten($last)) return $connection;

            const $bound = lambda(
              list([$first, $last, context().get("listBound")]),
              ([first, last, listBound]) =>
                first == null && last == null ? (listBound ?? limits.rows) : null,
              true,
            );
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
