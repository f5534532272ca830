// Makes a cursor of an operation with @asOf carry its block, and refuses it under another one: its pages would be of both.
// Other cursors stay as they are, and are taken as of any block.
import { getNamedType } from "graphql";
import {
  lambda,
  list,
  SafeError,
  type FieldArg,
  type FieldArgs,
  type FieldPlanResolver,
  type GrafastArgumentConfig,
  type Step,
} from "postgraphile/grafast";
import type { PastBlock } from "../../market/queries/as-of.ts";
import { fromContext, propertyOf } from "../grafast-internals.ts";
import { isPlannedAsOf } from "./past-rows.ts";

declare global {
  namespace Grafast {
    interface Context {
      /** The block of an operation with @asOf. */
      asOf?: PastBlock;
    }
  }
}

type Cursor = string | null | undefined;

const MARK = /^as of block (0|[1-9]\d{0,9}) ([0-9a-f]{8})$/;
const LARGEST_BLOCK = 2 ** 31 - 1;

const markOf = ({ number, mark }: PastBlock): string => `as of block ${number} ${mark}`;

const encode = (cursor: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(cursor)).toString("base64");

const decode = (cursor: string): unknown[] =>
  JSON.parse(Buffer.from(cursor, "base64").toString()) as unknown[];

/** The block that a cursor carries, and what stands for it; none where @asOf would not take the block. */
function blockOf([marked]: readonly unknown[]): readonly (string | undefined)[] {
  const [, block, mark] = (typeof marked === "string" ? MARK.exec(marked) : undefined) ?? [];
  return Number(block) <= LARGEST_BLOCK ? [block, mark] : [];
}

const marked = ([cursor, asOf]: readonly [Cursor, PastBlock]): Cursor =>
  cursor == null ? cursor : encode([markOf(asOf), ...decode(cursor)]);

/** Why an operation of the head refuses a cursor. */
export function refusedAtHead(cursor: readonly unknown[]): string | undefined {
  const [block] = blockOf(cursor);
  return block === undefined
    ? undefined
    : `is a cursor as of block ${block}: page on with @asOf(block: ${block}).`;
}

function whyNot(block: number, { number, asked }: PastBlock): string {
  if (block === number)
    return `block ${block} as it was before a reorganisation: begin with the first page.`;
  return "block" in asked && asked.block === block
    ? `block ${block}, which is no longer there: begin with the first page.`
    : `block ${block}, and the operation is as of block ${number}: page on with @asOf(block: ${block}).`;
}

const unmarkedIn =
  (argument: string) =>
  ([cursor, asOf]: readonly [Cursor, PastBlock]): Cursor => {
    if (cursor == null) return cursor;
    const [carried, ...unmarked] = decode(cursor);
    const [block, mark] = blockOf([carried]);
    if (block === undefined) return cursor;
    if (Number(block) === asOf.number && mark === asOf.mark) return encode(unmarked);
    throw new SafeError(`Argument "${argument}" is a cursor as of ${whyNot(Number(block), asOf)}`, {
      code: "BAD_USER_INPUT",
    });
  };

const asOfStep = (): Step<PastBlock> => fromContext<PastBlock>("asOf");

const withMark = ($cursor: Step<Cursor>): Step<Cursor> =>
  lambda(list([$cursor, asOfStep()]), marked as never, true);

const withoutMark = (argument: string, $cursor: Step): Step =>
  lambda(list([$cursor, asOfStep()]), unmarkedIn(argument) as never, true);

const CURSORS = new Set(["after", "before"]);

/** The arguments of a field, with its cursors unmarked. */
const unmarkedArguments = (fieldArgs: FieldArgs): FieldArgs =>
  Object.create(fieldArgs, {
    getRaw: {
      value: (path: string) => {
        const $raw: Step = fieldArgs.getRaw(path);
        return CURSORS.has(path) ? withoutMark(path, $raw) : $raw;
      },
    },
  }) as FieldArgs;

type ApplyPlan = NonNullable<GrafastArgumentConfig["applyPlan"]>;

/** Comes after the plugins that read cursors. */
export const AsOfCursorsPlugin: GraphileConfig.Plugin = {
  name: "AsOfCursorsPlugin",
  description: "Has cursors of an operation with @asOf carry its block.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, { scope }) {
        const { plan } = field;
        const { fieldName } = scope;
        if (getNamedType(field.type).name === build.inflection.builtin("Cursor")) {
          const marking: FieldPlanResolver = ($parent, fieldArgs, info) => {
            const $cursor = (plan?.($parent, fieldArgs, info) ??
              propertyOf($parent, fieldName)) as Step<Cursor>;
            return isPlannedAsOf() ? withMark($cursor) : $cursor;
          };
          return { ...field, plan: marking };
        }
        if (scope.isPgFieldConnection !== true || plan === undefined) return field;
        const unmarking: FieldPlanResolver = ($parent, fieldArgs, info) =>
          plan($parent, isPlannedAsOf() ? unmarkedArguments(fieldArgs) : fieldArgs, info) as Step;
        return { ...field, plan: unmarking };
      },

      GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
        const { applyPlan } = arg;
        const { argName } = scope;
        if (!CURSORS.has(argName) || applyPlan === undefined) return arg;
        const unmarking: ApplyPlan = ($parent, $field, value, info) => {
          const unmarked = {
            ...value,
            getRaw: () => withoutMark(argName, value.getRaw()),
          } as FieldArg;
          applyPlan($parent, $field, isPlannedAsOf() ? unmarked : value, info);
        };
        return { ...arg, applyPlan: unmarking };
      },
    },
  },
};
