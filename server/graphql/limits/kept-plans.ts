// Bounds what grafast keeps of the operations that it has planned: it counts them, where one may take a
// hundred times as much memory as another.
import type { GraphQLSchema } from "graphql";
import type { GrafastExecutionArgs, OperationPlan } from "postgraphile/grafast";

/** The complexity of all plans that are kept: some 80 MB, or 200 pages with their totals. */
const KEPT_COMPLEXITY = 20_000;

/** So many characters of a document take as much memory as one step of its plan. */
const CHARACTERS_A_STEP = 30;

/** A failure of planning is kept as well. */
type Outcome = OperationPlan | Error;

function weightOf({ contextValue, document }: GrafastExecutionArgs): number {
  const { complexity = 0 } = contextValue as Grafast.Context;
  return complexity + (document.loc?.end ?? 0) / CHARACTERS_A_STEP;
}

/** Grafast keeps its caches under symbols of its own, and makes them anew where they are missing. */
function forgetPlans(schema: GraphQLSchema): void {
  const options = Object.fromEntries(Object.entries(schema.extensions.grafast ?? {}));
  Object.assign(schema.extensions, { grafast: options });
}

export function makeKeptPlansPlugin(): GraphileConfig.Plugin {
  let known = new WeakSet<Outcome>();
  let kept = 0;

  const note = (outcome: Outcome, args: GrafastExecutionArgs): void => {
    if (known.has(outcome)) return;
    known.add(outcome);
    const weight = weightOf(args);
    kept += weight;
    if (kept <= KEPT_COMPLEXITY) return;
    forgetPlans(args.schema);
    kept = 0;
    known = new WeakSet();
  };

  return {
    name: "KeptPlansPlugin",
    version: "1.0.0",
    description: "Bounds the memory that plans take.",

    grafast: {
      middleware: {
        establishOperationPlan(next, { args, variableValues }) {
          // A variable that is not given has no value: `$constructor` must not read Object's.
          Object.setPrototypeOf(variableValues, null);
          try {
            const plan = next();
            note(plan, args);
            return plan;
          } catch (error) {
            if (error instanceof Error) note(error, args);
            throw error;
          }
        },
      },
    },
  };
}
