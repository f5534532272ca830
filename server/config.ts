// The environment, checked, as one typed object. docs/configuration.md describes each variable.
import proxyaddr from "proxy-addr";
import { z } from "zod";
import { indexVariables, readIndexSettings } from "../chain/settings.ts";
import { dataDirOf } from "../db/embedded/connection.ts";
import { areOwnSchemas, EXPOSED_SCHEMAS_ACCEPTED, namesOfSchemas } from "../db/exposed-schemas.ts";
import { isPostgresUrl, POSTGRES_URL_ACCEPTED } from "../db/postgres-url.ts";
import { tlsProblem, withTlsOf } from "../db/tls.ts";
import { LISTING_SETTINGS, type ListingSettings } from "../rest/listings/formats.ts";
import { STREAM_LIMITS } from "../rest/stream/stream-endpoint.ts";
import type { CacheOptions } from "./http/cache/answer-cache.ts";
import type { TrustedProxies } from "./http/client-address.ts";
import { GRAPHQL_LIMITS, type GraphqlLimits } from "./graphql/limits/limits.ts";
import { HTTP_BOUNDS, type HttpBounds } from "./http/http-server.ts";
import { LOG_LEVELS } from "./http/observe/log.ts";

/** Some values of the environment are wrong: `lines` has one line for each. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}

/** A number in plain digits: Number() alone would take `0x10`, `1e3` and a space. */
const number = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .transform(Number);
const bounded = (least: number, most: number) => number.pipe(z.int().min(least).max(most));

/** An integer, the meaning of 0 in parentheses. */
const integer = (usual: number, least: number, most: number, { of = "", zero = "" } = {}) =>
  bounded(least, most)
    .default(usual)
    .describe(`an integer${of && ` of ${of}`} from ${least}${zero && ` (${zero})`} to ${most}`);
const milliseconds = (usual: number, least = 1) =>
  integer(usual, least, 3_600_000, { of: "milliseconds", zero: least === 0 ? "never" : "" });
const atMost = (usual: number, least = 1, most = 1_000_000) => integer(usual, least, most);
const named = (words: readonly string[]): string =>
  words
    .map((word) => `\`${word}\``)
    .join(", ")
    .replace(/, ([^,]*)$/, " or $1");
const ONE_ZERO = ["1", "0"] as const;
const ON_OFF = ["on", "off"] as const;
const SEEDS = ["simulated", "none"] as const;
const postgresUrl = z.string().refine(isPostgresUrl).optional().describe(POSTGRES_URL_ACCEPTED);

