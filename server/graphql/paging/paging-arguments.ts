// Checks a connection's arguments before the database is asked. PostGraphile answers some of them with a
// masked error, and others with other rows than were asked for.
import { PgSelectStep, type PgResource } from "postgraphile/@dataplan/pg";
import {
  lambda,
  object,
  SafeError,
  type ConnectionStep,
  type FieldArgs,
  type FieldInfo,
  type FieldPlanResolver,
  type Step,
} from "postgraphile/grafast";
import { orderNames, orderProblem } from "./served-orders.ts";

const COUNTED = ["first", "last", "offset"] as const;
const CHECKED = [...COUNTED, "before", "orderBy"] as const;

type Checked = Partial<Record<(typeof COUNTED)[number], number | null>> & {
  before?: string | null;
  orderBy?: string | readonly string[] | null;
};
type AnyConnection = ConnectionStep<unknown, never, never, never>;

/** What is wrong with these arguments, naming the argument and what is accepted; undefined when nothing is. */
function countProblem(args: Checked): string | undefined {
  for (const name of COUNTED) {
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

/** PostGraphile cannot reverse the order that a function's rows come in: it would give the first rows. */
function functionProblem(args: Checked): string | undefined {
  const name = (["last", "before"] as const).find((backwards) => args[backwards] != null);
  if (name === undefined) return undefined;
  return `Argument "${name}" is not served here: page forwards, with "first" and "after" or "offset".`;
}

function rawArguments(fieldArgs: FieldArgs, info: FieldInfo): Record<string, Step> {
  const declared = new Set(info.field.args.map(({ name }) => name));
  return Object.fromEntries(
    CHECKED.filter((name) => declared.has(name)).map((name) => [name, fieldArgs.getRaw(name)]),
  );
}

export const PagingArgumentsPlugin: GraphileConfig.Plugin = {
  name: "PagingArgumentsPlugin",
  version: "1.0.0",
  description: "Refuses paging arguments that make no sense, by name.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, { scope }) {
        const { plan } = field;
        if (scope.isPgFieldConnection !== true || plan === undefined) return field;
        const resource = scope.pgFieldResource as PgResource | undefined;
        const names = resource?.codec.attributes ? orderNames(build, resource) : undefined;

        const check = (args: Checked): Checked => {
          const asked = [args.orderBy ?? []].flat();
          const problem =
            countProblem(args) ??
            (resource?.parameters ? functionProblem(args) : undefined) ??
            (resource && names ? orderProblem(resource, names, asked) : undefined);
          if (problem !== undefined) throw new SafeError(problem, { code: "BAD_USER_INPUT" });
          return args;
        };

        const checkedPlan: FieldPlanResolver = ($parent, fieldArgs, info) => {
          const $checked = lambda(object(rawArguments(fieldArgs, info)), check, true);
          const $connection = plan($parent, fieldArgs, info) as AnyConnection;
          $connection.addValidation(() => $checked);
          // The rows wait for the check too, so that what is refused costs the database nothing.
          const $rows: unknown = $connection.getSubplan();
          if ($rows instanceof PgSelectStep) $rows.apply(lambda($checked, () => null, true));
          return $connection;
        };
        return { ...field, plan: checkedPlan };
      },
    },
  },
};
