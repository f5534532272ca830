// Runs the service: the only file that touches the process.
import { createServer } from "node:http";
import { IndexerStatus } from "../chain/index-status.ts";
import { readMarketFiles } from "../chain/market-files.ts";
import { readCommandLine } from "../db/command-line.ts";
import { progressLine } from "../db/progress-line.ts";
import { similarityWarnings } from "../db/similar-settings.ts";
import { startLive } from "../db/simulate/live-trading.ts";
import { makeApp } from "./compose.ts";
import { isatty } from "node:tty";
import { setFlagsFromString } from "node:v8";
import { readConfig } from "./config.ts";
import { readDocuments } from "../graphql/persisted/documents.ts";
import { databaseFailure } from "../http/database-failure.ts";
import { finishAnswersOf, listen, type Address } from "../http/listen.ts";
import { openKeys } from "../http/keys/api-keys.ts";
import { openLog } from "../http/observe/log.ts";
import { release } from "../http/release.ts";
import { WINDOW_MS, type SharedCounts } from "../http/rate-limit.ts";
import type { SharedCountsOptions } from "../http/shared-counts.ts";
import { metricsServer } from "../http/observe/serve-metrics.ts";
import { makeFilesDir, startExporting } from "./exporting.ts";
import { startIndexing } from "./indexing.ts";
import { SEED, seedEmbedded } from "./seed.ts";
import { openDatabase } from "./served-database.ts";
import { settingNames, settings } from "./settings.ts";
import { stopSignals, unlessAborted } from "./stopping.ts";
import { loadTraces } from "./load-traces.ts";

const STDOUT = 1;

const USAGE = `Usage: npm start [-- options]

Serves DATABASE_URL or, without it, an embedded PostgreSQL with a simulated exchange. Settings are
environment variables: docs/configuration.md.

  --migrate  apply the migrations that DATABASE_URL lacks
  --watch    follow changes of the schema
  --help     show this

${settingNames()}`;

// V8 would learn from the rows of one collection to allocate all rows among old objects, where they stay until the next
// full garbage collection. Then collections of young objects took a tenth of the processor, and stopped it for 50 ms.
setFlagsFromString("--no-allocation-site-pretenuring");

const { values } = readCommandLine({
  usage: USAGE,
  options: {
    migrate: { type: "boolean", default: false },
    watch: { type: "boolean", default: false },
  },
});

const { stop, hurry } = stopSignals(process);

try {
  await run(stop, hurry);
} catch (error) {
  if (!stop.aborted) {
    console.error(forUser(error));
    process.exitCode = 1;
  }
}
// Abandoned work would keep the process alive, as would a collector of traces that does not answer.
if (hurry.aborted || process.env["OTEL_EXPORTER_OTLP_ENDPOINT"]) process.exit();

