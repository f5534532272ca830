// The only file that uses unpublished parts of grafast and @dataplan/pg. Each function has a contract
// test, which fails if a new version lacks the part that the function uses.
import type { GraphQLSchema } from "graphql";
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import { context, type ConnectionStep, type Step } from "postgraphile/grafast";
import type { SQL } from "postgraphile/pg-sql2";

/** A connection of any row type. */
export type AnyConnection = ConnectionStep<unknown, never, never, never>;

/** For the parent step of a connection's field. */
export const asConnection = ($step: Step): AnyConnection => $step as unknown as AnyConnection;

/** The step that reads a connection's rows; grafast's type does not name its class. */
export const selectOf = ($connection: AnyConnection): PgSelectStep =>
  $connection.getSubplan() as unknown as PgSelectStep;

/** A second step that reads the rows of a connection, without its page arguments. */
export function unpagedRowsOf($connection: AnyConnection): PgSelectStep {
  const clone = $connection.cloneSubplanWithoutPagination.bind($connection) as () => unknown;
  return clone() as PgSelectStep;
}

/** A step that aggregates the rows of all pages of a connection. */
export function aggregateOf($connection: AnyConnection): PgSelectStep {
  const clone = $connection.cloneSubplanWithoutPagination.bind($connection) as (
    mode: "aggregate",
  ) => unknown;
  return clone("aggregate") as PgSelectStep;
}

/** Members of PgSelectStep that its type leaves out. */
interface SelectsWhilePlanning {
  alias: SQL;
  selectAndReturnIndex: (fragment: SQL) => number;
}

/** Selects one more value of each row, and returns its position in the row. For a step's `optimize`. */
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

/** A field of a PageInfo with grafast's default plan. */
export const fieldOfPageInfo = ($pageInfo: Step, fieldName: string): Step =>
  asPageInfo($pageInfo).get(fieldName);

/** The value of an argument that is a literal in the document. */
export const literalOf = ($argument: unknown): unknown =>
  ($argument as { eval: () => unknown }).eval();

/** A value of the operation's context. */
export const fromContext = <Value>(name: keyof Grafast.Context): Step<Value> =>
  context().get(name) as unknown as Step<Value>;

/** Drops the plans that grafast caches under its own symbols; grafast makes missing plans again. */
export function forgetPlans(schema: GraphQLSchema): void {
  const options = Object.fromEntries(Object.entries(schema.extensions.grafast ?? {}));
  Object.assign(schema.extensions, { grafast: options });
}

/** Applies an argument to an object that stands in for the select step. */
export const applyTo = (
  argument: { apply: ($target: PgSelectStep) => void },
  target: unknown,
): void => argument.apply(target as PgSelectStep);
