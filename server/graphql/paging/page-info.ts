// Makes hasPreviousPage and hasNextPage right in both directions. PostGraphile answers only the one
// that it pages towards; but the row of a given cursor lies behind the page.
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import {
  constant,
  lambda,
  list,
  type ConnectionStep,
  type FieldPlanResolver,
  type Step,
} from "postgraphile/grafast";

/** grafast's step of a PageInfo, whose one dependency is its connection; the class is not exported. */
interface PageInfoStep {
  get(fieldName: string): Step;
  getDepOptions(index: 0): { step: ConnectionStep<unknown, never, never, never> };
}

const asPageInfo = ($step: Step): PageInfoStep => $step as unknown as PageInfoStep;

const SIDES = {
  hasPreviousPage: { cursor: "getAfter", offset: true },
  hasNextPage: { cursor: "getBefore", offset: false },
} as const;

const isSide = (name: string | undefined): name is keyof typeof SIDES =>
  name !== undefined && name in SIDES;

/**
 * Whether there is a page on that side: a cursor leaves rows there, or an offset that has rows to skip.
 * grafast takes it that an offset always has.
 */
const hasPage = ([known, cursor, offset, skipped]: readonly [
  boolean,
  unknown,
  number | null | undefined,
  readonly unknown[] | null,
]): boolean => cursor != null || (offset ? (skipped?.length ?? 0) > 0 : known);

/** One row of those that an offset skips, if there is any. */
function skippedRows(
  $connection: ConnectionStep<unknown, never, never, never>,
  $offset: Step<number | null | undefined>,
): Step {
  const clone = $connection.cloneSubplanWithoutPagination.bind($connection) as () => unknown;
  // What the page has set already is cloned as well.
  const $rows = (clone() as PgSelectStep).setOffset(constant(0));
  return $rows.setFirst(lambda($offset, (offset) => Math.min(offset ?? 0, 1), true)).items();
}

const CURSORS = new Set(["startCursor", "endCursor"]);

/** Has the rows read: grafast does not, where a cursor is all that is asked of a page. */
function cursorPlan(fieldName: string, stock: FieldPlanResolver | undefined): FieldPlanResolver {
  return ($pageInfo, fieldArgs, info) => {
    asPageInfo($pageInfo).getDepOptions(0).step.nodes();
    return stock ? stock($pageInfo, fieldArgs, info) : asPageInfo($pageInfo).get(fieldName);
  };
}

export const PageInfoPlugin: GraphileConfig.Plugin = {
  name: "PageInfoPlugin",
  version: "1.0.0",
  description: "pageInfo is right in both directions.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, _build, { scope, Self }) {
        const { fieldName } = scope;
        if (Self.name !== "PageInfo") return field;
        if (CURSORS.has(fieldName)) return { ...field, plan: cursorPlan(fieldName, field.plan) };
        if (!isSide(fieldName)) return field;
        const side = SIDES[fieldName];
        const stock: FieldPlanResolver =
          field.plan ?? (($pageInfo) => asPageInfo($pageInfo).get(fieldName));
        const plan: FieldPlanResolver = ($pageInfo, fieldArgs, info) => {
          const $known = stock($pageInfo, fieldArgs, info) as Step<boolean>;
          const $connection = asPageInfo($pageInfo).getDepOptions(0).step;
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
