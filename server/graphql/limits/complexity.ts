// What an operation takes to plan. Grafast plans by steps, each of some 4 kB and 0.03 ms; these are the
// steps that each kind of field was measured to add, rounded up, so that the sum bounds both.
import type { GraphQLError } from "graphql";
import type { GraphqlLimits } from "./limits.ts";
import { refusal } from "./limit-error.ts";

export const STEPS = {
  scalar: 1,
  /** A record that is found by its key, or that another refers to. */
  record: 11,
  /** A list with its nodes or edges, and what its arguments add. */
  list: 30,
  totalCount: 13,
  pageInfo: 15,
  /** Each type that an interface's object may be of. */
  possibleType: 14,
};

export function complexityProblem(
  complexity: number,
  limits: GraphqlLimits,
): GraphQLError | undefined {
  if (complexity <= limits.complexity) return undefined;
  return refusal(
    "TOO_COMPLEX",
    `The query has a complexity of ${complexity}, ${STEPS.list} for each list, ${STEPS.record} for each record, ${STEPS.scalar} for each other field: at most ${limits.complexity} is accepted. Ask in several requests.`,
  );
}
