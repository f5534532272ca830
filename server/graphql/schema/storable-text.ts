// Rejects text that PostgreSQL cannot store before a statement is sent: PostgreSQL's error would abort the
// operation's transaction, and all other fields.
import { GraphQLError, type ASTVisitor, type ValidationContext } from "graphql";
import { SafeError } from "postgraphile/grafast";

const NUL = "\0";
const MESSAGE =
  "Text with the character U+0000 is not accepted: no text in the database can hold it.";
const EXTENSIONS = { code: "BAD_USER_INPUT" };

function rejectInDocument(context: ValidationContext): ASTVisitor {
  return {
    StringValue(node) {
      if (!node.value.includes(NUL)) return;
      context.reportError(new GraphQLError(MESSAGE, { nodes: [node], extensions: EXTENSIONS }));
    },
  };
}

function holdsNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes(NUL);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsNul);
}

export const StorableTextPlugin: GraphileConfig.Plugin = {
  name: "StorableTextPlugin",
  description: "Rejects U+0000 in the strings of a query and its variables.",
  grafserv: {
    middleware: {
      setPreset(next, event) {
        event.validationRules.push(rejectInDocument);
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
