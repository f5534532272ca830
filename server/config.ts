// The environment, checked, as one typed object.
import proxyaddr from "proxy-addr";
import { z } from "zod";
import { dataDirOf } from "../db/embedded/connection.ts";
import { areOwnSchemas, EXPOSED_SCHEMAS_ACCEPTED, namesOfSchemas } from "../db/exposed-schemas.ts";
import { tlsProblem, withTlsOf } from "../db/tls.ts";
import type { TrustedProxies } from "./http/client-address.ts";
import { GRAPHQL_LIMITS, type GraphqlLimits } from "./graphql/limits/limits.ts";
import type { RateLimit } from "./http/rate-limit.ts";
import { HTTP_BOUNDS, type HttpBounds } from "./http/http-server.ts";
import { LOG_LEVELS, type LogLevel } from "./http/observe/log.ts";

export interface Config {
  /** HOST: the address to listen on. Default 127.0.0.1, this machine alone. */
  host: string;
  /** PORT: the port to listen on, 0 for any free one. Default 3000. */
  port: number;
  /** DATABASE_URL: the database to serve. Without it, an embedded one is. */
  databaseUrl: string | undefined;
  /** DATABASE_OWNER_URL: the login that migrates. Default: DATABASE_URL. */
  databaseOwnerUrl: string | undefined;
  /** DATA_DIR: where an embedded database lives. Default `.data` in the repository's root. */
  dataDir: string;
  /** EXPOSED_SCHEMAS: schemas of the site's own that GraphQL shows beside `public`. Default none. */
  exposedSchemas: string[];
  /** EMBEDDED_SEED: what a new embedded database is filled with. Default simulated. */
  embeddedSeed: "simulated" | "none";
  /** SEED_TRADES: how many trades a new embedded database is filled with. Default 20000. */
  seedTrades: number;
  /** SIMULATE_RATE: trades a second that the simulated exchange makes, 0 for none. Default 1. */
  simulateRate: number;
  /** POOL_SIZE: how many connections to the database REST has at most. Default 10. */
  poolSize: number;
  /** GRAPHQL_POOL_SIZE: how many connections of its own GraphQL has at most. Default 5. */
  graphqlPoolSize: number;
  /** POOL_QUEUE: how many requests may wait for a connection; then 503 at once. Default 200. */
  poolQueue: number;
  /** POOL_WAIT_MS: for how long one may wait for it; then 503. Default 5000. */
  poolWaitMs: number;
  /** POOL_HOLD_MS: for how long one may hold it; then it is broken off, and 503. Default 30000. */
  poolHoldMs: number;
  /** STATEMENT_TIMEOUT_MS: for how long PostgreSQL works on a client's statement, 0 for ever. Default 10000. */
  statementTimeoutMs: number;
  /** GRAPHQL_STATEMENT_TIMEOUT_MS: the same of GraphQL's statements. Default 5000. */
  graphqlStatementTimeoutMs: number;
  /** LOCK_TIMEOUT_MS: for how long a statement waits for a lock, 0 for ever. Default 3000. */
  lockTimeoutMs: number;
  /** PREPARE: whether statements are prepared by name and sessions set up; off behind a pooler. Default on. */
  prepare: boolean;
  /** What RATE_LIMIT and TRUST_PROXY give; undefined for RATE_LIMIT=0. */
  rateLimit: RateLimit | undefined;
  /** TRUST_PROXY: which proxies say for whom they ask. Default 0, none. */
  trustedProxies: TrustedProxies;
  /** MAX_CONCURRENT: how many GraphQL operations of one client are in flight, 0 for any number. Default 8. */
  maxConcurrent: number;
  /** HEADERS_TIMEOUT_MS and its like: what a client may take of the HTTP server. */
  http: HttpBounds;
  /** LOG_LEVEL: from which level on lines are logged; one a request is `info`. Default info. */
  logLevel: LogLevel;
  /** MAX_PAGE and its like: what one GraphQL request may ask for. */
  limits: GraphqlLimits;
  /** MAX_HEAD_AGE: how old the head may be for /ready to be 200, in seconds; 0, the default, for any. */
  maxHeadAge: number;
  /**
   * Where METRICS=on gives the metrics: at METRICS_PORT, or undefined for the service's own. Undefined
   * for METRICS=off. Default on where HOST is this machine alone or METRICS_PORT is given, else off.
   */
  metrics: { port: number | undefined } | undefined;
  /** What CACHE=on keeps answers in; undefined for CACHE=off. Default on. */
  cache: CacheConfig | undefined;
}

