// Every variable of the environment that the service reads, by what it is for. docs/configuration.md describes each.
import { z } from "zod";
import { integerText } from "../db/integer-text.ts";
import { indexVariables } from "../chain/index-settings.ts";
import { areOwnSchemas, EXPOSED_SCHEMAS_ACCEPTED, namesOfSchemas } from "../db/exposed-schemas.ts";
import { isPostgresUrl, POSTGRES_URL_ACCEPTED } from "../db/postgres-url.ts";
import { GRAPHQL_LIMITS } from "../graphql/limits/limits.ts";
import { HTTP_BOUNDS } from "../http/http-server.ts";
import { LOG_LEVELS } from "../http/observe/log.ts";
import { LISTING_SETTINGS } from "../rest/listings/formats.ts";
import { STREAM_LIMITS } from "../rest/stream/stream-endpoint.ts";
import {
  atMost,
  explorerUrls,
  isHttpUrl,
  integer,
  isSymbolOrAddress,
  milliseconds,
  named,
  number,
  publicUrl,
  symbolsAndAddresses,
  trustedProxies,
} from "./setting-kinds.ts";

const ONE_ZERO = ["1", "0"] as const;
const ON_OFF = ["on", "off"] as const;
const postgresUrl = z.string().refine(isPostgresUrl).optional().describe(POSTGRES_URL_ACCEPTED);

/** Where the service listens, and what is in front of it. */
const address = {
  HOST: z
    .string()
    .regex(/^[^\s/]+$/)
    .default("127.0.0.1")
    .describe("an IP address or a host name, such as 127.0.0.1 or 0.0.0.0"),
  PORT: integer(3000, 0, 65_535, { zero: "any free port" }),
  REUSE_PORT: z.enum(ONE_ZERO).default("0").describe(named(ONE_ZERO)),
  TRUST_PROXY: z
    .string()
    .transform(trustedProxies)
    .refine((trusted) => trusted !== undefined)
    .default(0)
    .describe(
      "a number of proxies from 0 to 10, or their addresses or networks, such as 10.0.0.0/8, separated by commas",
    ),
  PUBLIC_URL: z
    .string()
    .transform(publicUrl)
    .refine((url) => url !== undefined)
    .optional()
    .describe("a URL such as https://api.example, http or https, without a login or a query"),
};

const database = {
  DATABASE_URL: postgresUrl,
  DATABASE_OWNER_URL: postgresUrl,
  PREPARE: z.enum(ON_OFF).default("on").describe(named(ON_OFF)),
  EXPOSED_SCHEMAS: z
    .string()
    .transform(namesOfSchemas)
    .refine(areOwnSchemas)
    .optional()
    .describe(EXPOSED_SCHEMAS_ACCEPTED),
};

const embeddedDatabase = {
  DATA_DIR: z.string().optional().describe("a path"),
  SEED_TRADES: integer(20_000, 0, 5_000_000, { zero: "an empty database" }),
  SIMULATE_RATE: number
    .pipe(z.number().min(0).max(100))
    .default(1)
    .describe("a number from 0 (off) to 100 trades a second"),
};

/** They protect the database: how much of it the service uses, and for how long. */
const databaseLoad = {
  POOL_SIZE: integer(10, 1, 1000),
  GRAPHQL_POOL_SIZE: integer(5, 1, 1000),
  POOL_QUEUE: integer(200, 0, 100_000, { zero: "no wait" }),
  POOL_WAIT_MS: milliseconds(5000),
  POOL_HOLD_MS: milliseconds(30_000),
  STATEMENT_TIMEOUT_MS: milliseconds(10_000, 0),
  LOCK_TIMEOUT_MS: milliseconds(3000, 0),
};

