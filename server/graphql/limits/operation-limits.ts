// Refuses an operation that costs more than it may, before anything of it is planned or run.
import { GraphQLError, type DocumentNode } from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
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
    }
  }
}

/** What is known of a document. */
interface Known {
  /** By which variables it decides what is left out. */
  deciding: readonly string[];
  /** Demands by the name of the operation, and by what those variables are. */
  demands: Map<string, OperationDemand>;
}

/** Demands by document, which grafserv's cache of parsed documents makes worth keeping. */
const known = new WeakMap<DocumentNode, Known>();

/** A client may leave out this or that in more ways than are worth keeping. */
const KEPT_DEMANDS = 20;

function knownOf(document: DocumentNode): Known {
  const kept = known.get(document);
  if (kept !== undefined) return kept;
  const fresh: Known = { deciding: decidingVariables(document), demands: new Map() };
  known.set(document, fresh);
  return fresh;
}

/** What may differ in what a variable leaves out: all that is neither true nor false is alike. */
function decided(variables: GivenVariables, name: string): boolean | "not given" | "no boolean" {
  const given = givenVariable(variables, name);
  if (given === undefined) return "not given";
  return typeof given === "boolean" ? given : "no boolean";
}

function demandOf(
  { schema, document, operationName = null }: GrafastExecutionArgs,
  variables: GivenVariables,
): OperationDemand | undefined {
  const { deciding, demands } = knownOf(document);
  const key = JSON.stringify([operationName, ...deciding.map((name) => decided(variables, name))]);
  const kept = demands.get(key);
  if (kept !== undefined) return kept;
  const demand = operationDemand(schema, document, operationName, variables);
  // A name that the document does not have is a client's own, of any length: it is not remembered.
  if (demand !== undefined && demands.size < KEPT_DEMANDS) demands.set(key, demand);
  return demand;
}

function assessed(
  args: GrafastExecutionArgs,
  limits: GraphqlLimits,
): Assessment | GraphQLError | undefined {
  const variables = args.variableValues ?? {};
  const demand = demandOf(args, variables);
  // Which operation is meant is not said, and grafast says so.
  if (demand === undefined) return undefined;
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
