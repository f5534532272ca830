// Why an operation is refused that exceeds a limit.
import type { FieldNode, GraphQLError } from "graphql";
import { refusal } from "./limit-error.ts";
import type { GraphqlLimits } from "./limits.ts";
import {
  CHARACTERS_PER_COST,
  COMPARISONS_PER_TABLE,
  IGNORES_CASE_COST,
  STEPS,
  WHOLE_TABLES,
} from "./cost-of-parts.ts";

export const tooComplex = (complexity: number, limits: GraphqlLimits): GraphQLError =>
  refusal(
    "TOO_COMPLEX",
    `The query has a complexity of ${complexity}, ${STEPS.list} for each list, ${STEPS.record} for each record, ${STEPS.scalar} for each other field: at most ${limits.complexity} is accepted. Ask in several requests.`,
  );

export function pageTooLarge(
  field: FieldNode,
  name: "first" | "last",
  rows: number,
  { page }: GraphqlLimits,
): GraphQLError {
  const onwards = name === "first" ? '"after": endCursor' : '"before": startCursor';
  return refusal(
    "PAGE_TOO_LARGE",
    `Argument "${name}" of "${field.name.value}" must be an integer from 0 to ${page}, not ${rows}: page on with ${onwards}.`,
    field,
  );
}

export function tooExpensive(
  cost: number,
  { unserved, counted, compared }: Record<"unserved" | "counted" | "compared", number>,
  limits: GraphqlLimits,
): GraphQLError {
  const why = [
    ...(unserved > 0
      ? [`${unserved} of its lists have a condition or filter that no index serves`]
      : []),
    ...(counted > 0 ? [`${counted} have a total of chosen rows as of a past block`] : []),
  ].join(", ");
  const tables =
    unserved + counted > 1
      ? ` ${why}, and each after the first counts as ${limits.cost / WHOLE_TABLES}.`
      : "";
  const comparisons =
    compared > 0
      ? ` Where no index serves a condition or filter, each ${COMPARISONS_PER_TABLE} comparisons in it count as ${limits.cost / WHOLE_TABLES}, and one that ignores case as ${IGNORES_CASE_COST} comparisons: give values of one column as a list of "in" or "inInsensitive".`
      : "";
  return refusal(
    "TOO_EXPENSIVE",
    `The operation costs ${Math.ceil(cost)}, 1 for each row that it may read, nested ones counted for each row around them, and 1 more for each ${CHARACTERS_PER_COST} characters of a row: at most ${limits.cost} is accepted. Ask for smaller pages by "first", the smallest for what is nested.${tables}${comparisons}`,
  );
}