export interface CacheConfig {
  /** CACHE_BYTES: how much memory the kept answers may take. Default 64 MiB. */
  bytes: number;
  /** CACHE_CHECK_MS: how old an answer may be, in milliseconds. Default 50. */
  checkMs: number;
}

/** Some of the environment's values are wrong: one line for each, in `lines`. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}

const POSTGRES_URL = "a URL such as postgres://user:password@host:5432/database";

/** A number in plain digits: Number() alone would take `0x10`, `1e3` and a space. */
const number = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .transform(Number);
const integer = (least: number, most: number) => number.pipe(z.int().min(least).max(most));
const milliseconds = (usual: number, least = 1) =>
  integer(least, 3_600_000)
    .default(usual)
    .describe(
      `an integer of milliseconds from ${least}${least === 0 ? " (never)" : ""} to 3600000`,
    );
const atMost = (usual: number, least = 1, most = 1_000_000) =>
  integer(least, most).default(usual).describe(`an integer from ${least} to ${most}`);
const postgresUrl = z.string().refine(isPostgresUrl);

const variables = {
  HOST: z
    .string()
    .regex(/^[^\s/]+$/)
    .default("127.0.0.1")
    .describe("an IP address or a host name, such as 127.0.0.1 or 0.0.0.0"),
  PORT: integer(0, 65_535).default(3000).describe("an integer from 0 (any free port) to 65535"),
  DATABASE_URL: postgresUrl.optional().describe(POSTGRES_URL),
  DATABASE_OWNER_URL: postgresUrl.optional().describe(POSTGRES_URL),
  EXPOSED_SCHEMAS: z
    .string()
    .transform(namesOfSchemas)
    .refine(areOwnSchemas)
    .optional()
    .describe(EXPOSED_SCHEMAS_ACCEPTED),
  DATA_DIR: z.string().optional().describe("a path"),
  EMBEDDED_SEED: z
    .enum(["simulated", "none"])
    .default("simulated")
    .describe("`simulated` or `none`"),
  SEED_TRADES: integer(1, 5_000_000).default(20_000).describe("an integer from 1 to 5000000"),
  SIMULATE_RATE: number
    .pipe(z.number().min(0).max(100))
    .default(1)
    .describe("a number from 0 (off) to 100 trades a second"),
  POOL_SIZE: integer(1, 1000).default(10).describe("an integer from 1 to 1000"),
  GRAPHQL_POOL_SIZE: integer(1, 1000).default(5).describe("an integer from 1 to 1000"),
  POOL_QUEUE: integer(0, 100_000)
    .default(200)
    .describe("an integer from 0 (nobody waits) to 100000"),
  POOL_WAIT_MS: milliseconds(5000),
  POOL_HOLD_MS: milliseconds(30_000),
  STATEMENT_TIMEOUT_MS: milliseconds(10_000, 0),
  GRAPHQL_STATEMENT_TIMEOUT_MS: milliseconds(5000, 0),
  LOCK_TIMEOUT_MS: milliseconds(3000, 0),
  PREPARE: z.enum(["on", "off"]).default("on").describe("`on` or `off`"),
  RATE_LIMIT: integer(0, 1_000_000_000)
    .default(6000)
    .describe("an integer of requests a minute from 0 (no limit) to 1000000000"),
  TRUST_PROXY: z
    .string()
    .transform(trustedProxies)
    .refine((trusted) => trusted !== undefined)
    .default(0)
    .describe(
      "a number of proxies from 0 to 10, or their addresses or networks, such as 10.0.0.0/8, separated by commas",
    ),
  MAX_CONCURRENT: integer(0, 1_000_000)
    .default(8)
    .describe("an integer from 0 (any number) to 1000000"),
  HEADERS_TIMEOUT_MS: milliseconds(HTTP_BOUNDS.headersTimeoutMs),
  REQUEST_TIMEOUT_MS: milliseconds(HTTP_BOUNDS.requestTimeoutMs),
  IDLE_TIMEOUT_MS: milliseconds(HTTP_BOUNDS.idleMs),
  MAX_HEADER_BYTES: integer(1024, 1_000_000)
    .default(HTTP_BOUNDS.maxHeaderBytes)
    .describe("an integer of bytes from 1024 to 1000000"),
  MAX_CONNECTIONS: integer(1, 1_000_000)
    .default(HTTP_BOUNDS.maxConnections)
    .describe("an integer from 1 to 1000000"),
  LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .default("info")
    .describe("`silent`, `fatal`, `error`, `warn`, `info`, `debug` or `trace`"),
  MAX_PAGE: atMost(GRAPHQL_LIMITS.page),
  MAX_ROWS: atMost(GRAPHQL_LIMITS.rows),
  MAX_COST: atMost(GRAPHQL_LIMITS.cost, 1, 1_000_000_000),
  MAX_BODY_BYTES: integer(1000, 10_000_000)
    .default(GRAPHQL_LIMITS.bodyBytes)
    .describe("an integer of bytes from 1000 to 10000000"),
  // Tools ask the introspection query: below these it would be refused.
  MAX_TOKENS: atMost(GRAPHQL_LIMITS.tokens, 200),
  MAX_DEPTH: atMost(GRAPHQL_LIMITS.depth, 15, 100),
  MAX_FIELDS: atMost(GRAPHQL_LIMITS.fields, 250),
  MAX_COMPLEXITY: atMost(GRAPHQL_LIMITS.complexity, 100),
  MAX_VALUES: atMost(GRAPHQL_LIMITS.values),
  MAX_INPUT_DEPTH: atMost(GRAPHQL_LIMITS.inputDepth, 2, 100),
  PLANNING_TIMEOUT_MS: milliseconds(GRAPHQL_LIMITS.planningMs),
  EXECUTION_TIMEOUT_MS: milliseconds(GRAPHQL_LIMITS.executionMs),
  MAX_HEAD_AGE: integer(0, 31_536_000)
    .default(0)
    .describe("an integer of seconds from 0 (any age) to 31536000"),
  METRICS: z.enum(["on", "off"]).optional().describe("`on` or `off`"),
  METRICS_PORT: integer(0, 65_535)
    .optional()
    .describe("an integer from 0 (any free port) to 65535"),
  CACHE: z.enum(["on", "off"]).default("on").describe("`on` or `off`"),
  CACHE_BYTES: integer(1_000_000, 1_000_000_000_000)
    .default(64 * 1024 * 1024)
    .describe("an integer of bytes from 1000000 to 1000000000000"),
  CACHE_CHECK_MS: integer(0, 60_000)
    .default(50)
    .describe("an integer of milliseconds from 0 (ask each time) to 60000"),
};

