// Rejects mutations and subscriptions, for which the schema has no type: grafast would plan them, fail,
// and print the error outside the log.
import { GraphQLError, type ASTVisitor, type ValidationContext } from "graphql";

/** graphql 17 has this validation rule itself. */
function rejectUnknownOperations(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition(node) {
      if (context.getSchema().getRootType(node.operation) != null) return;
      context.reportError(
        new GraphQLError(
          `There is no ${node.operation} here: the service only reads, and accepts operations of the kind "query".`,
          { nodes: [node] },
        ),
      );
    },
  };
}

export const KnownOperationsPlugin: GraphileConfig.Plugin = {
  name: "KnownOperationsPlugin",
  version: "1.0.0",
  description: "Rejects operations of a type that the schema does not have.",

  grafserv: {
    middleware: {
      setPreset(next, event) {
        event.validationRules.push(rejectUnknownOperations);
        return next();
      },
    },
  },
};
