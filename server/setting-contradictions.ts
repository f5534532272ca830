// Settings that are right by themselves, but not together.

/** Those of the checked values that depend on each other; undefined where one is wrong by itself. */
type Values = Record<"PORT" | "RATE_LIMIT" | "MAX_COST" | "MAX_PAGE", number> & {
  METRICS_PORT?: number | undefined;
};

/** Lines for values that are right by themselves, but not together. */
export function contradictions(given: Record<string, string>, data: Values | undefined): string[] {
  const lines: string[] = [];
  if (given["DATABASE_OWNER_URL"] !== undefined && given["DATABASE_URL"] === undefined) {
    lines.push(
      "DATABASE_OWNER_URL is given without DATABASE_URL: give the database to serve as " +
        "DATABASE_URL, or neither to serve an embedded one.",
    );
  }
  if (given["RPC_URL"] !== undefined && given["DATABASE_URL"] !== undefined) {
    lines.push(
      "RPC_URL is given with DATABASE_URL: the service indexes into an embedded database; for this one run " +
        "`npm run index`.",
    );
  }
  if (given["RATE_LIMIT_REDIS_URL"] !== undefined && data?.RATE_LIMIT === 0) {
    lines.push(
      "RATE_LIMIT_REDIS_URL is given with RATE_LIMIT=0: give a limit to count for, or neither.",
    );
  }
  if (given["PERSISTED_ONLY"] === "1" && given["PERSISTED_DIR"] === undefined) {
    lines.push(
      "PERSISTED_ONLY=1 is given without PERSISTED_DIR: give the folder of the documents to run, or neither.",
    );
  }
  if (given["METRICS"] === "off" && given["METRICS_PORT"] !== undefined) {
    lines.push(
      "METRICS_PORT is given with METRICS=off: give the port to serve the metrics there, or neither.",
    );
  }
  if (data !== undefined && data.METRICS_PORT === data.PORT && data.PORT !== 0) {
    lines.push(
      `METRICS_PORT: ${data.PORT} is PORT too. Give another METRICS_PORT, or 0 for any that is free.`,
    );
  }
  const ratio = given["OTEL_TRACES_SAMPLER_ARG"];
  if (ratio !== undefined && !(given["OTEL_TRACES_SAMPLER"] ?? "").endsWith("ratio")) {
    lines.push(
      "OTEL_TRACES_SAMPLER_ARG is given without a sampler that reads it: give OTEL_TRACES_SAMPLER=traceidratio or " +
        "parentbased_traceidratio, or neither.",
    );
  }
  if (data !== undefined && data.MAX_COST < data.MAX_PAGE) {
    lines.push(
      `MAX_COST: ${data.MAX_COST} is less than MAX_PAGE, ${data.MAX_PAGE}, which a page costs.`,
    );
  }
  return lines;
}