/** One variable of the environment: what it is without being given, and what it accepts. */
export interface Setting {
  name: string;
  usual: string | number | undefined;
  accepted: string;
}

/** Every variable that `readConfig` reads itself; the usual PGSSL ones are PostgreSQL's. */
export const settings = (): Setting[] =>
  Object.entries(variables).map(([name, variable]) => ({
    name,
    usual: usualOf(variable.safeParse(undefined).data),
    accepted: variable.description ?? "",
  }));

const usualOf = (value: unknown): string | number | undefined =>
  typeof value === "string" || typeof value === "number" ? value : undefined;

/**
 * Reads the configuration; a variable that is empty counts as not given. Throws `ConfigError` with
 * a line for each wrong value, which names the variable, the value and what is accepted. No line
 * shows a password.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(
    Object.keys(variables)
      .map((name) => [name, env[name]?.trim()])
      .filter(([, value]) => value !== undefined && value !== ""),
  ) as Record<string, string>;
  const { data, error } = z.object(variables).safeParse(given);
  const lines = (error?.issues ?? []).map(({ path }) => wrongValue(String(path[0]), given));
  if (given["DATABASE_OWNER_URL"] !== undefined && given["DATABASE_URL"] === undefined) {
    lines.push(
      "DATABASE_OWNER_URL is given without DATABASE_URL: give the database to serve as " +
        "DATABASE_URL, or neither to serve an embedded one.",
    );
  }
  if (data !== undefined && data.REQUEST_TIMEOUT_MS < data.HEADERS_TIMEOUT_MS) {
    lines.push(
      `REQUEST_TIMEOUT_MS: ${data.REQUEST_TIMEOUT_MS} is less than HEADERS_TIMEOUT_MS, ` +
        `${data.HEADERS_TIMEOUT_MS}, which is a part of it.`,
    );
  }
  if (given["METRICS"] === "off" && given["METRICS_PORT"] !== undefined) {
    lines.push(
      "METRICS_PORT is given with METRICS=off: give the port to serve the metrics there, or neither.",
    );
  }
  const { DATABASE_URL, DATABASE_OWNER_URL } = data ?? {};
  const databaseUrl = DATABASE_URL && withTlsOf(env, DATABASE_URL);
  const ownerUrl = DATABASE_OWNER_URL && withTlsOf(env, DATABASE_OWNER_URL);
  for (const [name, url] of Object.entries({
    DATABASE_URL: databaseUrl,
    DATABASE_OWNER_URL: ownerUrl,
  })) {
    const problem = url && tlsProblem(url);
    if (problem) lines.push(`${name}: ${problem}`);
  }
  if (data !== undefined && data.MAX_COST < data.MAX_PAGE) {
    lines.push(
      `MAX_COST: ${data.MAX_COST} is less than MAX_PAGE, ${data.MAX_PAGE}, which a page costs.`,
    );
  }
  if (data === undefined || lines.length > 0) throw new ConfigError([...new Set(lines)]);
  return {
    host: data.HOST,
    port: data.PORT,
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
    rateLimit:
      data.RATE_LIMIT === 0
        ? undefined
        : { perMinute: data.RATE_LIMIT, trustedProxies: data.TRUST_PROXY },
    trustedProxies: data.TRUST_PROXY,
    maxConcurrent: data.MAX_CONCURRENT,
    http: {
      headersTimeoutMs: data.HEADERS_TIMEOUT_MS,
      requestTimeoutMs: data.REQUEST_TIMEOUT_MS,
      idleMs: data.IDLE_TIMEOUT_MS,
      maxHeaderBytes: data.MAX_HEADER_BYTES,
      maxConnections: data.MAX_CONNECTIONS,
    },
    logLevel: data.LOG_LEVEL,
    limits: {
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
    },
    maxHeadAge: data.MAX_HEAD_AGE,
    metrics: metricsOf(data),
    cache:
      data.CACHE === "on" ? { bytes: data.CACHE_BYTES, checkMs: data.CACHE_CHECK_MS } : undefined,
  };
}

/** Strangers are not told how the service is doing, unless its operator says so. */
function metricsOf({
  HOST,
  METRICS,
  METRICS_PORT,
}: {
  HOST: string;
  METRICS?: "on" | "off" | undefined;
  METRICS_PORT?: number | undefined;
}): Config["metrics"] {
  const isOn = METRICS ?? (METRICS_PORT !== undefined || isLoopback(HOST) ? "on" : "off");
  return isOn === "on" ? { port: METRICS_PORT } : undefined;
}

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

function isPostgresUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    (url?.protocol === "postgres:" || url?.protocol === "postgresql:") && url.pathname.length > 1
  );
}
