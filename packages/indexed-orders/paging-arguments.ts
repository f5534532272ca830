// Checks a connection's arguments before its statement is sent. PostGraphile masks the errors of some
// invalid arguments, and returns too few rows for others.
import { getNamedType, isInputObjectType, type GraphQLNamedType } from "graphql";
import { PgSelectStep, type PgResource } from "postgraphile/@dataplan/pg";
import {
  lambda,
  object,
  SafeError,
  type FieldArg,
  type FieldArgs,
  type FieldInfo,
  type FieldPlanResolver,
  type Step,
} from "postgraphile/grafast";
import type { AnyConnection } from "./internals.ts";
import { cursorProblem, type RefusedCursor } from "./refused-cursors.ts";
import { orderNames, orderProblem } from "./served-orders.ts";
import { totalKey } from "./total-key.ts";

const COUNTS = ["first", "last", "offset"] as const;
const CHECKED = [...COUNTS, "after", "before", "orderBy", "filter"] as const;

type CheckedArguments = Partial<Record<(typeof COUNTS)[number], number | null>> & {
  after?: string | null;
  before?: string | null;
  orderBy?: string | readonly string[] | null;
  filter?: unknown;
};

type ApplyableStep = Parameters<FieldArg["apply"]>[0];
type FilterTarget = (parent: object, value: unknown) => object | undefined;

/** The error message for invalid counts; undefined if they are valid. */
function countProblem(args: CheckedArguments): string | undefined {
  for (const name of COUNTS) {
    const value = args[name];
    if (value != null && value < 0) {
      return `Argument "${name}" must be an integer from 0, not ${value}.`;
    }
  }
  if (args.first != null && args.last != null) {
    return 'Arguments "first" and "last" cannot be used together: give one of them.';
  }
  if (args.last != null && args.offset != null) {
    return 'Argument "offset" cannot be used together with "last": page back with "before".';
  }
  return undefined;
}

/**
 * PostGraphile cannot reverse the order that a function's rows come in: it would give the first rows (graphile-engine#713).
 * So it is with rows without a total key, and of another order of theirs a cursor would skip those that tie.
 */
function numberedProblem(args: CheckedArguments, isOrdered: boolean): string | undefined {
  const unserved = ["last", "before", ...(isOrdered ? (["after"] as const) : [])] as const;
  const name = unserved.find((one) => args[one] != null);
  if (name === undefined) return undefined;
  const how = isOrdered ? '"first" and "offset"' : '"first" and "after" or "offset"';
  return `Argument "${name}" is not served here: page forwards, with ${how}.`;
}

/** The name of an empty list of filters in a value of the type. The value of a scalar has no filters. */
function emptyListIn(value: unknown, type: GraphQLNamedType | undefined): string | undefined {
  if (Array.isArray(value)) {
    return value.map((one) => emptyListIn(one, type)).find((name) => name !== undefined);
  }
  if (!isInputObjectType(type) || value == null) return undefined;
  const fields = type.getFields();
  return Object.entries(value as Record<string, unknown>)
    .map(([name, inner]) => {
      const field = fields[name];
      const innerType = field && getNamedType(field.type);
      const isEmpty = Array.isArray(inner) && inner.length === 0 && innerType === type;
      return isEmpty ? name : emptyListIn(inner, innerType);
    })
    .find((name) => name !== undefined);
}

/** The filter plugin takes an empty list of conditions for every row. */
function filterProblem(filter: unknown, type: GraphQLNamedType | undefined): string | undefined {
  const name = emptyListIn(filter, type);
  if (name === undefined) return undefined;
  return `An empty list in "${name}" of "filter" says nothing: leave it out, or give it a condition.`;
}

/** The filter plugin refuses a null in place of the whole argument as it does one within it. */
function withoutNull(filter: FieldArg): FieldArg {
  const apply = ($target: ApplyableStep, targetOf: FilterTarget): void =>
    filter.apply($target, (parent: object, value: unknown) =>
      value === null ? undefined : targetOf(parent, value),
    );
  return { ...filter, apply: apply as FieldArg["apply"] };
}

function rawArguments(fieldArgs: FieldArgs, info: FieldInfo): Record<string, Step> {
  const declared = new Set(info.field.args.map(({ name }) => name));
  return Object.fromEntries(
    CHECKED.filter((name) => declared.has(name)).map((name) => [name, fieldArgs.getRaw(name)]),
  );
}

export const makePagingArgumentsPlugin = (
  refusedCursor?: RefusedCursor,
): GraphileConfig.Plugin => ({
  name: "PagingArgumentsPlugin",
  description: "Rejects invalid paging arguments, and names the argument.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, { scope }) {
        const { plan } = field;
        if (scope.isPgFieldConnection !== true || plan === undefined) return field;
        const resource = scope.pgFieldResource as PgResource | undefined;
        const names = resource?.codec.attributes ? orderNames(build, resource) : undefined;
        const isNumbered =
          resource !== undefined &&
          (resource.parameters !== undefined || totalKey(resource) === undefined);

        const check = (args: CheckedArguments, filterType: GraphQLNamedType | undefined): null => {
          const orderBy = [args.orderBy ?? []].flat();
          const problem =
            countProblem(args) ??
            (isNumbered
              ? numberedProblem(
                  args,
                  orderBy.some((name) => name !== "NATURAL"),
                )
              : undefined) ??
            (resource && names
              ? (orderProblem(resource, names, orderBy) ??
                (args.after == null && args.before == null
                  ? undefined
                  : cursorProblem(build, resource, names, orderBy, args, refusedCursor)))
              : undefined) ??
            filterProblem(args.filter, filterType);
          if (problem !== undefined) throw new SafeError(problem, { code: "BAD_USER_INPUT" });
          return null;
        };

        const checkedPlan: FieldPlanResolver = ($parent, fieldArgs, info) => {
          const filter = info.field.args.find(({ name }) => name === "filter");
          const filterType = filter && getNamedType(filter.type);
          const $checked = lambda(
            object(rawArguments(fieldArgs, info)),
            (args: CheckedArguments) => check(args, filterType),
            true,
          );
          const $connection = plan($parent, fieldArgs, info) as AnyConnection;
          $connection.addValidation(() => $checked);
          // The rows depend on the check, so that invalid arguments send no statement.
          const $rows: unknown = $connection.getSubplan();
          if ($rows instanceof PgSelectStep) $rows.apply($checked);
          return $connection;
        };
        return { ...field, plan: checkedPlan };
      },

      GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
        const { applyPlan } = arg;
        if (scope.argName !== "filter" || applyPlan === undefined) return arg;
        return {
          ...arg,
          applyPlan: ($parent, $field, filter, info) =>
            applyPlan($parent, $field, withoutNull(filter), info),
        };
      },
    },
  },
});
