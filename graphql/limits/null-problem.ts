// Refuses null for a variable where the schema accepts none. A variable with a default may stand there, although null
// can be given for it: grafast would fail to plan it, and the error would be masked.
import {
  BREAK,
  GraphQLError,
  isNonNullType,
  Kind,
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionNode,
  type VariableNode,
} from "graphql";
import { fragmentsOf } from "../fragments.ts";
import { leavesOut, type VariableValues } from "./variable-values.ts";

/** Looks at what the operation executes alone: not at other operations, nor at what @skip and @include leave out. */
export function nullProblem(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: VariableValues,
): GraphQLError | undefined {
  const fragments = fragmentsOf(document);
  const visited = new Set<string>();

  function nullIn(
    root: FragmentDefinitionNode | OperationDefinitionNode,
  ): VariableNode | undefined {
    let found: VariableNode | undefined;
    const types = new TypeInfo(schema);
    const enterSelection = (node: SelectionNode): unknown => {
      if (leavesOut(node, variables)) return false;
      if (node.kind !== Kind.FRAGMENT_SPREAD || visited.has(node.name.value)) return undefined;
      visited.add(node.name.value);
      const fragment = fragments.get(node.name.value);
      found = fragment && nullIn(fragment);
      return found && BREAK;
    };
    const visitor = {
      VariableDefinition: () => false,
      Field: enterSelection,
      InlineFragment: enterSelection,
      FragmentSpread: enterSelection,
      Variable(node: VariableNode) {
        if (variables[node.name.value] !== null || !isNonNullType(types.getInputType())) return;
        found = node;
        return BREAK;
      },
    };
    visit(root, visitWithTypeInfo(types, visitor));
    return found;
  }

  const node = nullIn(operation);
  if (node === undefined) return undefined;
  return new GraphQLError(
    `Variable "$${node.name.value}" must not be null: it stands where a value is required. Leave it out for its default.`,
    { nodes: [node], extensions: { code: "BAD_USER_INPUT" } },
  );
}
