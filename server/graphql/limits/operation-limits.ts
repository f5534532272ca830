// Refuses an operation that costs more than it may, before anything of it is planned or run.
import { GraphQLError, type DocumentNode } from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { assess, type Assessment } from "./cost.ts";
import { operationDemand, type OperationDemand } from "./demand.ts";
import type { GraphqlLimits } from "./limits.ts";
import { variablesProblem } from "./variables-problem.ts";

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Grafast {
    interface Context {
      /** How many rows each list of this operation may have that gives neither `first` nor `last`. */
      listBound?: number;
    }
  }
}

type DemandsByOperation = Map<string | null, OperationDemand>;

/** Demands by document, which grafserv's cache of parsed documents makes worth keeping. */
const known = new WeakMap<DocumentNode, DemandsByOperation>();

function demandOf(args: GrafastExecutionArgs): OperationDemand | undefined {
  const { schema, document, operationName = null } = args;
  const ofDocument = known.get(document) ?? (new Map() as DemandsByOperation);
  known.set(document, ofDocument);
  const kept = ofDocument.get(operationName);
  if (kept !== undefined) return kept;
  const demand = operationDemand(schema, document, operationName);
  // A name that the document does not have is a client's own, of any length: it is not remembered.
  if (demand !== undefined) ofDocument.set(operationName, demand);
  return demand;
}

function assessed(
  args: GrafastExecutionArgs,
  limits: GraphqlLimits,
): Assessment | GraphQLError | undefined {
  const demand = demandOf(args);
  // Which operation is meant is not said, and grafast says so.
  if (demand === undefined) return undefined;
  const variables = args.variableValues ?? {};
  return variablesProblem(demand.operation, variables, limits) ?? assess(demand, variables, limits);
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
          const result = assessed(args, limits);
          if (result instanceof GraphQLError) return { errors: [result] };
          const context = args.contextValue as Grafast.Context;
          context.listBound = result?.listBound ?? limits.rows;
          return next();
        },
      },
    },
  };
}