/** They protect the clients from each other. */
const oneClient = {
  RATE_LIMIT: integer(6000, 0, 1_000_000_000, { of: "requests a minute", zero: "no limit" }),
  RATE_LIMIT_REDIS_URL: z
    .string()
    .refine((text) => /^rediss?:\/\/[^/?#]+(\/\d*)?$/i.test(text) && URL.canParse(text))
    .optional()
    .describe("a URL such as redis://user:password@host:6379/0, or rediss:// for TLS"),
  MAX_REQUESTS_PER_CLIENT: integer(200, 0, 1_000_000, { zero: "any number" }),
  MAX_CONCURRENT: integer(8, 0, 1_000_000, { zero: "any number" }),
  MAX_STREAMS_PER_CLIENT: atMost(STREAM_LIMITS.perClient),
  API_KEYS_FILE: z.string().optional().describe("the path of a file of keys"),
};

/** They protect the process: its memory, and its connections. */
const processLoad = {
  MAX_CONNECTIONS: atMost(HTTP_BOUNDS.maxConnections),
  REQUEST_TIMEOUT_MS: milliseconds(HTTP_BOUNDS.requestTimeoutMs),
  IDLE_TIMEOUT_MS: milliseconds(HTTP_BOUNDS.idleMs),
  MAX_STREAMS: integer(STREAM_LIMITS.all, 0, 1_000_000, { zero: "none" }),
  STREAM_BUFFER_BYTES: integer(STREAM_LIMITS.bufferBytes, 10_000, 1_000_000_000, { of: "bytes" }),
  CACHE_BYTES: integerText(0, 1_000_000_000_000)
    .refine((bytes) => bytes === 0 || bytes >= 1_000_000)
    .default(64 * 1024 * 1024)
    .describe("0 (no cache), or an integer of bytes from 1000000 to 1000000000000"),
};

/** They bound what one GraphQL request asks of the database and the process. */
const graphqlRequest = {
  MAX_BODY_BYTES: integer(GRAPHQL_LIMITS.bodyBytes, 1000, 10_000_000, { of: "bytes" }),
  // The introspection query of tools needs these minimums.
  MAX_DEPTH: atMost(GRAPHQL_LIMITS.depth, 15, 100),
  MAX_COMPLEXITY: atMost(GRAPHQL_LIMITS.complexity, 100),
  MAX_PAGE: atMost(GRAPHQL_LIMITS.page),
  MAX_ROWS: atMost(GRAPHQL_LIMITS.rows),
  MAX_COST: atMost(GRAPHQL_LIMITS.cost, 1, 1_000_000_000),
  PERSISTED_DIR: z.string().optional().describe("the path of a folder with files of GraphQL"),
  PERSISTED_ONLY: z.enum(ONE_ZERO).default("0").describe(named(ONE_ZERO)),
};

/** They protect readers from old data. */
const freshness = {
  CACHE_CHECK_MS: integer(50, 0, 60_000, { of: "milliseconds", zero: "ask each time" }),
  MIN_BLOCK_WAIT_MS: integer(1000, 0, 60_000, { of: "milliseconds", zero: "no wait" }),
  MAX_HEAD_AGE: integer(0, 0, 31_536_000, { of: "seconds", zero: "any age" }),
  MAX_REPLICA_LAG: integer(0, 0, 31_536_000, { of: "seconds", zero: "any lag" }),
};

const observation = {
  LOG_LEVEL: z.enum(LOG_LEVELS).default("info").describe(named(LOG_LEVELS)),
  METRICS: z.enum(ON_OFF).optional().describe(named(ON_OFF)),
  METRICS_PORT: integerText(0, 65_535)
    .optional()
    .describe("an integer from 0 (any free port) to 65535"),
};

const SAMPLERS = [
  ...["always_on", "always_off", "traceidratio"],
  ...["parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"],
] as const;
const PROTOCOLS = ["http/protobuf", "http/json"] as const;

/** OpenTelemetry's names; it reads more itself, such as OTEL_EXPORTER_OTLP_HEADERS. */
const traces = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .refine(isHttpUrl)
    .optional()
    .describe("a URL such as http://127.0.0.1:4318, http or https, without a query"),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(PROTOCOLS)
    .default("http/protobuf")
    .describe(named(PROTOCOLS)),
  OTEL_TRACES_SAMPLER: z.enum(SAMPLERS).default("parentbased_always_on").describe(named(SAMPLERS)),
  OTEL_TRACES_SAMPLER_ARG: number
    .pipe(z.number().min(0).max(1))
    .default(1)
    .describe("a number from 0 (none) to 1 (all), such as 0.01"),
};

const listings = {
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
};

const files = {
  FILES_DIR: z.string().optional().describe("a path"),
};

const pages = {
  EXPLORER_URL: z
    .string()
    .transform(explorerUrls)
    .refine((explorer) => explorer !== undefined)
    .optional()
    .describe(
      "a URL with {tx}, one with {address}, or both, separated by a comma, such as https://explorer.example/tx/{tx},https://explorer.example/address/{address}",
    ),
};

export const variables = {
  ...address,
  ...database,
  ...embeddedDatabase,
  ...databaseLoad,
  ...oneClient,
  ...processLoad,
  ...graphqlRequest,
  ...freshness,
  ...observation,
  ...traces,
  ...listings,
  ...files,
  ...pages,
  ...indexVariables,
};

/** The headings of docs/configuration.md and of `npm start -- --help`. */
const GROUPS: Record<string, Record<string, z.ZodType>> = {
  "The service's address": address,
  "The database": database,
  "The embedded database": embeddedDatabase,
  "What protects the database": databaseLoad,
  "What protects clients from each other": oneClient,
  "What protects the process": processLoad,
  "What bounds a GraphQL request": graphqlRequest,
  "What protects readers from old data": freshness,
  "Log and metrics": observation,
  Traces: traces,
  "Listing formats": listings,
  "The files of each day": files,
  "The market pages": pages,
  "The indexer": indexVariables,
};

/** One variable of the environment. */
export interface Setting {
  name: string;
  group: string;
  defaultValue: string | number | undefined;
  accepted: string;
}

/** Every variable that `readConfig` reads itself; PGSSL variables are PostgreSQL's. */
export const settings = (): Setting[] =>
  Object.entries(GROUPS).flatMap(([group, members]) =>
    Object.entries(members).map(([name, variable]) => {
      const value: unknown = variable.safeParse(undefined).data;
      const isShown = typeof value === "string" || typeof value === "number";
      const defaultValue = isShown ? value : undefined;
      return { name, group, defaultValue, accepted: variable.description ?? "" };
    }),
  );

/** The names of each group on a line, for `--help`. */
export const settingNames = (): string =>
  Object.entries(GROUPS)
    .map(([group, members]) => `  ${group}:\n    ${Object.keys(members).join(" ")}`)
    .join("\n");
