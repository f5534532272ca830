// Settings that are right by themselves, but not together, and those of older checkouts: each stops the start with what to
// give instead.
import { join, resolve, sep } from "node:path";
import { dataDirOf } from "../db/embedded/connection-file.ts";
import { GRAPHQL_LIMITS } from "../graphql/limits/limits.ts";
import { HTTP_BOUNDS } from "../http/http-server.ts";

/** Those of the checked values that depend on each other. */
type Values = Record<"PORT" | "RATE_LIMIT" | "MAX_COST" | "MAX_PAGE", number> & {
  METRICS_PORT?: number | undefined;
};

/** Lines for what is given; the values are undefined where one is wrong by itself. */
export function contradictions(given: Record<string, string>, data: Values | undefined): string[] {
  const has = (name: string): boolean => given[name] !== undefined;
  const dataDir = dataDirOf(given["DATA_DIR"]);
  const filesDir = resolve(given["FILES_DIR"] ?? "");
  const sampler = given["OTEL_TRACES_SAMPLER"] ?? "";
  const found: [isFound: boolean, line: string][] = [
    [
      has("DATABASE_OWNER_URL") && !has("DATABASE_URL"),
      "DATABASE_OWNER_URL is given without DATABASE_URL: give the database to serve as DATABASE_URL, or neither to serve an embedded one.",
    ],
    [
      has("RPC_URL") && has("DATABASE_URL"),
      "RPC_URL is given with DATABASE_URL: the service indexes into an embedded database; for this one run `npm run index`.",
    ],
    [
      has("RATE_LIMIT_REDIS_URL") && data?.RATE_LIMIT === 0,
      "RATE_LIMIT_REDIS_URL is given with RATE_LIMIT=0: give a limit to count for, or neither.",
    ],
    [
      given["PERSISTED_ONLY"] === "1" && !has("PERSISTED_DIR"),
      "PERSISTED_ONLY=1 is given without PERSISTED_DIR: give the folder of the documents to run, or neither.",
    ],
    [
      given["METRICS"] === "off" && has("METRICS_PORT"),
      "METRICS_PORT is given with METRICS=off: give the port to serve the metrics there, or neither.",
    ],
    [
      data !== undefined && data.METRICS_PORT === data.PORT && data.PORT !== 0,
      `METRICS_PORT: ${data?.PORT} is PORT too. Give another METRICS_PORT, or 0 for any that is free.`,
    ],
    [
      has("FILES_DIR") &&
        !has("DATABASE_URL") &&
        (filesDir === dataDir || `${filesDir}${sep}`.startsWith(join(dataDir, "postgres", sep))),
      "FILES_DIR is the folder of the embedded database (DATA_DIR). Give another one, which may be in it, but not in its folder postgres.",
    ],
    [
      has("OTEL_TRACES_SAMPLER_ARG") && !sampler.endsWith("ratio"),
      "OTEL_TRACES_SAMPLER_ARG is given without a sampler that reads it: give OTEL_TRACES_SAMPLER=traceidratio or parentbased_traceidratio, or neither.",
    ],
    [
      data !== undefined && data.MAX_COST < data.MAX_PAGE,
      `MAX_COST: ${data?.MAX_COST} is less than MAX_PAGE, ${data?.MAX_PAGE}, which a page costs.`,
    ],
  ];
  return found.flatMap(([isFound, line]) => (isFound ? line : []));
}

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
