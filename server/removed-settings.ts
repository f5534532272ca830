// Settings of older checkouts: what is given of them stops the start with what holds instead.
import { GRAPHQL_LIMITS } from "../graphql/limits/limits.ts";
import { HTTP_BOUNDS } from "../http/http-server.ts";

/** What an older checkout had, and what is instead. */
const REMOVED: Record<string, string> = {
  CACHE: "CACHE_BYTES=0 turns the cache off",
  EMBEDDED_SEED: "SEED_TRADES=0 leaves a new embedded database empty",
  GRAPHQL_STATEMENT_TIMEOUT_MS: "it is half of STATEMENT_TIMEOUT_MS",
  HEADERS_TIMEOUT_MS: `it is ${HTTP_BOUNDS.headersTimeoutMs}, or REQUEST_TIMEOUT_MS where that is less`,
  MAX_TOKENS: "it follows from MAX_COMPLEXITY",
  MAX_FIELDS: "it follows from MAX_COMPLEXITY",
  MAX_VALUES: "it follows from MAX_PAGE",
  MAX_INPUT_DEPTH: `it is ${GRAPHQL_LIMITS.inputDepth}`,
  PLANNING_TIMEOUT_MS: `it is ${GRAPHQL_LIMITS.planningMs}`,
  EXECUTION_TIMEOUT_MS: `it is ${GRAPHQL_LIMITS.executionMs}`,
  MAX_HEADER_BYTES: `it is ${HTTP_BOUNDS.maxHeaderBytes}`,
};

/** A line for each that is given. */
export const removedSettings = (env: NodeJS.ProcessEnv): string[] =>
  Object.entries(REMOVED)
    .filter(([name]) => (env[name] ?? "") !== "")
    .map(([name, instead]) => `${name} is no setting any more: ${instead}.`);
