// The service, put together: what it serves, in the order in which a request meets it.
import express from "express";
import type { Server } from "node:http";
import type { IndexerStatus } from "../chain/status.ts";
import type { Database, Pool } from "../db/connect.ts";
import type { Config } from "./config.ts";
import { DataWatch } from "./http/live/data-watch.ts";
import { LoopShare } from "./http/live/loop-share.ts";
import { OpenStreams } from "./http/live/open-streams.ts";
import { RequestsWaiting } from "./http/live/requests-waiting.ts";
import { LastHead } from "./http/last-head.ts";
import { referenceRouter } from "../rest/openapi/serve.ts";
import { versionRouter, type ShareAnswer } from "../rest/endpoint.ts";
import { LISTING_SETTINGS, listingFormats } from "../rest/listings/formats.ts";
import { makeStreams, STREAM_LIMITS, type StreamLimits } from "../rest/stream/stream-endpoint.ts";
import { v1 } from "../rest/v1/v1-endpoints.ts";
import { v2 } from "../rest/v2/v2-endpoints.ts";
import { withReadableAccept } from "./http/accept.ts";
import { AnswerCache, type CacheOptions } from "./http/cache/answer-cache.ts";
import { makeGraphqlAnswersPlugin } from "./http/cache/graphql-answers.ts";
import { queryFromAnyOrigin, readFromAnyOrigin } from "./http/cross-origin.ts";
import { withFrontHeaders } from "./http/front-headers.ts";
import { onlyJsonPosts } from "./graphql/only-json-posts.ts";
import { DatabaseGate } from "./http/database-gate.ts";
import { readBodyUpTo } from "./graphql/limits/body.ts";
import { GRAPHQL_LIMITS } from "./graphql/limits/limits.ts";
import {
  IN_FLIGHT_LIMITS,
  makeInFlightPlugin,
  OperationsInFlight,
  type InFlightLimits,
} from "./graphql/limits/operations-in-flight.ts";
import { countRefusals, shedLoad } from "./graphql/limits/shed-load.ts";
import { isForWebSocket, makeLive } from "./graphql/live/web-socket.ts";
import { addGraphql, type WatchOptions } from "./graphql/serve.ts";
import { healthRouter } from "./http/health.ts";
import { HTTP_BOUNDS, makeServer } from "./http/http-server.ts";
import { noteRoute } from "./http/observe/observation.ts";
import { Metrics } from "./http/observe/metrics.ts";
import { ObservedGraphqlPlugin } from "./graphql/observed-graphql.ts";
import { currentRequest, observe, observeUpgrade, type OnOver } from "./http/observe/observe.ts";
import { metricsRouter } from "./http/observe/serve-metrics.ts";
import { refuseBrokenPath, refuseUnknownPath } from "./http/paths.ts";
import { PAGE_PATHS, pageRouter } from "./page/routes.ts";
import { clientNames } from "./http/client-address.ts";
import { withMinBlock } from "./http/min-block.ts";
import { rateLimiter, type SharedCounts } from "./http/rate-limit.ts";
import { Readiness } from "./readiness.ts";
import { answerFailures, refuseAsOf } from "./http/refusal.ts";
import { setStandingHeaders } from "./http/standing-headers.ts";
import { normalizeOrRefuse } from "./http/malformed.ts";

/** Settings that have a default here too. */
type Settings = Pick<
  Config,
  | "http"
  | "limits"
  | "rateLimit"
  | "trustedProxies"
  | "maxHeadAge"
  | "maxReplicaLag"
  | "minBlockWaitMs"
  | "exposedSchemas"
  | "listings"
>;

