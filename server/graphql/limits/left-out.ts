// What @skip and @include leave out of an operation, which is then neither planned nor run.
import {
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  Kind,
  visit,
  type DocumentNode,
  type GraphQLDirective,
  type OperationDefinitionNode,
  type SelectionNode,
  type ValueNode,
} from "graphql";
import { givenVariable, type GivenVariables } from "./given-variables.ts";

/** Whether a field, a spread or an inline fragment is left out, with all that is in it. */
export type IsLeftOut = (selection: SelectionNode) => boolean;

const DECIDING = [GraphQLSkipDirective.name, GraphQLIncludeDirective.name];

/** The names of the variables by which a document decides what is left out, each once. */
export function decidingVariables(document: DocumentNode): string[] {
  const names = new Set<string>();
  visit(document, {
    Directive({ name, arguments: given = [] }) {
      if (!DECIDING.includes(name.value)) return;
      for (const { value } of given) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
    },
  });
  return [...names];
}

/**
 * What an operation leaves out with these variables. Only a plain true of @skip or false of @include
 * does, as where it is run; what is anything else, such as null, is in it, or an error.
 */
export function leftOutOf(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: GivenVariables,
): IsLeftOut {
  const defaults = new Map(
    variableDefinitions.map(({ variable, defaultValue }) => [variable.name.value, defaultValue]),
  );
  const valueOf = (value: ValueNode | undefined): unknown => {
    if (value?.kind === Kind.BOOLEAN) return value.value;
    if (value?.kind !== Kind.VARIABLE) return undefined;
    const name = value.name.value;
    const given = givenVariable(variables, name);
    return given === undefined ? valueOf(defaults.get(name)) : given;
  };
  const condition = ({ directives = [] }: SelectionNode, { name }: GraphQLDirective): unknown =>
    valueOf(directives.find((directive) => directive.name.value === name)?.arguments?.[0]?.value);
  return (selection) =>
    condition(selection, GraphQLSkipDirective) === true ||
    condition(selection, GraphQLIncludeDirective) === false;
}
