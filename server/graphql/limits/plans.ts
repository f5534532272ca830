// Plans operations when it is their turn, and bounds the memory of the plans that grafast keeps: it counts
// them, where one may take a hundred times as much memory as another.
import { GraphQLError } from "graphql";
import type { GrafastExecutionArgs, OperationPlan } from "postgraphile/grafast";
import { ServiceBusy } from "../../http/errors.ts";
import { forgetPlans } from "../grafast-internals.ts";
import type { OperationDemand } from "./demand.ts";
import type { OperationsInFlight } from "./operations-in-flight.ts";

/** The complexity of all plans that are kept: some 80 MB, or 200 pages with their totals. */
const KEPT_COMPLEXITY = 20_000;

/** So many characters of a document take as much memory as one step of its plan. */
const CHARACTERS_A_STEP = 30;

/** A failure of planning is kept as well. */
type Outcome = OperationPlan | Error;

const demandOf = ({ contextValue }: GrafastExecutionArgs): OperationDemand | undefined =>
  (contextValue as Grafast.Context).demand;

function busy(error: unknown): { errors: GraphQLError[] } {
  if (!(error instanceof ServiceBusy)) throw error;
  return {
    errors: [new GraphQLError(error.message, { extensions: error.extensions })],
  };
}

export function makePlansPlugin(operations: OperationsInFlight | undefined): GraphileConfig.Plugin {
  let known = new WeakSet<Outcome>();
  let planned = new WeakSet<OperationDemand>();
  let kept = 0;

  const note = (outcome: Outcome, args: GrafastExecutionArgs): void => {
    const demand = demandOf(args);
    if (demand !== undefined) planned.add(demand);
    if (known.has(outcome)) return;
    known.add(outcome);
    kept += (demand?.complexity ?? 0) + (args.document.loc?.end ?? 0) / CHARACTERS_A_STEP;
    if (kept <= KEPT_COMPLEXITY) return;
    forgetPlans(args.schema);
    kept = 0;
    known = new WeakSet();
    planned = new WeakSet();
  };

  return {
    name: "PlansPlugin",
    version: "1.0.0",
    description: "Bounds the time and the memory that plans take.",

    grafast: {
      middleware: {
        execute(next, { args }) {
          const demand = demandOf(args);
          const isPlanned = demand === undefined || planned.has(demand);
          return operations === undefined || isPlanned ? next() : operations.plan(next).catch(busy);
        },
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
