// The error of a query that asks for more than it may. Nothing of such a query is run.
import { GraphQLError, type ASTNode } from "graphql";

/** By which limit a query is refused; clients and metrics distinguish them by this code. */
export type LimitCode =
  | "TOO_MANY_TOKENS"
  | "TOO_DEEP"
  | "TOO_MANY_FIELDS"
  | "TOO_COMPLEX"
  | "TOO_MANY_VALUES"
  | "INPUT_TOO_DEEP"
  | "PAGE_TOO_LARGE"
  | "LIST_TOO_LONG"
  | "TOO_EXPENSIVE";

/** The message names what was too much, and what is accepted; `node` is where it stands. */
export function refusal(code: LimitCode, message: string, node?: ASTNode): GraphQLError {
  return new GraphQLError(message, {
    nodes: node?.loc === undefined ? null : [node],
    extensions: { code },
  });
}
