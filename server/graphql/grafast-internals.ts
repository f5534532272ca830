// The only file that reaches into what grafast and @dataplan/pg do not publish. Each function has a contract
// test, which fails where a new version no longer has what the function needs.
import type { GraphQLSchema } from "graphql";
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import { context, type ConnectionStep, type Step } from "postgraphile/grafast";
import type { SQL } from "postgraphile/pg-sql2";

/** A connection, whatever its rows are. */
export type AnyConnection = ConnectionStep<unknown, never, never, never>;

/** A step that is known to be a connection, by the field that it is the parent of. */
export const asConnection = ($step: Step): AnyConnection => $step as unknown as AnyConnection;

/** The step that reads a connection's rows. grafast's type knows it as any step. */
export const selectOf = ($connection: AnyConnection): PgSelectStep =>
  $connection.getSubplan() as unknown as PgSelectStep;

/** A step that aggregates the rows of a connection, all pages of them. */
export function aggregateOf($connection: AnyConnection): PgSelectStep {
  const clone = $connection.cloneSubplanWithoutPagination.bind($connection) as (
    mode: "aggregate",
  ) => unknown;
  return clone("aggregate") as PgSelectStep;
}

/** A PgSelectStep as steps see it that read its rows; its type leaves these members out. */
interface SelectsWhilePlanning {
  alias: SQL;
  selectAndReturnIndex: (fragment: SQL) => number;
}

/** Selects one value more of each row, and returns its position in the row. For a step's `optimize`. */
export function selectValue($select: Step, valueOf: (alias: SQL) => SQL): number {
  const select = $select as unknown as SelectsWhilePlanning;
  return select.selectAndReturnIndex(valueOf(select.alias));
}

/** grafast's step of a PageInfo, whose class is not exported. */
interface PageInfoStep {
  get(fieldName: string): Step;
  getDepOptions(index: 0): { step: AnyConnection };
}

const asPageInfo = ($step: Step): PageInfoStep => $step as unknown as PageInfoStep;

/** The connection of a PageInfo: its only dependency. */
export const connectionOfPageInfo = ($pageInfo: Step): AnyConnection =>
  asPageInfo($pageInfo).getDepOptions(0).step;

/** A field of a PageInfo, as it is planned without a plan of its own. */
export const fieldOfPageInfo = ($pageInfo: Step, fieldName: string): Step =>
  asPageInfo($pageInfo).get(fieldName);

/** The value of an argument that is a literal in the document: the plan is made for it. */
export const literalOf = ($argument: unknown): unknown =>
  ($argument as { eval: () => unknown }).eval();

/** What the operation's context holds under this name. */
export const fromContext = <Value>(name: keyof Grafast.Context): Step<Value> =>
  context().get(name) as unknown as Step<Value>;

/** Has grafast forget its plans: it keeps them under symbols of its own, and makes what is missing anew. */
export function forgetPlans(schema: GraphQLSchema): void {
  const options = Object.fromEntries(Object.entries(schema.extensions.grafast ?? {}));
  Object.assign(schema.extensions, { grafast: options });
}

/** Applies an argument's values to this in place of the rows, of which it has what the argument calls. */
export const applyTo = (
  argument: { apply: ($target: PgSelectStep) => void },
  target: unknown,
): void => argument.apply(target as PgSelectStep);
