// Makes planning wait its turn, and what may read whole tables. Bounds the memory of grafast's cached plans: grafast bounds
// their number, but one plan may take a hundred times as much memory as another.
import { GraphQLError, type OperationDefinitionNode } from "graphql";
import { LRUCache } from "lru-cache";
import type { GrafastExecutionArgs, OperationPlan } from "postgraphile/grafast";
import { ServiceBusy } from "../../http/errors.ts";
import { stateOf } from "../../http/request.ts";
import { isAsOf } from "../as-of/directive.ts";
import { isTimeout } from "../mask-error.ts";
import { forgetPlans } from "../grafast-internals.ts";
import type { Assessment } from "./operation-limits.ts";
import type { OperationsInFlight } from "./operations-in-flight.ts";

/** The complexity of all cached plans together: some 80 MB, or 200 pages with their totals. */
const KEPT_COMPLEXITY = 20_000;

/**
 * Operations that are asked again keep their plans up to this, the last of them: otherwise a client that asks new ones has
 * those of all others planned again.
 */
const ASKED_AGAIN = { maxSize: KEPT_COMPLEXITY / 2, max: 250 };

/** This number of a document's characters takes as much memory as one step of its plan. */
const CHARACTERS_A_STEP = 30;

const assessmentOf = ({ contextValue }: GrafastExecutionArgs): Assessment | undefined =>
  (contextValue as Grafast.Context).assessment;

/** Empty where no request asks, as for what clients share: that has no place in flight. */
export function clientOf({ requestContext }: Pick<GrafastExecutionArgs, "requestContext">): string {
  const request = requestContext?.node?.req ?? requestContext?.ws?.request;
  return request === undefined ? "" : stateOf(request).client;
}

/** The answer to an operation that has waited too long for its turn. */
export function busy(error: unknown): { errors: GraphQLError[] } {
  if (!(error instanceof ServiceBusy)) throw error;
  return { errors: [new GraphQLError(error.message, { extensions: error.extensions })] };
}

export function makePlansPlugin(operations: OperationsInFlight | undefined): GraphileConfig.Plugin {
  // grafast caches a failure of planning too.
  const counted = new WeakSet<OperationPlan | Error>();
  /** The choices that each operation was planned for, and the complexity of these plans. */
  let planned = new WeakMap<OperationDefinitionNode, { choices: Set<string>; size: number }>();
  const askedAgain = new LRUCache<OperationDefinitionNode, number>({
    ...ASKED_AGAIN,
    sizeCalculation: (size) => size,
  });
  let kept = 0;
  /** Of what is planned after its turn has begun, by its context: grafast copies the arguments. */
  const endsOfTurns = new WeakMap<object, (ms: number) => void>();

  const count = (outcome: OperationPlan | Error, args: GrafastExecutionArgs): void => {
    const assessment = assessmentOf(args);
    if (assessment === undefined) return;
    const { operation, choice, complexity } = assessment;
    const plans = planned.get(operation) ?? { choices: new Set(), size: 0 };
    planned.set(operation, plans);
    plans.choices.add(choice);
    if (counted.has(outcome)) {
      // The plan may be of a schema that is not served any more.
      askedAgain.set(operation, Math.max(1, plans.size));
      return;
    }
    counted.add(outcome);
    const size = Math.ceil(complexity + (args.document.loc?.end ?? 0) / CHARACTERS_A_STEP);
    plans.size += size;
    // One with more than all of them may keep is forgotten with the others.
    if (askedAgain.has(operation)) askedAgain.set(operation, plans.size);
    kept += size;
    if (kept <= KEPT_COMPLEXITY) return;
    const before = planned;
    planned = new WeakMap();
    for (const again of askedAgain.keys()) {
      const left = before.get(again);
      if (left !== undefined) planned.set(again, left);
    }
    forgetPlans(args.schema, askedAgain.rkeys());
    kept = askedAgain.calculatedSize;
  };

  const isPlanned = (args: GrafastExecutionArgs): boolean => {
    const assessment = assessmentOf(args);
    if (assessment === undefined) return true;
    return planned.get(assessment.operation)?.choices.has(assessment.choice) === true;
  };

  const inTurn = <Result>(
    next: () => Result,
    args: GrafastExecutionArgs,
    { leavesPlace = clientOf(args) !== "" } = {},
  ) => {
    if (operations === undefined || isPlanned(args)) return next();
    const operation = assessmentOf(args)?.operation;
    // Its block is read first, in the transaction in which it is executed.
    const isLate = operation !== undefined && isAsOf(operation);
    const planning = (onPlanned: (ms?: number) => void): Result => {
      // Another one with its document may have been planned while it waited.
      if (isLate && isPlanned(args)) onPlanned();
      else if (isLate) endsOfTurns.set(args.contextValue as object, onPlanned);
      return next();
    };
    return operations.plan(clientOf(args), planning, { leavesPlace, isLate }).catch(busy);
  };

  const readsWhole = (args: GrafastExecutionArgs): boolean =>
    clientOf(args) !== "" && assessmentOf(args)?.readsWhole === true;

  return {
    name: "PlansPlugin",
    description: "Bounds the time and the memory that plans take.",

    grafast: {
      middleware: {
        execute: (next, { args }) =>
          operations !== undefined && readsWhole(args)
            ? operations
                .readWhole(clientOf(args), () => inTurn(next, args, { leavesPlace: false }))
                .catch(busy)
            : inTurn(next, args),
        subscribe: (next, { args }) => inTurn(next, args),
        establishOperationPlan(next, { args, variableValues }) {
          // A variable that is not given has no value: `$constructor` must not read Object's.
          Object.setPrototypeOf(variableValues, null);
          const endTurn = endsOfTurns.get(args.contextValue as object);
          const from = endTurn && performance.now();
          try {
            const plan = next();
            count(plan, args);
            return plan;
          } catch (error) {
            // A plan whose time was up is made again by the next request, in its turn.
            if (error instanceof Error && !isTimeout(error)) count(error, args);
            throw error;
          } finally {
            if (from !== undefined) endTurn?.(performance.now() - from);
          }
        },
      },
    },
  };
}