const variables = {
  HOST: z
    .string()
    .regex(/^[^\s/]+$/)
    .default("127.0.0.1")
    .describe("an IP address or a host name, such as 127.0.0.1 or 0.0.0.0"),
  PORT: integer(3000, 0, 65_535, { zero: "any free port" }),
  REUSE_PORT: z.enum(ONE_ZERO).default("0").describe(named(ONE_ZERO)),
  DATABASE_URL: postgresUrl,
  DATABASE_OWNER_URL: postgresUrl,
  EXPOSED_SCHEMAS: z
    .string()
    .transform(namesOfSchemas)
    .refine(areOwnSchemas)
    .optional()
    .describe(EXPOSED_SCHEMAS_ACCEPTED),
  DATA_DIR: z.string().optional().describe("a path"),
  EMBEDDED_SEED: z.enum(SEEDS).default("simulated").describe(named(SEEDS)),
  SEED_TRADES: integer(20_000, 1, 5_000_000),
  SIMULATE_RATE: number
    .pipe(z.number().min(0).max(100))
    .default(1)
    .describe("a number from 0 (off) to 100 trades a second"),
  POOL_SIZE: integer(10, 1, 1000),
  GRAPHQL_POOL_SIZE: integer(5, 1, 1000),
  POOL_QUEUE: integer(200, 0, 100_000, { zero: "nobody waits" }),
  POOL_WAIT_MS: milliseconds(5000),
  POOL_HOLD_MS: milliseconds(30_000),
  STATEMENT_TIMEOUT_MS: milliseconds(10_000, 0),
  GRAPHQL_STATEMENT_TIMEOUT_MS: milliseconds(5000, 0),
  LOCK_TIMEOUT_MS: milliseconds(3000, 0),
  PREPARE: z.enum(ON_OFF).default("on").describe(named(ON_OFF)),
  RATE_LIMIT: integer(6000, 0, 1_000_000_000, { of: "requests a minute", zero: "no limit" }),
  RATE_LIMIT_REDIS_URL: z
    .string()
    .refine((text) => /^rediss?:$/.test(URL.parse(text)?.protocol ?? ""))
    .optional()
    .describe("a URL such as redis://user:password@host:6379/0, or rediss:// for TLS"),
  TRUST_PROXY: z
    .string()
    .transform(trustedProxies)
    .refine((trusted) => trusted !== undefined)
    .default(0)
    .describe(
      "a number of proxies from 0 to 10, or their addresses or networks, such as 10.0.0.0/8, separated by commas",
    ),
  MAX_CONCURRENT: integer(8, 0, 1_000_000, { zero: "any number" }),
  MAX_STREAMS: integer(STREAM_LIMITS.all, 0, 1_000_000, { zero: "none" }),
  MAX_STREAMS_PER_CLIENT: atMost(STREAM_LIMITS.perClient),
  STREAM_BUFFER_BYTES: integer(STREAM_LIMITS.bufferBytes, 10_000, 1_000_000_000, { of: "bytes" }),
  HEADERS_TIMEOUT_MS: milliseconds(HTTP_BOUNDS.headersTimeoutMs),
  REQUEST_TIMEOUT_MS: milliseconds(HTTP_BOUNDS.requestTimeoutMs),
  IDLE_TIMEOUT_MS: milliseconds(HTTP_BOUNDS.idleMs),
  MAX_HEADER_BYTES: integer(HTTP_BOUNDS.maxHeaderBytes, 1024, 1_000_000, { of: "bytes" }),
  MAX_CONNECTIONS: atMost(HTTP_BOUNDS.maxConnections),
  LOG_LEVEL: z.enum(LOG_LEVELS).default("info").describe(named(LOG_LEVELS)),
  MAX_PAGE: atMost(GRAPHQL_LIMITS.page),
  MAX_ROWS: atMost(GRAPHQL_LIMITS.rows),
  MAX_COST: atMost(GRAPHQL_LIMITS.cost, 1, 1_000_000_000),
  MAX_BODY_BYTES: integer(GRAPHQL_LIMITS.bodyBytes, 1000, 10_000_000, { of: "bytes" }),
  // The introspection query of tools needs these least values.
  MAX_TOKENS: atMost(GRAPHQL_LIMITS.tokens, 200),
  MAX_DEPTH: atMost(GRAPHQL_LIMITS.depth, 15, 100),
  MAX_FIELDS: atMost(GRAPHQL_LIMITS.fields, 250),
  MAX_COMPLEXITY: atMost(GRAPHQL_LIMITS.complexity, 100),
  MAX_VALUES: atMost(GRAPHQL_LIMITS.values),
  MAX_INPUT_DEPTH: atMost(GRAPHQL_LIMITS.inputDepth, 2, 100),
  PLANNING_TIMEOUT_MS: milliseconds(GRAPHQL_LIMITS.planningMs),
  EXECUTION_TIMEOUT_MS: milliseconds(GRAPHQL_LIMITS.executionMs),
  MAX_HEAD_AGE: integer(0, 0, 31_536_000, { of: "seconds", zero: "any age" }),
  MAX_REPLICA_LAG: integer(0, 0, 31_536_000, { of: "seconds", zero: "any lag" }),
  MIN_BLOCK_WAIT_MS: integer(1000, 0, 60_000, { of: "milliseconds", zero: "nobody waits" }),
  METRICS: z.enum(ON_OFF).optional().describe(named(ON_OFF)),
  METRICS_PORT: bounded(0, 65_535)
    .optional()
    .describe("an integer from 0 (any free port) to 65535"),
  CACHE: z.enum(ON_OFF).default("on").describe(named(ON_OFF)),
  CACHE_BYTES: integer(64 * 1024 * 1024, 1_000_000, 1_000_000_000_000, { of: "bytes" }),
  CACHE_CHECK_MS: integer(50, 0, 60_000, { of: "milliseconds", zero: "ask each time" }),
  EXCHANGE_NAME: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/)
    .default(LISTING_SETTINGS.exchangeName)
    .describe("1 to 40 letters, digits, dots, underscores and hyphens, such as oasisdex"),
  USD_TOKENS: z
    .string()
    .transform(symbolsAndAddresses)
    .refine((names) => names.every(isSymbolOrAddress))
    .optional()
    .describe("symbols or addresses of tokens, separated by commas, such as DAI,USDC"),
  ...indexVariables,
};

/** One variable of the environment. */
export interface Setting {
  name: string;
  usual: string | number | undefined;
  accepted: string;
}

