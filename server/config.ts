// The environment, checked, as one typed object.
import { z } from "zod";
import { readIndexSettings } from "../chain/index-settings.ts";
import { dataDirOf } from "../db/embedded/connection-file.ts";
import { tlsProblem, withTlsOf } from "../db/tls.ts";
import { LISTING_SETTINGS, type ListingSettings } from "../rest/listings/formats.ts";
import { STREAM_LIMITS } from "../rest/stream/stream-endpoint.ts";
import type { CacheOptions } from "../http/cache/answer-cache.ts";
import { GRAPHQL_LIMITS, type GraphqlLimits } from "../graphql/limits/limits.ts";
import { HTTP_BOUNDS, type HttpBounds } from "../http/http-server.ts";
import { variables } from "./settings.ts";
import { contradictions, removedSettings } from "./wrong-settings.ts";

/** Some values of the environment are wrong: `lines` has one line for each. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}

export type Config = ReturnType<typeof readConfig>;

/**
 * Reads the configuration; an empty variable counts as not given. Throws `ConfigError` with a line for
 * each wrong value, which names the variable, the value and what is accepted. No line shows a password.
 */
export function readConfig(env: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(
    Object.keys(variables)
      .map((name) => [name, env[name]?.trim()])
      .filter(([, value]) => value !== undefined && value !== ""),
  ) as Record<string, string>;
  const { data, error } = z.object(variables).safeParse(given);
  const databaseUrl = data?.DATABASE_URL && withTlsOf(env, data.DATABASE_URL);
  const ownerUrl = data?.DATABASE_OWNER_URL && withTlsOf(env, data.DATABASE_OWNER_URL);
  const isIndexing = INDEXING.some((name) => given[name] !== undefined);
  const index = isIndexing ? readIndexSettings(given) : undefined;
  const lines = [
    ...(error?.issues ?? []).map(({ path }) => wrongValue(String(path[0]), given)),
    ...(index !== undefined && "problems" in index ? index.problems : []),
    ...removedSettings(env),
    ...contradictions(given, data),
    ...tlsProblems({ DATABASE_URL: databaseUrl, DATABASE_OWNER_URL: ownerUrl }),
  ];
  if (data === undefined || lines.length > 0) throw new ConfigError([...new Set(lines)]);
  // Strangers see the metrics only if the operator says so.
  const hasMetrics =
    data.METRICS === undefined
      ? data.METRICS_PORT !== undefined || isLoopback(data.HOST)
      : data.METRICS === "on";
  const http: HttpBounds = {
    // A part of the request.
    headersTimeoutMs: Math.min(HTTP_BOUNDS.headersTimeoutMs, data.REQUEST_TIMEOUT_MS),
    requestTimeoutMs: data.REQUEST_TIMEOUT_MS,
    idleMs: data.IDLE_TIMEOUT_MS,
    maxHeaderBytes: HTTP_BOUNDS.maxHeaderBytes,
    maxConnections: data.MAX_CONNECTIONS,
  };
  const limits: GraphqlLimits = {
    ...GRAPHQL_LIMITS,
    page: data.MAX_PAGE,
    rows: data.MAX_ROWS,
    cost: data.MAX_COST,
    bodyBytes: data.MAX_BODY_BYTES,
    // What a site may plan it may also write down.
    tokens: Math.max(GRAPHQL_LIMITS.tokens, 2 * data.MAX_COMPLEXITY),
    depth: data.MAX_DEPTH,
    fields: Math.max(GRAPHQL_LIMITS.fields, Math.ceil(data.MAX_COMPLEXITY / 2)),
    complexity: data.MAX_COMPLEXITY,
    values: Math.max(GRAPHQL_LIMITS.values, data.MAX_PAGE),
    // As for a statement of REST.
    databaseMs: data.STATEMENT_TIMEOUT_MS,
  };
  const cache: CacheOptions = { bytes: data.CACHE_BYTES, checkMs: data.CACHE_CHECK_MS };
  const listings: ListingSettings = {
    exchangeName: data.EXCHANGE_NAME,
    usdTokens: data.USD_TOKENS ?? LISTING_SETTINGS.usdTokens,
  };
  return {
    listings,
    explorer: data.EXPLORER_URL ?? {},
    host: data.HOST,
    port: data.PORT,
    reusePort: data.REUSE_PORT === "1",
    databaseUrl,
    databaseOwnerUrl: ownerUrl ?? databaseUrl,
    exposedSchemas: data.EXPOSED_SCHEMAS ?? [],
    dataDir: dataDirOf(data.DATA_DIR),
    /** Of the files of each day; undefined for none. */
    filesDir: data.FILES_DIR,
    seedTrades: data.SEED_TRADES,
    simulateRate: data.SIMULATE_RATE,
    poolSize: data.POOL_SIZE,
    graphqlPoolSize: data.GRAPHQL_POOL_SIZE,
    poolQueue: data.POOL_QUEUE,
    poolWaitMs: data.POOL_WAIT_MS,
    poolHoldMs: data.POOL_HOLD_MS,
    statementTimeoutMs: data.STATEMENT_TIMEOUT_MS,
    // An operation has several statements.
    graphqlStatementTimeoutMs: Math.ceil(data.STATEMENT_TIMEOUT_MS / 2),
    lockTimeoutMs: data.LOCK_TIMEOUT_MS,
    prepare: data.PREPARE === "on",
    rateLimit: data.RATE_LIMIT,
    apiKeysFile: data.API_KEYS_FILE,
    rateLimitRedisUrl: data.RATE_LIMIT_REDIS_URL,
    trustedProxies: data.TRUST_PROXY,
    publicUrl: data.PUBLIC_URL,
    persisted: { dir: data.PERSISTED_DIR, only: data.PERSISTED_ONLY === "1" },
    inFlight: {
      perClient: data.MAX_CONCURRENT,
      waiting: data.POOL_QUEUE,
      waitMs: data.POOL_WAIT_MS,
    },
    requestsPerClient: data.MAX_REQUESTS_PER_CLIENT,
    streams: {
      ...STREAM_LIMITS,
      all: data.MAX_STREAMS,
      perClient: data.MAX_STREAMS_PER_CLIENT,
      bufferBytes: data.STREAM_BUFFER_BYTES,
    },
    http,
    logLevel: data.LOG_LEVEL,
    limits,
    maxHeadAge: data.MAX_HEAD_AGE,
    maxReplicaLag: data.MAX_REPLICA_LAG,
    minBlockWaitMs: data.MIN_BLOCK_WAIT_MS,
    /** Of past answers, whoever fills the database. */
    finality: data.FINALITY,
    /** Their port; undefined for the service's own. */
    metrics: hasMetrics ? { port: data.METRICS_PORT } : undefined,
    /** Undefined for none; the rest of OpenTelemetry's settings is read where they are made. */
    traces:
      data.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? undefined
        : {
            protocol: data.OTEL_EXPORTER_OTLP_PROTOCOL,
            sampler: data.OTEL_TRACES_SAMPLER,
            ratio: data.OTEL_TRACES_SAMPLER_ARG,
          },
    cache: data.CACHE_BYTES > 0 ? cache : undefined,
    /** The chain that is indexed into the embedded database. */
    index: index !== undefined && "exchange" in index ? index : undefined,
  };
}

/** Any of them asks for an indexer. */
const INDEXING = ["RPC_URL", "EXCHANGE", "FROM_BLOCK"] as const;

const tlsProblems = (urls: Record<string, string | undefined>): string[] =>
  Object.entries(urls).flatMap(([name, url]) => {
    const problem = url && tlsProblem(url);
    return problem ? [`${name}: ${problem}`] : [];
  });

const isLoopback = (host: string): boolean => /^(localhost|127\.[\d.]+|::1)$/.test(host);

function wrongValue(name: string, given: Record<string, string>): string {
  const accepted = variables[name as keyof typeof variables].description ?? "";
  // A URL that cannot be parsed may hold a password anywhere.
  const shown = /_(URL|ENDPOINT)$/.test(name) ? "what was given" : JSON.stringify(given[name]);
  return `${name}: ${shown} is not ${accepted}.`;
}
