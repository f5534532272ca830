// Adds validation rules, so that these queries get a clear error before any statement is sent.
import { GraphQLError, type ASTVisitor, type ValidationContext } from "graphql";
import { SafeError } from "postgraphile/grafast";

const NUL = "\0";
const MESSAGE =
  "Text with the character U+0000 is not accepted: no text in the database can hold it.";
const EXTENSIONS = { code: "BAD_USER_INPUT" };

/** PostgreSQL cannot store U+0000; its error would abort the operation's transaction, and all other fields. */
const storableText = (context: ValidationContext): ASTVisitor => ({
  StringValue(node) {
    if (!node.value.includes(NUL)) return;
    context.reportError(new GraphQLError(MESSAGE, { nodes: [node], extensions: EXTENSIONS }));
  },
});

function holdsNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes(NUL);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsNul);
}

/** grafast would plan a mutation, fail, and print the error outside the log. graphql 17 has this rule itself. */
const knownOperations = (context: ValidationContext): ASTVisitor => ({
  OperationDefinition(node) {
    if (context.getSchema().getRootType(node.operation) != null) return;
    const message = `There is no ${node.operation} here: the service only reads, and accepts operations of the kind "query".`;
    context.reportError(new GraphQLError(message, { nodes: [node] }));
  },
});

export const ValidationRulesPlugin: GraphileConfig.Plugin = {
  name: "ValidationRulesPlugin",
  version: "1.0.0",
  description: "Rejects U+0000 in strings, and operations of a type that the schema does not have.",

  grafserv: {
    middleware: {
      setPreset(next, event) {
        event.validationRules.push(knownOperations, storableText);
        return next();
      },
      processGraphQLRequestBody(next, event) {
        if (holdsNul(event.body.variableValues)) {
          throw new SafeError(MESSAGE, { ...EXTENSIONS, statusCode: 400 });
        }
        return next();
      },
    },
  },
};
