// The only file that uses unpublished parts of grafast and @dataplan/pg. No upstream issue found that asks for
// them to be published.
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import { context, operationPlan, type ConnectionStep, type Step } from "postgraphile/grafast";
import type { SQL } from "postgraphile/pg-sql2";

/** A connection of any row type. */
export type AnyConnection = ConnectionStep<unknown, never, never, never>;

/** The step that reads a connection's rows; grafast's type does not name its class. */
export const selectOf = ($connection: AnyConnection): PgSelectStep =>
  $connection.getSubplan() as unknown as PgSelectStep;

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

/** A value of the operation's context. */
export const fromContext = <Value>(name: keyof Grafast.Context): Step<Value> =>
  context().get(name) as unknown as Step<Value>;

/** OperationPlan has it, but its type leaves it out. */
interface TracksContext {
  trackedContextStep: {
    get: (name: keyof Grafast.Context) => { evalIs: (value: unknown) => boolean };
  };
}

/** Whether the operation's context has this value. Operations where it differs get separate plans. */
export const isInContext = (name: keyof Grafast.Context, value: unknown): boolean =>
  (operationPlan() as unknown as TracksContext).trackedContextStep.get(name).evalIs(value);
