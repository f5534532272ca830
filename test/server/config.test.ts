// The environment, as the service reads it.
import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { GRAPHQL_LIMITS } from "../../graphql/limits/limits.ts";
import { ConfigError, readConfig } from "../../server/config.ts";
import { STREAM_LIMITS } from "../../rest/stream/stream-endpoint.ts";
import { HTTP_BOUNDS } from "../../http/http-server.ts";

/** The lines that say what is wrong with this environment. */
function complaints(env: Record<string, string>): string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.lines;
    throw error;
  }
  return [];
}

it("has a default for everything", () => {
  const { dataDir, ...config } = readConfig({});

  expect(config).toEqual({
    host: "127.0.0.1",
    port: 3000,
    reusePort: false,
    databaseUrl: undefined,
    databaseOwnerUrl: undefined,
    exposedSchemas: [],
    seedTrades: 20_000,
    simulateRate: 1,
    poolSize: 10,
    graphqlPoolSize: 5,
    poolQueue: 200,
    poolWaitMs: 5000,
    poolHoldMs: 30_000,
    http: HTTP_BOUNDS,
    logLevel: "info",
    limits: GRAPHQL_LIMITS,
    statementTimeoutMs: 10_000,
    graphqlStatementTimeoutMs: 5000,
    lockTimeoutMs: 3000,
    prepare: true,
    rateLimit: 6000,
    apiKeysFile: undefined,
    rateLimitRedisUrl: undefined,
    trustedProxies: 0,
    publicUrl: undefined,
    persisted: { dir: undefined, only: false },
    inFlight: { perClient: 8, waiting: 200, waitMs: 5000 },
    requestsPerClient: 200,
    streams: STREAM_LIMITS,
    maxHeadAge: 0,
    maxReplicaLag: 0,
    minBlockWaitMs: 1000,
    metrics: { port: undefined },
    cache: { bytes: 67_108_864, checkMs: 50 },
    listings: { exchangeName: "dex", usdTokens: [] },
    explorer: {},
  });
  expect(basename(dataDir)).toBe(".data");
});

it("takes what is given", () => {
  const DATABASE_URL = "postgres://app:secret@db.example:5433/market?sslmode=require";

  expect(
    readConfig({
      HOST: "::1",
      PORT: "0",
      REUSE_PORT: "1",
      DATABASE_URL,
      EXPOSED_SCHEMAS: "site, other,site",
      DATA_DIR: "data",
      SEED_TRADES: "0",
      SIMULATE_RATE: "0.25",
      POOL_SIZE: "3",
      GRAPHQL_POOL_SIZE: "2",
      PUBLIC_URL: "HTTPS://Api.Example:8443/dex/",
      API_KEYS_FILE: "keys",
      PERSISTED_DIR: "documents",
      PERSISTED_ONLY: "1",
      MAX_CONCURRENT: "0",
      MAX_REQUESTS_PER_CLIENT: "0",
      MAX_STREAMS: "0",
      MAX_STREAMS_PER_CLIENT: "1",
      STREAM_BUFFER_BYTES: "10000",
      POOL_QUEUE: "0",
      POOL_WAIT_MS: "100",
      POOL_HOLD_MS: "2000",
      PREPARE: "off",
      RATE_LIMIT_REDIS_URL: "rediss://counter:secret@redis.example:6380/2",
      REQUEST_TIMEOUT_MS: "2000",
      IDLE_TIMEOUT_MS: "4000",
      MAX_CONNECTIONS: "50",
      LOG_LEVEL: "warn",
      MAX_HEAD_AGE: "60",
      MAX_REPLICA_LAG: "5",
      MIN_BLOCK_WAIT_MS: "300",
      FINALITY: "12",
      METRICS_PORT: "9464",
      CACHE_BYTES: "1000000",
      CACHE_CHECK_MS: "0",
      EXCHANGE_NAME: "oasis.dex",
      USD_TOKENS: "dai, USDC,0x5359E9235CC41CABEE78F7F2A4FCF01E650AB475",
      EXPLORER_URL: "https://scan.example/a?id={address}, http://scan.example:81/tx/{tx}",
    }),
  ).toEqual({
    host: "::1",
    port: 0,
    reusePort: true,
    databaseUrl: DATABASE_URL,
    // Migrates by the same login unless told another.
    databaseOwnerUrl: DATABASE_URL,
    exposedSchemas: ["site", "other"],
    dataDir: resolve("data"),
    seedTrades: 0,
    simulateRate: 0.25,
    poolSize: 3,
    graphqlPoolSize: 2,
    poolQueue: 0,
    poolWaitMs: 100,
    poolHoldMs: 2000,
    http: {
      headersTimeoutMs: 2000,
      requestTimeoutMs: 2000,
      idleMs: 4000,
      maxHeaderBytes: 16_384,
      maxConnections: 50,
    },
    logLevel: "warn",
    limits: GRAPHQL_LIMITS,
    statementTimeoutMs: 10_000,
    graphqlStatementTimeoutMs: 5000,
    lockTimeoutMs: 3000,
    prepare: false,
    finality: 12,
    rateLimit: 6000,
    apiKeysFile: "keys",
    rateLimitRedisUrl: "rediss://counter:secret@redis.example:6380/2",
    trustedProxies: 0,
    publicUrl: "https://api.example:8443/dex",
    persisted: { dir: "documents", only: true },
    inFlight: { perClient: 0, waiting: 0, waitMs: 100 },
    requestsPerClient: 0,
    streams: { ...STREAM_LIMITS, all: 0, perClient: 1, bufferBytes: 10_000 },
    maxHeadAge: 60,
    maxReplicaLag: 5,
    minBlockWaitMs: 300,
    metrics: { port: 9464 },
    cache: { bytes: 1_000_000, checkMs: 0 },
    listings: {
      exchangeName: "oasis.dex",
      usdTokens: ["DAI", "USDC", "0x5359e9235cc41cabee78f7f2a4fcf01e650ab475"],
    },
    explorer: {
      address: "https://scan.example/a?id={address}",
      tx: "http://scan.example:81/tx/{tx}",
    },
  });
});

