// Null in place of what was not asked for; what went wrong stays an error. Grafast's own trap makes
// an absence of it where a whole statement fails: it loses that the value is an error.
import {
  DEFAULT_ACCEPT_FLAGS,
  Step,
  TRAP_INHIBITED,
  type ExecutionDetails,
} from "postgraphile/grafast";

class NullWhereInhibitedStep extends Step<unknown> {
  static override $$export = {
    moduleName: "null-where-inhibited",
    exportName: "NullWhereInhibitedStep",
  };
  override isSyncAndSafe = true;

  constructor($step: Step) {
    super();
    const acceptFlags = (DEFAULT_ACCEPT_FLAGS | TRAP_INHIBITED) as typeof DEFAULT_ACCEPT_FLAGS;
    this.addDependency({ step: $step, acceptFlags });
  }

  override deduplicate(
    peers: readonly NullWhereInhibitedStep[],
  ): readonly NullWhereInhibitedStep[] {
    return peers;
  }

  override execute({ indexMap, values: [value] }: ExecutionDetails): readonly unknown[] {
    return indexMap((n) => (value?.at(n) as unknown) ?? null);
  }
}

/** The step's value, null where the step is inhibited, and its error where it has one. */
export const nullWhereInhibited = <T>($step: Step<T>): Step<T | null> =>
  new NullWhereInhibitedStep($step) as unknown as Step<T | null>;
