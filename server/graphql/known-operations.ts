// Refuses operations that the schema has no type for: grafast would plan them, and print its failure
// beside the log.
import { GraphQLError, type ASTVisitor, type ValidationContext } from "graphql";

/** A rule of validation; graphql itself has the like from version 17 on. */
function refuseUnknownOperations(context: ValidationContext): ASTVisitor {
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
  description: "Refuses operations of a kind that the schema does not have.",

  grafserv: {
    middleware: {
      setPreset(next, event) {
        event.validationRules.push(refuseUnknownOperations);
        return next();
      },
    },
  },
};