it("takes each limit of a GraphQL request", () => {
  expect(
    readConfig({
      MAX_PAGE: "1",
      MAX_ROWS: "2",
      MAX_COST: "3",
      MAX_BODY_BYTES: "4000",
      MAX_DEPTH: "16",
      MAX_COMPLEXITY: "3000",
    }).limits,
  ).toEqual({
    page: 1,
    rows: 2,
    cost: 3,
    bodyBytes: 4000,
    tokens: 6000,
    depth: 16,
    fields: 1500,
    complexity: 3000,
    values: 1000,
    repeatedValues: 10_000,
    conditions: 1000,
    inputDepth: 12,
    planningMs: 1000,
    executionMs: 15_000,
    databaseMs: 10_000,
  });
});

it("takes the bounds of a statement, and how often a client may ask", () => {
  expect(
    readConfig({ STATEMENT_TIMEOUT_MS: "0", LOCK_TIMEOUT_MS: "7", RATE_LIMIT: "0" }),
  ).toMatchObject({
    statementTimeoutMs: 0,
    graphqlStatementTimeoutMs: 0,
    limits: { databaseMs: 0 },
    lockTimeoutMs: 7,
    rateLimit: 0,
  });
  expect(readConfig({ STATEMENT_TIMEOUT_MS: "3001" }).graphqlStatementTimeoutMs).toBe(1501);
  expect(readConfig({ REQUEST_TIMEOUT_MS: "20000" }).http.headersTimeoutMs).toBe(10_000);
  expect(readConfig({ RATE_LIMIT: "5", TRUST_PROXY: "2" })).toMatchObject({
    rateLimit: 5,
    trustedProxies: 2,
  });
  expect(readConfig({ TRUST_PROXY: "loopback, 10.0.0.0/8,::1" })).toMatchObject({
    trustedProxies: ["loopback", "10.0.0.0/8", "::1"],
  });
});

it.each([
  "http://:secret@redis.example",
  "redis::secret@redis.example",
  "redis://:secret@redis.example/market",
  "redis://:secret@redis.example/-1",
  "redis://:secret@redis.example/0/1",
  "redis://:secret@redis.example/?db=market",
])("refuses %s as a Redis, and shows nothing of it", (url) => {
  expect(complaints({ RATE_LIMIT_REDIS_URL: url })).toEqual([
    "RATE_LIMIT_REDIS_URL: what was given is not a URL such as redis://user:password@host:6379/0, or rediss:// for TLS.",
  ]);
});

