// Refuses an operation that exceeds a limit, before it is planned.
import { getOperationAST, GraphQLError, OperationTypeNode, type ExecutionResult } from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { assess, type Assessment } from "./assessment.ts";
import type { GraphqlLimits } from "./limits.ts";

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Grafast {
    interface Context {
      assessment?: Assessment;
    }
  }
}

const ONLY_BY_WEB_SOCKET = new GraphQLError(
  "Subscriptions are served by WebSocket, with the protocol of graphql-ws",
  { extensions: { code: "BAD_REQUEST" } },
);

/** This plugin must come before all others that wrap the execution, so that nothing runs on a refusal. */
export function makeOperationLimitsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  /** Why an operation is refused; else it gets its assessment. */
  function refused(args: GrafastExecutionArgs, kind: string): ExecutionResult | undefined {
    const { schema, document, operationName, variableValues } = args;
    const operation = getOperationAST(document, operationName);
    // Grafast refuses a request that does not say which operation to run.
    if (operation == null) return undefined;
    if (operation.operation === OperationTypeNode.SUBSCRIPTION && kind !== "subscription") {
      return { errors: [ONLY_BY_WEB_SOCKET] };
    }
    const result = assess(schema, document, operation, variableValues ?? {}, limits);
    if (result instanceof GraphQLError) return { errors: [result] };
    (args.contextValue as Grafast.Context).assessment = result;
    return undefined;
  }

  return {
    name: "OperationLimitsPlugin",
    version: "1.0.0",
    description: "Limits pages, lists of values, complexity and cost.",

    grafast: {
      middleware: {
        execute: (next, { args }) => refused(args, "query") ?? next(),
        subscribe: (next, { args }) => refused(args, "subscription") ?? next(),
      },
    },
  };
}
