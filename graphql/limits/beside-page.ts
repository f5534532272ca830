// Knows which rows beside a page its PageInfo reads: one on the side of each of these arguments that is not null.
import { valueFromASTUntyped, type ValueNode } from "graphql";
import type { VariableValues } from "./variable-values.ts";

/** The arguments of a list by the field of its PageInfo. */
export const READ_BESIDE: Readonly<Record<string, readonly string[]>> = {
  hasPreviousPage: ["after", "offset"],
  hasNextPage: ["before"],
};

export const isGiven = (value: ValueNode, variables: VariableValues): boolean =>
  valueFromASTUntyped(value, variables) != null;