export interface AppOptions extends Partial<Settings> {
  /** Reads the database as dex_reader. Its maker closes it after the service. */
  pool: Pool;
  /** GraphQL's connections, of the same role. Default: `pool`. */
  graphqlPool?: Pool;
  /** Reads what streams follow, if its statements must wait for no client's. Default: `pool`. */
  livePool?: Pool;
  streams?: StreamLimits;
  /** Asked for the catalogs. Default: `pool`, whose timeouts may be too short for that. */
  catalogs?: Pool;
  /** Opens when the database can be served. Default: open. */
  gate?: DatabaseGate;
  /** Gets each error that is not the client's, and the id of its request. Default: standard error. */
  log?: (error: unknown, requestId?: string) => void;
  /** Gets each request that is over, except refusals for load. */
  onOver?: OnOver;
  /** Gets warnings for the operator, among them the number of refusals for load. */
  warn?: (line: string) => void;
  /** The indexer in this process: it has metrics, and reasons not to be ready. */
  indexer?: Pick<IndexerStatus, "registry" | "reasons"> | undefined;
  /** How long /ready waits for the database, in milliseconds. */
  readyWithinMs?: number;
  /** Undefined for no metrics. */
  metrics?: MetricsOptions | undefined;
  /** Undefined for no cache. */
  cache?: CacheOptions | undefined;
  inFlight?: InFlightLimits;
  /** Counts requests for the rate limit of all processes. Its maker closes it. Default: this process alone. */
  sharedCounts?: SharedCounts | undefined;
  /** Makes GraphQL follow migrations; without it, its schema is that of the start. */
  watch?: WatchOptions | undefined;
}

export interface MetricsOptions {
  /** Whether they are at /metrics. */
  isPublic: boolean;
  /** Asked for the head. Default: `pool`. */
  db?: Database;
  /** How many lines of the log were dropped. */
  droppedLines?: () => number;
}

export interface App {
  /** Not listening yet. */
  server: Server;
  metrics: Metrics | undefined;
  /** Stops listening, finishes the answers in flight, and releases everything but the pool. */
  close: () => Promise<void>;
}

