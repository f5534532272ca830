// Refuses an operation that exceeds a limit, before it is planned.
import { getOperationAST, GraphQLError } from "graphql";
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

/** This plugin must come before all others that wrap the execution, so that nothing runs on a refusal. */
export function makeOperationLimitsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  return {
    name: "OperationLimitsPlugin",
    version: "1.0.0",
    description: "Limits pages, lists of values, complexity and cost.",

    grafast: {
      middleware: {
        execute(next, { args }) {
          const { schema, document, operationName, variableValues } = args;
          const operation = getOperationAST(document, operationName);
          // Grafast refuses a request that does not say which operation to run.
          if (operation == null) return next();
          const result = assess(schema, document, operation, variableValues ?? {}, limits);
          if (result instanceof GraphQLError) return { errors: [result] };
          (args.contextValue as Grafast.Context).assessment = result;
          return next();
        },
      },
    },
  };
}
