// The only file of this package that uses unpublished parts of grafast.
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import type { ConnectionStep, Step } from "postgraphile/grafast";

/** A connection of any row type. */
export type AnyConnection = ConnectionStep<unknown, never, never, never>;

/** The step that reads a connection's rows; grafast's type does not name its class. */
export const selectOf = ($connection: AnyConnection): PgSelectStep =>
  $connection.getSubplan() as unknown as PgSelectStep;

/** A second step that reads the rows of a connection, without its page arguments. */
export function unpagedRowsOf($connection: AnyConnection): PgSelectStep {
  const clone = $connection.cloneSubplanWithoutPagination.bind($connection) as () => unknown;
  return clone() as PgSelectStep;
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

/** Applies an argument to an object that stands in for the select step. */
export const applyTo = (
  argument: { apply: ($target: PgSelectStep) => void },
  target: unknown,
): void => argument.apply(target as PgSelectStep);