it("refuses a Redis that has nothing to count for", () => {
  expect(complaints({ RATE_LIMIT_REDIS_URL: "redis://redis.example", RATE_LIMIT: "0" })).toEqual([
    "RATE_LIMIT_REDIS_URL is given with RATE_LIMIT=0: give a limit to count for, or neither.",
  ]);
  expect(complaints({ REUSE_PORT: "on" })).toEqual(['REUSE_PORT: "on" is not `1` or `0`.']);
});

it.each(["11", "01", "-1", "true", "proxy.example", "10.0.0.0/33", "10.0.0.1,"])(
  "refuses %s as a proxy",
  (TRUST_PROXY) => {
    expect(complaints({ TRUST_PROXY })).toEqual([
      `TRUST_PROXY: "${TRUST_PROXY}" is not a number of proxies from 0 to 10, or their addresses or networks, such as 10.0.0.0/8, separated by commas.`,
    ]);
  },
);

it.each([
  "api.example",
  "ftp://api.example",
  "https://",
  "https://name:secret@api.example",
  "https://api.example/?",
  "https://api.example/#top",
])("refuses %s as the public URL, and shows nothing of it", (PUBLIC_URL) => {
  expect(complaints({ PUBLIC_URL })).toEqual([
    "PUBLIC_URL: what was given is not a URL such as https://api.example, http or https, without a login or a query.",
  ]);
});

it("refuses limits under which no page and no tool would be answered", () => {
  expect(complaints({ MAX_COST: "999" })).toEqual([
    "MAX_COST: 999 is less than MAX_PAGE, 1000, which a page costs.",
  ]);
  expect(complaints({ MAX_DEPTH: "14" })).toEqual([
    'MAX_DEPTH: "14" is not an integer from 15 to 100.',
  ]);
});

it("refuses what was a setting before, and names what holds instead", () => {
  expect(complaints({ MAX_TOKENS: "5000", MAX_HEADER_BYTES: "8192", MAX_FIELDS: "" })).toEqual([
    "MAX_TOKENS is no setting any more: it follows from MAX_COMPLEXITY.",
    "MAX_HEADER_BYTES is no setting any more: it is 16384.",
  ]);
  expect(
    complaints({
      CACHE: "off",
      EMBEDDED_SEED: "none",
      GRAPHQL_STATEMENT_TIMEOUT_MS: "1",
      HEADERS_TIMEOUT_MS: "1",
    }),
  ).toEqual([
    "CACHE is no setting any more: CACHE_BYTES=0 turns the cache off.",
    "EMBEDDED_SEED is no setting any more: SEED_TRADES=0 leaves a new embedded database empty.",
    "GRAPHQL_STATEMENT_TIMEOUT_MS is no setting any more: it is half of STATEMENT_TIMEOUT_MS.",
    "HEADERS_TIMEOUT_MS is no setting any more: it is 10000, or REQUEST_TIMEOUT_MS where that is less.",
  ]);
});

it.each([
  ["USD_TOKENS", "DAI,,USDC"],
  ["USD_TOKENS", "DAI,0x5359"],
  ["EXCHANGE_NAME", "my exchange"],
  ["EXCHANGE_NAME", "x".repeat(41)],
])("refuses %s=%s for the listing formats", (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(`${name}: ${JSON.stringify(value)} is not `);
});

it.each([
  "https://scan.example/",
  "https://scan.example/{hash}",
  "https://{tx}.example/",
  "javascript:alert({tx})",
  "https://scan.example/{tx},https://scan.example/tx/{tx}",
  "https://user:secret@scan.example/{tx}",
])("refuses %s for an explorer, and shows no password", (EXPLORER_URL) => {
  const [line] = complaints({ EXPLORER_URL });
  expect(line).toMatch(/^EXPLORER_URL: what was given is not a URL with {tx}, one with {address}/);
});

it("keeps no answers in 0 bytes, and refuses a cache too small for one", () => {
  expect(readConfig({ CACHE_BYTES: "0" }).cache).toBeUndefined();
  expect(complaints({ CACHE_BYTES: "999999" })).toEqual([
    'CACHE_BYTES: "999999" is not 0 (no cache), or an integer of bytes from 1000000 to 1000000000000.',
  ]);
});

