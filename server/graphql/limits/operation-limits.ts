// Refuses an operation that costs more than it may, before anything of it is planned or run.
import { GraphQLError, type DocumentNode } from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { complexityProblem } from "./complexity.ts";
import { assess, type Assessment } from "./cost.ts";
import { operationDemand, type OperationDemand } from "./demand.ts";
import { givenVariable, type GivenVariables } from "./given-variables.ts";
import { decidingVariables } from "./left-out.ts";
import type { GraphqlLimits } from "./limits.ts";
import { variablesProblem } from "./variables-problem.ts";

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Grafast {
    interface Context {
      /** How many rows each list of this operation may have that gives neither `first` nor `last`. */
      listBound?: number;
      /** What this operation asks for. */
      demand?: OperationDemand;
    }
  }
}

/** What is known of a document. */
interface Known {
  /** By which variables it decides what is left out. */
  deciding: readonly string[];
  /** The latest demand of each operation, with what those variables were. */
  demands: Map<string | null, { decided: string; demand: OperationDemand }>;
}

/** Demands by document, which grafserv's cache of parsed documents makes worth keeping. */
const known = new WeakMap<DocumentNode, Known>();

function knownOf(document: DocumentNode): Known {
  const kept = known.get(document);
  if (kept !== undefined) return kept;
  const fresh: Known = { deciding: decidingVariables(document), demands: new Map() };
  known.set(document, fresh);
  return fresh;
}

/** What these variables are, as far as they leave out anything: no value but true and false does. */
function decisionOf(deciding: readonly string[], variables: GivenVariables): string {
  const decisions = deciding.map((name) => {
    const given = givenVariable(variables, name);
    if (given === undefined) return "default";
    return typeof given === "boolean" ? given : "neither";
  });
  return decisions.join();
}

function demandOf(
  { schema, document, operationName = null }: GrafastExecutionArgs,
  variables: GivenVariables,
): OperationDemand | undefined {
  const { deciding, demands } = knownOf(document);
  const decided = decisionOf(deciding, variables);
  const kept = demands.get(operationName);
  if (kept?.decided === decided) return kept.demand;
  const demand = operationDemand(schema, document, operationName, variables);
  // A name that the document does not have is a client's own, of any length: it is not remembered.
  if (demand !== undefined) demands.set(operationName, { decided, demand });
  return demand;
}

function assessed(
  demand: OperationDemand,
  variables: GivenVariables,
  limits: GraphqlLimits,
): Assessment | GraphQLError {
  return (
    complexityProblem(demand.complexity, limits) ??
    variablesProblem(demand.operation, variables, limits) ??
    assess(demand, variables, limits)
  );
}

/** Makes the plugin. It comes before all others that wrap the execution, so that none begins. */
export function makeOperationLimitsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  return {
    name: "OperationLimitsPlugin",
    version: "1.0.0",
    description: "Limits pages, lists of values, and what an operation costs.",

    grafast: {
      middleware: {
        execute(next, { args }) {
          const variables = args.variableValues ?? {};
          const demand = demandOf(args, variables);
          // Grafast refuses a request that does not say which operation is meant.
          if (demand === undefined) return next();
          const result = assessed(demand, variables, limits);
          if (result instanceof GraphQLError) return { errors: [result] };
          const context = args.contextValue as Grafast.Context;
          context.listBound = result.listBound;
          context.demand = demand;
          return next();
        },
      },
    },
  };
}
