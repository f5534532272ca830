// Looks at the lists and objects that come as variables.
import type { GraphQLError, OperationDefinitionNode } from "graphql";
import { inputTooDeep, tooManyValues } from "./document-problem.ts";
import { givenVariable, type GivenVariables } from "./given-variables.ts";
import type { GraphqlLimits } from "./limits.ts";

/**
 * What of the variables that the operation declares is more than the limits allow. Others are
 * ignored, as everywhere.
 */
export function variablesProblem(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: GivenVariables,
  limits: GraphqlLimits,
): GraphQLError | undefined {
  for (const { variable } of variableDefinitions) {
    const name = variable.name.value;
    const problem = valueProblem(givenVariable(variables, name), `$${name}`, 1, limits);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueProblem(
  value: unknown,
  path: string,
  depth: number,
  limits: GraphqlLimits,
): GraphQLError | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > limits.inputDepth) return inputTooDeep(`The variable ${path}`, limits);
  if (Array.isArray(value) && value.length > limits.values) {
    return tooManyValues(`The list ${path}`, value.length, limits);
  }
  for (const [key, inner] of Object.entries(value)) {
    const problem = valueProblem(inner, `${path}.${key}`, depth + 1, limits);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