/** Serves until it is to stop. To hurry, it waits for nothing but the stop of the embedded database. */
async function run(signal: AbortSignal, hurry: AbortSignal): Promise<void> {
  const config = readConfig(process.env);
  // Before the embedded database is filled, which takes long.
  await checkPort(config);
  const { host, metrics: { port: metricsPort } = {} } = config;
  const ofMetrics =
    metricsPort === undefined ? undefined : { host, port: metricsPort, setting: "METRICS_PORT" };
  if (ofMetrics !== undefined) await checkPort(ofMetrics);
  const log = await openLog({ level: config.logLevel, fd: STDOUT, isTerminal: isatty(STDOUT) });
  log.info(`dex-market-data ${release()}, Node.js ${process.versions.node}`);
  const names = settings().map(({ name }) => name);
  for (const line of similarityWarnings(process.env, names)) log.warn(line);

  const { persisted, limits, apiKeysFile } = config;
  const documents =
    persisted.dir === undefined
      ? undefined
      : await readDocuments(persisted.dir, { only: persisted.only, maxBytes: limits.bodyBytes });
  const marketFiles = config.index && (await readMarketFiles(config.index));
  const keyFile = apiKeysFile === undefined ? undefined : openKeys({ file: apiKeysFile, log });
  const lost = Promise.withResolvers<never>();
  // It ends the service below, and is no unhandled rejection before.
  lost.promise.catch(() => undefined);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => log.flush());
  stack.defer(() => keyFile?.close());
  const { embeddedUrl, gate, pool, ownPool, ...pools } = await openDatabase({
    config,
    migrate: values.migrate,
    stack,
    hurry,
    log,
    onLost: lost.reject,
  });
  // Not before the database has its folder, in which no other one may be.
  if (config.filesDir !== undefined) await makeFilesDir(config.filesDir);
  const traces = config.traces && (await loadTraces({ ...config.traces, log }));
  stack.defer(() => unlessAborted(hurry, traces?.close() ?? Promise.resolve()));
  for (const ofClients of [pool, pools.graphqlPool]) traces?.follow(ofClients);
  signal.throwIfAborted();
  const progress = progressLine(process.stderr);
  const indexer = config.index && new IndexerStatus();
  if (embeddedUrl !== undefined && config.index && marketFiles && indexer) {
    const indexing = await startIndexing({
      url: embeddedUrl,
      settings: config.index,
      files: marketFiles,
      dataDir: config.dataDir,
      status: indexer,
      log,
      progress,
    });
    stack.defer(() => unlessAborted(hurry, indexing.stop()));
  } else if (
    embeddedUrl !== undefined &&
    (await seedEmbedded({ url: embeddedUrl, config, signal, log, progress }))
  ) {
    const live = startLive(embeddedUrl, {
      seed: SEED,
      rate: config.simulateRate,
      onError: (error) => log.warn(`The simulated exchange rests: ${error.message}`),
    });
    stack.defer(() => unlessAborted(hurry, live.stop()));
  }
  signal.throwIfAborted();

  if (config.filesDir !== undefined) {
    const exporting = startExporting({
      dir: config.filesDir,
      db: ownPool,
      finality: config.finality,
      // The login of the service: it only reads.
      env: { ...process.env, DATABASE_OWNER_URL: "", DATA_DIR: config.dataDir },
      log,
    });
    stack.defer(() => unlessAborted(hurry, exporting.stop()));
  }

  const cache = config.cache && { ...config.cache, versionFrom: ownPool };
  const sharedCounts = await openCounts(config.rateLimitRedisUrl, log);
  stack.defer(() => sharedCounts?.close());
  const app = await makeApp({
    pools: {
      rest: pool,
      graphql: pools.graphqlPool,
      readiness: pools.readinessPool,
      live: pools.livePool,
      catalogs: ownPool,
    },
    settings: config,
    reports: {
      ...log,
      error: (error, requestId) => {
        // Its database is taken from what is abandoned: that was asked for, and is no fault.
        if (hurry.aborted && databaseFailure(error) !== undefined) return;
        log.error(error, requestId);
      },
    },
    gate,
    indexer,
    metrics: config.metrics && {
      isPublic: config.metrics.port === undefined,
      db: ownPool,
      droppedLines: log.dropped,
    },
    cache,
    clients: { sharedCounts, keys: keyFile?.keys },
    graphql: { documents, watch: values.watch ? { info: log.info } : undefined },
    traces,
  });
  const finishAnswers = finishAnswersOf(app.server);
  stack.defer(() =>
    unlessAborted(
      hurry,
      finishAnswers({ leave: () => app.leaveBalancer(), close: () => app.close() }, hurry),
    ),
  );
  const url = await listen(app.server, config);
  log.info(`Markets   ${url}/`);
  log.info(`REST      ${url}/v1/markets/, described at ${url}/docs`);
  log.info(`GraphiQL  ${url}/graphiql, for POST ${url}/graphql`);

  if (app.metrics && ofMetrics !== undefined) {
    const server = metricsServer(app.metrics);
    stack.defer(() => {
      server.close();
      server.closeAllConnections();
    });
    const metricsUrl = await listen(server, ofMetrics);
    log.info(`Metrics   ${metricsUrl}/metrics`);
  }

  // The signal may have come before this line listens to it.
  signal.throwIfAborted();
  const stopped = new Promise((resolve) => {
    signal.addEventListener("abort", resolve, { once: true });
  });
  await Promise.race([stopped, lost.promise]);
  log.info("Stopping …");
  log.flush();
  hurry.addEventListener("abort", () => log.info("Stopping at once …"), { once: true });
}

/** Only those that share their counts load the client of Redis. */
async function openCounts(
  url: string | undefined,
  log: SharedCountsOptions["log"],
): Promise<SharedCounts | undefined> {
  if (url === undefined) return undefined;
  const { openSharedCounts } = await import("../http/shared-counts.ts");
  return openSharedCounts({ url, windowMs: WINDOW_MS, log });
}

async function checkPort(address: Address): Promise<void> {
  const server = createServer();
  await listen(server, address);
  server.close();
}

/** A message for what the user can mend; the stack of a defect. */
function forUser(error: unknown): string {
  if (error instanceof SuppressedError) return forUser(error.suppressed);
  if (!(error instanceof Error)) return String(error);
  const isDefect = /^(Type|Range|Reference|Syntax)Error$/.test(error.name) && !("code" in error);
  return isDefect ? (error.stack ?? error.message) : error.message;
}
