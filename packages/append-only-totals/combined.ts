// Combines the values of several steps into one. An inhibited value becomes null, and an error stays an
// error. grafast's own way, a list, a trap for each value and a lambda, adds a step for each to every
// request, and its trap hides the error of a failed statement.
import {
  DEFAULT_ACCEPT_FLAGS,
  TRAP_INHIBITED,
  UnbatchedStep,
  type Step,
  type UnbatchedExecutionExtra,
} from "postgraphile/grafast";

const ACCEPT_FLAGS = (DEFAULT_ACCEPT_FLAGS | TRAP_INHIBITED) as typeof DEFAULT_ACCEPT_FLAGS;

class CombinedStep extends UnbatchedStep<unknown> {
  static override $$export = { moduleName: "combined", exportName: "CombinedStep" };
  readonly #combine: (...values: unknown[]) => unknown;

  constructor(steps: readonly Step[], combine: (...values: unknown[]) => unknown) {
    super();
    for (const step of steps) this.addDependency({ step, acceptFlags: ACCEPT_FLAGS });
    this.#combine = combine;
  }

  override unbatchedExecute(_extra: UnbatchedExecutionExtra, ...values: unknown[]): unknown {
    return this.#combine(...values.map((value) => value ?? null));
  }
}

type ValueOf<AStep> = AStep extends Step<infer Value> ? NonNullable<Value> | null : never;

/** The arguments of `combine` are in the order of the steps. */
export const combined = <const Steps extends readonly Step[], Value>(
  steps: Steps,
  combine: (...values: { [Index in keyof Steps]: ValueOf<Steps[Index]> }) => Value,
): Step<Value> =>
  new CombinedStep(steps, combine as (...values: unknown[]) => unknown) as unknown as Step<Value>;