/** Every variable that `readConfig` reads itself; PGSSL variables are PostgreSQL's. */
export const settings = (): Setting[] =>
  Object.entries(variables).map(([name, variable]) => {
    const usual: unknown = variable.safeParse(undefined).data;
    const isShown = typeof usual === "string" || typeof usual === "number";
    return { name, usual: isShown ? usual : undefined, accepted: variable.description ?? "" };
  });

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
    headersTimeoutMs: data.HEADERS_TIMEOUT_MS,
    requestTimeoutMs: data.REQUEST_TIMEOUT_MS,
    idleMs: data.IDLE_TIMEOUT_MS,
    maxHeaderBytes: data.MAX_HEADER_BYTES,
    maxConnections: data.MAX_CONNECTIONS,
  };
  const limits: GraphqlLimits = {
    page: data.MAX_PAGE,
    rows: data.MAX_ROWS,
    cost: data.MAX_COST,
    bodyBytes: data.MAX_BODY_BYTES,
    tokens: data.MAX_TOKENS,
    depth: data.MAX_DEPTH,
    fields: data.MAX_FIELDS,
    complexity: data.MAX_COMPLEXITY,
    values: data.MAX_VALUES,
    inputDepth: data.MAX_INPUT_DEPTH,
    planningMs: data.PLANNING_TIMEOUT_MS,
    executionMs: data.EXECUTION_TIMEOUT_MS,
  };
  const cache: CacheOptions = { bytes: data.CACHE_BYTES, checkMs: data.CACHE_CHECK_MS };
  const listings: ListingSettings = {
    exchangeName: data.EXCHANGE_NAME,
    usdTokens: data.USD_TOKENS ?? LISTING_SETTINGS.usdTokens,
  };
  return {
    listings,
    host: data.HOST,
    port: data.PORT,
    reusePort: data.REUSE_PORT === "1",
    databaseUrl,
    databaseOwnerUrl: ownerUrl ?? databaseUrl,
    exposedSchemas: data.EXPOSED_SCHEMAS ?? [],
    dataDir: dataDirOf(data.DATA_DIR),
    embeddedSeed: data.EMBEDDED_SEED,
    seedTrades: data.SEED_TRADES,
    simulateRate: data.SIMULATE_RATE,
    poolSize: data.POOL_SIZE,
    graphqlPoolSize: data.GRAPHQL_POOL_SIZE,
    poolQueue: data.POOL_QUEUE,
    poolWaitMs: data.POOL_WAIT_MS,
    poolHoldMs: data.POOL_HOLD_MS,
    statementTimeoutMs: data.STATEMENT_TIMEOUT_MS,
    graphqlStatementTimeoutMs: data.GRAPHQL_STATEMENT_TIMEOUT_MS,
    lockTimeoutMs: data.LOCK_TIMEOUT_MS,
    prepare: data.PREPARE === "on",
    rateLimit: data.RATE_LIMIT,
    rateLimitRedisUrl: data.RATE_LIMIT_REDIS_URL,
    trustedProxies: data.TRUST_PROXY,
    maxConcurrent: data.MAX_CONCURRENT,
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
    /** Their port; undefined for the service's own. */
    metrics: hasMetrics ? { port: data.METRICS_PORT } : undefined,
    cache: data.CACHE === "on" ? cache : undefined,
    /** The chain that is indexed into the embedded database. */
    index: index !== undefined && "exchange" in index ? index : undefined,
  };
}

/** Any of them asks for an indexer. */
const INDEXING = ["RPC_URL", "EXCHANGE", "FROM_BLOCK"] as const;

type Values = z.infer<z.ZodObject<typeof variables>>;

/** Lines for values that are right by themselves, but not together. */
function contradictions(given: Record<string, string>, data: Values | undefined): string[] {
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
  if (given["METRICS"] === "off" && given["METRICS_PORT"] !== undefined) {
    lines.push(
      "METRICS_PORT is given with METRICS=off: give the port to serve the metrics there, or neither.",
    );
  }
  if (data !== undefined && data.REQUEST_TIMEOUT_MS < data.HEADERS_TIMEOUT_MS) {
    lines.push(
      `REQUEST_TIMEOUT_MS: ${data.REQUEST_TIMEOUT_MS} is less than HEADERS_TIMEOUT_MS, ` +
        `${data.HEADERS_TIMEOUT_MS}, which is a part of it.`,
    );
  }
  if (data !== undefined && data.MAX_COST < data.MAX_PAGE) {
    lines.push(
      `MAX_COST: ${data.MAX_COST} is less than MAX_PAGE, ${data.MAX_PAGE}, which a page costs.`,
    );
  }
  return lines;
}

const tlsProblems = (urls: Record<string, string | undefined>): string[] =>
  Object.entries(urls).flatMap(([name, url]) => {
    const problem = url && tlsProblem(url);
    return problem ? [`${name}: ${problem}`] : [];
  });

const isLoopback = (host: string): boolean => /^(localhost|127\.[\d.]+|::1)$/.test(host);

function wrongValue(name: string, given: Record<string, string>): string {
  const accepted = variables[name as keyof typeof variables].description ?? "";
  // A URL that cannot be parsed may hold a password anywhere.
  const shown = name.endsWith("_URL") ? "what was given" : JSON.stringify(given[name]);
  return `${name}: ${shown} is not ${accepted}.`;
}

/** A number of proxies, or their addresses as proxy-addr takes them; undefined for anything else. */
function trustedProxies(text: string): TrustedProxies | undefined {
  if (/^\d+$/.test(text)) return Number(text) <= 10 ? Number(text) : undefined;
  const addresses = text.split(",").map((address) => address.trim());
  try {
    proxyaddr.compile(addresses);
    return addresses;
  } catch {
    return undefined;
  }
}

/** A shortened address is no symbol. */
function isSymbolOrAddress(name: string): boolean {
  return /^0x/i.test(name) ? /^0x[0-9a-f]{40}$/.test(name) : name.length > 0 && name.length <= 100;
}

/** Symbols match in any case, and so do addresses. */
function symbolsAndAddresses(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .map((name) => (/^0x[0-9a-f]{40}$/i.test(name) ? name.toLowerCase() : name.toUpperCase()));
}