it.each([
  [{}, { port: undefined }],
  [{ HOST: "localhost" }, { port: undefined }],
  [{ HOST: "127.0.0.2" }, { port: undefined }],
  [{ HOST: "::1" }, { port: undefined }],
  [{ HOST: "0.0.0.0" }, undefined],
  [{ HOST: "::" }, undefined],
  [{ HOST: "127.example" }, undefined],
  [{ HOST: "0.0.0.0", METRICS: "on" }, { port: undefined }],
  [{ HOST: "0.0.0.0", METRICS_PORT: "9464" }, { port: 9464 }],
  [{ METRICS: "off" }, undefined],
])("shows the metrics to no other machine unless METRICS says so: %j", (env, metrics) => {
  expect(readConfig(env).metrics).toEqual(metrics);
});

it("refuses a port for metrics that are off", () => {
  expect(complaints({ METRICS: "off", METRICS_PORT: "9464" })).toEqual([
    "METRICS_PORT is given with METRICS=off: give the port to serve the metrics there, or neither.",
  ]);
});

it.each([{ METRICS_PORT: "3000" }, { PORT: "9464", METRICS_PORT: "9464" }])(
  "refuses the service's own port for the metrics: %j",
  (env) => {
    expect(complaints(env)).toEqual([
      `METRICS_PORT: ${env.METRICS_PORT} is PORT too. Give another METRICS_PORT, or 0 for any that is free.`,
    ]);
    expect(complaints({ PORT: "0", METRICS_PORT: "0" })).toEqual([]);
  },
);

it.each([
  { FILES_DIR: "data/../.data", DATA_DIR: ".data" },
  { FILES_DIR: ".data/postgres", DATA_DIR: ".data" },
  { FILES_DIR: ".data/postgres/files", DATA_DIR: ".data" },
])("refuses the folder of the embedded database for files: %j", (env) => {
  const line =
    "FILES_DIR is the folder of the embedded database (DATA_DIR). Give another one, which may be in it, but not in its folder postgres.";
  expect(complaints(env)).toEqual([line]);
  expect(complaints({ ...env, FILES_DIR: ".data/files" })).toEqual([]);
  expect(complaints({ ...env, DATABASE_URL: "postgres://app@db.example/market" })).toEqual([]);
});

it("refuses names of schemas that a semicolon separates", () => {
  expect(complaints({ EXPOSED_SCHEMAS: "a;b" })).toEqual([
    'EXPOSED_SCHEMAS: "a;b" is not names of your own schemas, separated by commas.',
  ]);
});

it("refuses to run only documents of a folder that is not given", () => {
  expect(complaints({ PERSISTED_ONLY: "1" })).toEqual([
    "PERSISTED_ONLY=1 is given without PERSISTED_DIR: give the folder of the documents to run, or neither.",
  ]);
});

it("takes an empty variable as one that is not given", () => {
  expect(readConfig({ PORT: "", DATABASE_URL: " ", SIMULATE_RATE: "" })).toEqual(readConfig({}));
});

it("keeps the owner's login apart from the service's", () => {
  const urls = {
    DATABASE_URL: "postgres://app@localhost/market",
    DATABASE_OWNER_URL: "postgresql://dba@localhost/market",
  };

  expect(readConfig(urls)).toMatchObject({
    databaseUrl: urls.DATABASE_URL,
    databaseOwnerUrl: urls.DATABASE_OWNER_URL,
  });
});