/** Makes the service over a database. It does not listen, and reads no environment. */
export async function makeApp(options: AppOptions): Promise<App> {
  const { pool, graphqlPool = pool, catalogs = pool, gate = new DatabaseGate(), watch } = options;
  const {
    http = HTTP_BOUNDS,
    limits = GRAPHQL_LIMITS,
    rateLimit = 0,
    trustedProxies = 0,
  } = options;
  const { maxHeadAge = 0, exposedSchemas = [], readyWithinMs: withinMs } = options;
  const { minBlockWaitMs = 1000, maxReplicaLag = 0 } = options;
  const { onOver = () => undefined, warn = () => undefined } = options;
  const { bodyBytes } = limits;
  const app = express();
  const head = new LastHead();
  const log = (error: unknown): void => (options.log ?? console.error)(error, currentRequest()?.id);
  const formats = listingFormats(options.listings ?? LISTING_SETTINGS);
  const below = [v1, v2, ...formats].map(({ name }) => name);
  const cache =
    options.cache &&
    new AnswerCache({
      ...{ versionFrom: pool, bodyBytes, below, negotiated: PAGE_PATHS, log },
      ...options.cache,
    });
  const refuse = refuseAsOf(head);
  const clientOf = clientNames(trustedProxies);
  const streamLimits = options.streams ?? STREAM_LIMITS;
  const livePool = options.livePool ?? pool;
  const dataWatch = new DataWatch({ db: livePool, everyMs: streamLimits.checkMs, log });
  const open = new OpenStreams(streamLimits);
  const requests = new RequestsWaiting();
  const loopShare = new LoopShare(() => requests.any);
  const streams = makeStreams({
    pool: livePool,
    clientPool: pool,
    watch: dataWatch,
    requests,
    share: loopShare,
    open,
    limits: streamLimits,
    clientOf,
    head,
  });
  const limiter = rateLimiter(rateLimit, clientOf, refuse, options.sharedCounts);
  const operations = new OperationsInFlight({
    ...(options.inFlight ?? IN_FLIGHT_LIMITS),
    // Some wait for the database while others are planned or serialized.
    running: 2 * graphqlPool.options.max,
  });

  const live = makeLive({
    pool: graphqlPool,
    watch: dataWatch,
    share: loopShare,
    open,
    limits: streamLimits,
    messageBytes: bodyBytes,
    operations,
    gate,
    limiter,
    clientOf,
    refuse,
    observeSocket: (req, socket) =>
      observeUpgrade(req, socket, "/graphql", (over) => counted(over)),
    log,
  });
  const pools = { rest: pool, graphql: graphqlPool };
  const metrics =
    options.metrics &&
    new Metrics({
      ...{ db: pool, droppedLines: () => 0, ...options.metrics },
      ...{ pools, kept: cache },
      others: [
        streams.registry,
        live.registry,
        ...(options.indexer ? [options.indexer.registry] : []),
      ],
    });

  // In front of Express, which takes longer than a cache hit; a request meets the last line first.
  const answering = withReadableAccept(cache ? cache.answering(app) : app);
  const recent = withMinBlock(answering, { db: pool, below, waitMs: minBlockWaitMs, refuse });
  const unshed = shedLoad(recent, { operations, clientOf, refuse });
  const limited = limiter.limit(normalizeOrRefuse(unshed, refuse));
  const counted = countRefusals(onOver, warn);
  const observed = observe(withFrontHeaders(limited), (observation) => {
    metrics?.count(observation);
    counted(observation);
  });
  const server = makeServer(observed, http, bodyBytes, limiter.count, isForWebSocket);
  requests.watch(server);

  app.disable("x-powered-by");
  app.enable("case sensitive routing");
  // http/answer.ts makes one for each encoding.
  app.disable("etag");
  // For the address in the OpenAPI document.
  app.set("trust proxy", trustedProxies);

  // First, since Express passes each layer before it. Its answers have the headers of the next two.
  const share: ShareAnswer | undefined = cache && ((req, make) => cache.share(req, make));
  app.use("/v1", refuseBrokenPath, gate.refuseUntilOpen, versionRouter(v1, pool, head, share));
  app.use("/v2", refuseBrokenPath, gate.refuseUntilOpen, streams.router);
  for (const version of [v2, ...formats]) {
    const router = versionRouter(version, pool, head, share);
    app.use(`/${version.name}`, refuseBrokenPath, gate.refuseUntilOpen, router);
  }

  app.use(setStandingHeaders);
  app.use(readFromAnyOrigin);
  app.use(refuseBrokenPath);

  const reasonsOfIndexer = (): string[] => options.indexer?.reasons() ?? [];
  const readiness = { db: pool, gate, maxHeadAge, maxReplicaLag, withinMs, log, reasonsOfIndexer };
  app.use(healthRouter(new Readiness(readiness)));
  if (metrics && options.metrics?.isPublic) app.use(metricsRouter(metrics));
  app.use(pageRouter({ pool, gate, head, share, log }));
  app.use(referenceRouter());

  app.use("/graphql", queryFromAnyOrigin);
  app.all(/^\/graphql$/, noteRoute("/graphql"), onlyJsonPosts, readBodyUpTo(bodyBytes));
  const graphql = await addGraphql(app, server, {
    pool: graphqlPool,
    catalogs,
    gate,
    log,
    limits,
    operations,
    exposedSchemas,
    watch,
    live,
    onNewSchema: () => cache?.clear(),
    plugins: [
      makeGraphqlAnswersPlugin(cache),
      ObservedGraphqlPlugin,
      makeInFlightPlugin(operations, clientOf),
    ],
  });

  app.use(refuseUnknownPath);
  app.use(answerFailures(refuse, log));

  return {
    server,
    metrics,
    async close() {
      graphql.endStreams();
      streams.close();
      await Promise.all([live.close(), dataWatch.close()]);
      await stopListening(server);
      await graphql.release();
    },
  };
}

async function stopListening(server: Server): Promise<void> {
  if (!server.listening) return;
  await new Promise((resolve) => server.close(resolve));
}
