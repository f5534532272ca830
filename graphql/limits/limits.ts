// The limits of one GraphQL request, and of the operations in flight.

export interface GraphqlLimits {
  /** Bytes of a request's body. */
  bodyBytes: number;
  /** Tokens of a document. They bound its directives, operations and aliases too. */
  tokens: number;
  /** Fields within fields. The standard introspection query has 15. */
  depth: number;
  /** Fields of a document, a fragment's counted wherever it is spread. */
  fields: number;
  /** The complexity of an operation: see assessment.ts. */
  complexity: number;
  /** Values in one list of the input, as that of `in`. */
  values: number;
  /** Values of variables wherever they stand but in one place: the input is made anew in each. */
  repeatedValues: number;
  /** Members of the objects in all variables, wherever they stand: PostgreSQL takes seconds to plan thousands of conditions. */
  conditions: number;
  /** Objects and lists within each other in the input, as those of `and`, `or` and `not`. */
  inputDepth: number;
  /** Rows of a page: the largest `first` and `last`. */
  page: number;
  /** Rows of a list that is asked for without `first` and `last`; a longer one is an error. */
  rows: number;
  /** The cost of an operation: see assessment.ts. */
  cost: number;
  /** Milliseconds to plan an operation; more, up to five times, while the process is new. */
  planningMs: number;
  /** Milliseconds after which nothing more of an operation is begun. */
  executionMs: number;
  /** Milliseconds in which PostgreSQL works on an operation, in all; 0 for any number. */
  databaseMs: number;
}

export const GRAPHQL_LIMITS: GraphqlLimits = {
  bodyBytes: 100_000,
  tokens: 2000,
  depth: 15,
  fields: 500,
  complexity: 1000,
  values: 1000,
  repeatedValues: 10_000,
  conditions: 1000,
  inputDepth: 12,
  page: 1000,
  rows: 10_000,
  cost: 50_000,
  planningMs: 1000,
  executionMs: 15_000,
  databaseMs: 10_000,
};

export interface InFlightLimits {
  /** Operations of one client, 0 for any number. */
  perClient: number;
  /** Operations that wait until others end. */
  waiting: number;
  /** How long an operation waits at most, in all its turns together, in milliseconds. */
  waitMs: number;
}

export const IN_FLIGHT_LIMITS: InFlightLimits = { perClient: 0, waiting: 200, waitMs: 5000 };
