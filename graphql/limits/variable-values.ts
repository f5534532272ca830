// The values that an operation's variables have, and what arguments and directives say by them.
import {
  Kind,
  valueFromASTUntyped,
  visit,
  type DocumentNode,
  type FieldNode,
  type OperationDefinitionNode,
  type SelectionNode,
} from "graphql";

/** The values of an operation's variables by name, without a prototype. */
export type VariableValues = Readonly<Record<string, unknown>>;

const isChoice = (name: string): boolean => name === "skip" || name === "include";

/** The names of the variables by which @skip and @include leave something out of a document. */
export function conditionsOf(document: DocumentNode): string[] {
  const names = new Set<string>();
  visit(document, {
    Directive({ name, arguments: [condition] = [] }) {
      if (isChoice(name.value) && condition?.value.kind === Kind.VARIABLE)
        names.add(condition.value.name.value);
    },
  });
  return [...names];
}

/** Only a plain true of @skip or false of @include leaves a selection out: the executor refuses others. */
export function leavesOut({ directives = [] }: SelectionNode, variables: VariableValues): boolean {
  return directives.some(({ name: { value: name }, arguments: [condition] = [] }) => {
    if (condition === undefined || !isChoice(name)) return false;
    return valueFromASTUntyped(condition.value, variables) === (name === "skip");
  });
}

/** Own properties only: GraphQL accepts `constructor` as the name of a variable. */
export function valuesOf(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): VariableValues {
  const values = Object.create(null) as Record<string, unknown>;
  for (const { variable, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    if (Object.hasOwn(given, name)) values[name] = given[name];
    else if (defaultValue !== undefined) values[name] = valueFromASTUntyped(defaultValue);
  }
  return values;
}

/** A number that an argument gives; null without one. */
export type Amount = (variables: VariableValues) => number | null;

export const argumentNamed = ({ arguments: given = [] }: FieldNode, name: string) =>
  given.find((one) => one.name.value === name);

export const argumentOf = (field: FieldNode, name: string) => argumentNamed(field, name)?.value;

/** The executor refuses values that are no number. */
export function amountOf(field: FieldNode, name: string): Amount {
  const argument = argumentOf(field, name);
  if (argument === undefined) return () => null;
  return (variables) => {
    const value: unknown = valueFromASTUntyped(argument, variables);
    if (value == null) return null;
    return typeof value === "number" && value > 0 ? value : 0;
  };
}
