// Adds validation rules, so that these queries get a clear error before any statement is sent.
import { GraphQLError, type ASTVisitor, type ValidationContext } from "graphql";

export const NUL_MESSAGE =
  "Text with the character U+0000 is not accepted: no text in the database can hold it.";

/** PostgreSQL cannot store U+0000; its error would abort the operation's transaction, and all other fields. */
const storableText = (context: ValidationContext): ASTVisitor => ({
  StringValue(node) {
    if (!node.value.includes("\0")) return;
    const extensions = { code: "BAD_USER_INPUT" };
    context.reportError(new GraphQLError(NUL_MESSAGE, { nodes: [node], extensions }));
  },
});

/** grafast would plan a mutation, fail, and print the error outside the log. graphql 17 has this rule itself. */
const knownOperations = (context: ValidationContext): ASTVisitor => ({
  OperationDefinition(node) {
    if (context.getSchema().getRootType(node.operation) != null) return;
    const message = `There is no ${node.operation} here: the service only reads, and accepts operations of the kinds "query" and "subscription".`;
    context.reportError(new GraphQLError(message, { nodes: [node] }));
  },
});

export const ValidationRulesPlugin: GraphileConfig.Plugin = {
  name: "ValidationRulesPlugin",
  version: "1.0.0",
  description: "Rejects U+0000 in literals, and unknown types of operations.",

  grafserv: {
    middleware: {
      setPreset(next, event) {
        event.validationRules.push(knownOperations, storableText);
        return next();
      },
    },
  },
};
