// The variables of a request, as they came.

export type GivenVariables = Readonly<Record<string, unknown>>;

/**
 * What is given under this name; undefined where nothing is. Every object has a `constructor` and a
 * `toString`, and GraphQL takes both as names of variables: what is inherited is not given.
 */
export const givenVariable = (variables: GivenVariables, name: string): unknown =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;