it("names each wrong variable, its value and what is accepted, all at once", () => {
  expect(
    complaints({
      HOST: "here and there",
      PORT: "65536",
      SEED_TRADES: "none",
      SIMULATE_RATE: "01",
      POOL_SIZE: "0",
      LOG_LEVEL: "loud",
      MAX_HEAD_AGE: "1h",
      METRICS: "public",
      METRICS_PORT: "65536",
      CACHE_BYTES: "64MB",
      CACHE_CHECK_MS: "-1",
      FINALITY: "0x40",
    }),
  ).toEqual([
    'HOST: "here and there" is not an IP address or a host name, such as 127.0.0.1 or 0.0.0.0.',
    'PORT: "65536" is not an integer from 0 (any free port) to 65535.',
    'SEED_TRADES: "none" is not an integer from 0 (an empty database) to 5000000.',
    'SIMULATE_RATE: "01" is not a number from 0 (off) to 100 trades a second.',
    'POOL_SIZE: "0" is not an integer from 1 to 1000.',
    'CACHE_BYTES: "64MB" is not 0 (no cache), or an integer of bytes from 1000000 to 1000000000000.',
    'CACHE_CHECK_MS: "-1" is not an integer of milliseconds from 0 (ask each time) to 60000.',
    'MAX_HEAD_AGE: "1h" is not an integer of seconds from 0 (any age) to 31536000.',
    'LOG_LEVEL: "loud" is not `silent`, `fatal`, `error`, `warn`, `info`, `debug` or `trace`.',
    'METRICS: "public" is not `on` or `off`.',
    'METRICS_PORT: "65536" is not an integer from 0 (any free port) to 65535.',
    'FINALITY: "0x40" is not an integer of blocks that the chain may take back, from 0 to 1000000.',
  ]);
});

it.each(["80.5", "80.0", "0x50", "1e3", "+80", "080", "eighty", "-1", "-0", "Infinity"])(
  "refuses %s as a port",
  (PORT) => {
    expect(complaints({ PORT })).toEqual([
      `PORT: "${PORT}" is not an integer from 0 (any free port) to 65535.`,
    ]);
  },
);

it.each([
  "app:secret@localhost/market",
  "mysql://app:secret@localhost/market",
  "postgres://app:secret@localhost",
  "postgres://app:secret@local host/market",
])("refuses %s as a database, and shows nothing of it", (DATABASE_URL) => {
  expect(complaints({ DATABASE_URL })).toEqual([
    "DATABASE_URL: what was given is not a URL such as postgres://user:password@host:5432/database.",
  ]);
});

it("refuses an owner's database without one to serve", () => {
  expect(complaints({ DATABASE_OWNER_URL: "postgres://dba@localhost/market" })).toEqual([
    "DATABASE_OWNER_URL is given without DATABASE_URL: give the database to serve as DATABASE_URL, or neither to serve an embedded one.",
  ]);
});

describe("TLS to the database", () => {
  const DATABASE_URL = "postgres://app@db.example/market";

  it("is asked for by PostgreSQL's own variables, unless the URL asks for something itself", () => {
    const file = fileURLToPath(import.meta.url);
    const env = { PGSSLMODE: "verify-full", PGSSLROOTCERT: file };

    expect(readConfig({ ...env, DATABASE_URL })).toMatchObject({
      databaseUrl: `${DATABASE_URL}?sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`,
      databaseOwnerUrl: `${DATABASE_URL}?sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`,
    });
    expect(
      readConfig({ PGSSLMODE: "verify-full", DATABASE_URL: `${DATABASE_URL}?sslmode=disable` })
        .databaseUrl,
    ).toBe(`${DATABASE_URL}?sslmode=disable`);
    // An embedded database has none.
    expect(readConfig(env).databaseUrl).toBeUndefined();
  });

  it("refuses a mode that does not exist, and a file that cannot be read", () => {
    const MODES = "disable, no-verify, prefer, require, verify-ca, verify-full";

    expect(complaints({ DATABASE_URL: `${DATABASE_URL}?sslmode=requre` })).toEqual([
      `DATABASE_URL: the sslmode "requre" (from the URL or PGSSLMODE) must be one of ${MODES}.`,
    ]);
    expect(complaints({ DATABASE_URL, PGSSLMODE: "allow" })).toEqual([
      `DATABASE_URL: the sslmode "allow" (from the URL or PGSSLMODE) must be one of ${MODES}.`,
    ]);
    expect(complaints({ DATABASE_URL, PGSSLROOTCERT: "/nowhere/ca.pem" })).toEqual([
      "DATABASE_URL: the sslrootcert /nowhere/ca.pem (from the URL or PGSSLROOTCERT) cannot be read (ENOENT).",
    ]);
    expect(
      complaints({ DATABASE_URL: `${DATABASE_URL}?uselibpqcompat=true&sslmode=verify-ca` }),
    ).toEqual([
      "DATABASE_URL: the sslmode verify-ca with uselibpqcompat=true needs a sslrootcert.",
    ]);
  });
});
