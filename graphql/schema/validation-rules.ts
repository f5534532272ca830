// Adds validation rules, so that these queries get a clear error before any statement is sent.
import {
  GraphQLError,
  Kind,
  OperationTypeNode,
  type ASTVisitor,
  type DirectiveNode,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from "graphql";

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

/** The parsers of a request's body drop a key of this name, so that the variable's value would be ignored. */
const usableVariables = (context: ValidationContext): ASTVisitor => ({
  VariableDefinition(node) {
    if (node.variable.name.value !== "__proto__") return;
    const extensions = { code: "BAD_USER_INPUT" };
    const message = 'A variable must not be named "__proto__": choose another name.';
    context.reportError(new GraphQLError(message, { nodes: [node], extensions }));
  },
});

/**
 * The specification accepts neither directive here (https://github.com/graphql/graphql-spec/pull/860). graphql accepts
 * them with a literal, and says of a variable that it was not given (https://github.com/graphql/graphql-js/pull/3974).
 */
const unconditionalRoot = (context: ValidationContext): ASTVisitor => ({
  OperationDefinition(node) {
    if (node.operation !== OperationTypeNode.SUBSCRIPTION) return;
    const visited = new Set<string>();
    const check = ({ selections }: SelectionSetNode): void => {
      for (const selection of selections) {
        for (const directive of selection.directives ?? []) refuseCondition(directive);
        if (selection.kind === Kind.INLINE_FRAGMENT) check(selection.selectionSet);
        if (selection.kind !== Kind.FRAGMENT_SPREAD || visited.has(selection.name.value)) continue;
        visited.add(selection.name.value);
        const fragment = context.getFragment(selection.name.value);
        if (fragment) check(fragment.selectionSet);
      }
    };
    check(node.selectionSet);
  },
});

function refuseCondition(directive: DirectiveNode): void {
  const { name, arguments: given = [] } = directive;
  if (name.value !== "skip" && name.value !== "include") return;
  if (!given.some(({ value }) => value.kind === Kind.VARIABLE)) return;
  throw new GraphQLError(
    `@${name.value} with a variable is not accepted on the field of a subscription: the field that is followed must not depend on a variable.`,
    { nodes: [directive], extensions: { code: "BAD_REQUEST" } },
  );
}

/** Adds them to graphql's rules. */
export function addRules(rules: ValidationRule[]): void {
  // First, because graphql's own rule throws.
  rules.unshift(unconditionalRoot);
  rules.push(knownOperations, storableText, usableVariables);
}

export const ValidationRulesPlugin: GraphileConfig.Plugin = {
  name: "ValidationRulesPlugin",
  description:
    "Rejects U+0000 in literals, variables named __proto__, and unknown types of operations.",

  grafserv: {
    middleware: {
      setPreset(next, event) {
        addRules(event.validationRules);
        return next();
      },
    },
  },
};
