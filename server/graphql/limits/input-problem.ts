// Limits the lists and objects of the input, in the document and in the variables.
import { BREAK, Kind, visit, type ASTNode, type DocumentNode, type GraphQLError } from "graphql";
import type { VariableValues } from "./assessment.ts";
import { refusal } from "./limit-error.ts";
import type { GraphqlLimits } from "./limits.ts";

/** The limit that a literal in the document exceeds. */
export function inputProblem(
  document: DocumentNode,
  limits: GraphqlLimits,
): GraphQLError | undefined {
  let problem: GraphQLError | undefined;
  let depth = 0;
  const enter = (node: ASTNode) => {
    depth += 1;
    const length = node.kind === Kind.LIST ? node.values.length : 0;
    problem = valueProblem(depth, length, ["A value", "A list"], limits, node);
    return problem === undefined ? undefined : BREAK;
  };
  const leave = () => void (depth -= 1);
  visit(document, { ObjectValue: { enter, leave }, ListValue: { enter, leave } });
  return problem;
}

/** The limit that a variable exceeds. Variables that the operation does not declare are ignored. */
export function variablesProblem(
  variables: VariableValues,
  limits: GraphqlLimits,
  within = "$",
  depth = 1,
): GraphQLError | undefined {
  for (const [name, value] of Object.entries(variables)) {
    if (typeof value !== "object" || value === null) continue;
    const path = within + name;
    const length = Array.isArray(value) ? value.length : 0;
    const problem =
      valueProblem(depth, length, [`The variable ${path}`, `The list ${path}`], limits) ??
      variablesProblem(value as VariableValues, limits, `${path}.`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueProblem(
  depth: number,
  length: number,
  [value, list]: readonly [string, string],
  { inputDepth, values }: GraphqlLimits,
  node?: ASTNode,
): GraphQLError | undefined {
  if (depth > inputDepth) {
    return refusal(
      "INPUT_TOO_DEEP",
      `${value} nests objects and lists more than ${inputDepth} deep: conditions are joined flatter by "and", "or" and "not".`,
      node,
    );
  }
  if (length <= values) return undefined;
  return refusal(
    "TOO_MANY_VALUES",
    `${list} has ${length} values: at most ${values} are accepted, ask for them in several requests.`,
    node,
  );
}
