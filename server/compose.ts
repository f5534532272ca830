// The service, put together: what it serves, in the order in which a request meets it.
import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import type { IncomingMessage, RequestListener, Server } from "node:http";
import { ExportedFolder } from "../db/export/exported-folder.ts";
import { VersionPoll } from "../market/version-poll.ts";
import { makeFindAsOf } from "../market/queries/as-of.ts";
import { LoopShare } from "../http/streams/loop-share.ts";
import { OpenStreams } from "../http/streams/open-streams.ts";
import { DatabaseGate, LastHead } from "../http/known-database.ts";
import { referenceRouter } from "../rest/openapi/serve-openapi.ts";
import { answerPlainGets, plainRoutes, versionRouter, type Version } from "../rest/endpoint.ts";
import { LISTING_SETTINGS, listingFormats } from "../rest/listings/formats.ts";
import { readAsOf, restQuestions } from "../rest/question.ts";
import { makeStreams, STREAM_LIMITS } from "../rest/stream/stream-endpoint.ts";
import { filesRouter } from "../rest/files/files-router.ts";
import { v1 } from "../rest/v1/v1-endpoints.ts";
import { v2 } from "../rest/v2/v2-endpoints.ts";
import { AnswerCache } from "../http/cache/answer-cache.ts";
import { makeGraphqlAnswersPlugin } from "../graphql/answers.ts";
import { queryFromAnyOrigin, readFromAnyOrigin } from "../http/cross-origin.ts";
import { onlyJsonPosts, readBodyUpTo } from "../graphql/limits/body.ts";
import { GRAPHQL_LIMITS, IN_FLIGHT_LIMITS } from "../graphql/limits/limits.ts";
import { countRefusals } from "../graphql/limits/counted-refusals.ts";
import {
  makeInFlightPlugin,
  OperationsInFlight,
  shedLoad,
} from "../graphql/limits/operations-in-flight.ts";
import { isForWebSocket, makeLive } from "../graphql/subscriptions/web-socket.ts";
import { persistedGets, persistedQuestions } from "../graphql/persisted/gets.ts";
import { answerPlainPosts } from "../graphql/plain-posts.ts";
import { makeGraphql } from "../graphql/serve.ts";
import { healthRouter } from "../http/health.ts";
import { refuseUnknownKeys } from "../http/keys/api-keys.ts";
import { HeldRequests } from "../http/held-requests.ts";
import { dropAbandoned, HTTP_BOUNDS, makeServer, RequestsWaiting } from "../http/http-server.ts";
import { Metrics } from "../http/observe/metrics.ts";
import {
  begin,
  beginUpgrade,
  clientNames,
  currentState,
  GRAPHQL_PATH,
  noteRoute,
  release,
  stateOf,
  trustedNeighbours,
  when,
  type Step,
} from "../http/request.ts";
import { metricsRouter } from "../http/observe/serve-metrics.ts";
import { refuseUnknownPath } from "../http/paths.ts";
import { pageQuestions } from "../page/page-questions.ts";
import { pageRouter } from "../page/routes.ts";
import { boundConnections } from "../http/connections.ts";
import type { AppOptions } from "./app-options.ts";
import { awaitMinBlock } from "../http/min-block.ts";
import { stopListening } from "../http/listen.ts";
import { rateLimiter } from "../http/rate-limit.ts";
import { Readiness } from "./readiness.ts";
import { statedLimits } from "./stated-limits.ts";
import { answerFailures, refuseAsOf } from "../http/refusal.ts";
import { setFixedHeaders } from "../http/fixed-headers.ts";
import { normalizeOrRefuse } from "../http/well-formed.ts";

export interface App {
  /** Not listening yet. */
  server: Server;
  metrics: Metrics | undefined;
  leaveBalancer: () => Promise<void>;
  /** Stops listening, finishes the answers in flight, and releases everything but the pool. */
  close: () => Promise<void>;
}

/** A path, and what a request below it meets. */
type Mounted = [
  path: string | string[] | RegExp,
  ...handlers: (RequestHandler | ErrorRequestHandler)[],
];

/** Makes the service over a database. It does not listen, and reads no environment. */
export async function makeApp(options: AppOptions): Promise<App> {
  const { gate = new DatabaseGate() } = options;
  const { clients: { keys, sharedCounts } = {}, graphql: { documents, watch } = {} } = options;
  const { rest: pool, graphql: graphqlPool = pool } = options.pools;
  const { live: livePool = pool, catalogs = pool, readiness: readinessPool = pool } = options.pools;
  const { settings = {}, reports = {}, traces } = options;
  const {
    http = HTTP_BOUNDS,
    limits = GRAPHQL_LIMITS,
    streams: streamLimits = STREAM_LIMITS,
  } = settings;
  const {
    rateLimit = 0,
    trustedProxies = 0,
    requestsPerClient = 0,
    minBlockWaitMs = 1000,
  } = settings;
  const { maxHeadAge = 0, maxReplicaLag = 0, exposedSchemas = [] } = settings;
  const { request: onOver = () => undefined, warn = () => undefined } = reports;
  const { bodyBytes } = limits;
  const app = express();
  const head = new LastHead();
  const log = (error: unknown): void => (reports.error ?? console.error)(error, currentState()?.id);
  const formats = listingFormats(settings.listings ?? LISTING_SETTINGS);
  const versions = [v1, v2, ...formats].map(traces?.ofVersion ?? ((version) => version));
  const segments = versions.map(({ name }) => name);
  const cache =
    options.cache &&
    new AnswerCache({
      questions: [
        restQuestions(versions),
        pageQuestions(readAsOf),
        ...(documents ? [persistedQuestions(documents)] : []),
      ],
      ...{ versionFrom: pool, bodyBytes, log },
      ...options.cache,
    });
  const folder =
    settings.filesDir === undefined ? undefined : new ExportedFolder(settings.filesDir);
  const refuse = refuseAsOf(head, plainRoutes(versions));
  const { finality } = settings;
  const findAsOf = makeFindAsOf(pool, finality);
  const sources = { db: pool, head, share: cache?.share, findAsOf, finality };
  const nameOf = clientNames(trustedProxies);
  const clientOf = (req: IncomingMessage): string => stateOf(req).client;
  const versionPoll = new VersionPoll({
    ...{ db: livePool, probe: catalogs, everyMs: streamLimits.checkMs, log },
    lostMs: streamLimits.lostMs,
  });
  const open = new OpenStreams(streamLimits, keys?.streamsOf);
  const requests = new RequestsWaiting();
  const held = new HeldRequests({
    ...{ perClient: requestsPerClient, all: http.maxConnections, bodyBytes },
  });
  const loopShare = new LoopShare(() => requests.any);
  const streams = makeStreams({
    pool: livePool,
    clientPool: pool,
    poll: versionPoll,
    leaveRequests: (res) => {
      requests.leaveOut(res);
      release(stateOf(res.req));
    },
    ...{ share: loopShare, open, limits: streamLimits, clientOf, head },
  });
  const limiter = rateLimiter(rateLimit, refuse, {
    ...{ shared: sharedCounts, hasKeys: keys !== undefined },
  });
  const operations = new OperationsInFlight({
    ...(settings.inFlight ?? IN_FLIGHT_LIMITS),
    connections: graphqlPool.options.max,
  });

  const live = makeLive({
    ...{ pool: graphqlPool, poll: versionPoll, share: loopShare },
    ...{ open, limits: streamLimits, messageBytes: bodyBytes },
    ...{ operations, documents, gate, limiter, clientOf, refuse },
    streamsOfKey: keys?.streamsOf,
    observeSocket: (req, socket) => {
      beginUpgrade(req, socket, nameOf, onOver);
      keys?.identify(req);
    },
    log,
  });
  versionPoll.whenLost(() => {
    streams.endAll("unreachable");
    live.endAll("unreachable");
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

  const counted = metrics === undefined ? [] : [metrics.count];
  // What a request meets, from the first line to the last, and then Express, which takes longer than a cache hit.
  const front: Step[] = [
    begin(
      nameOf,
      [...counted, requests.over, onOver],
      [...counted, requests.over, countRefusals(warn)],
    ),
    ...(traces === undefined ? [] : [traces.step]),
    requests.count,
    ...(keys === undefined ? [] : [keys.step]),
    limiter.limit,
    ...(keys === undefined ? [] : [refuseUnknownKeys(refuse)]),
    held.bound(refuse),
    normalizeOrRefuse(refuse),
    when("isForGraphql", shedLoad(operations, refuse)),
    when("asksForBlock", awaitMinBlock({ db: pool, segments, waitMs: minBlockWaitMs, refuse })),
    ...(cache === undefined ? [] : [cache.answering]),
    dropAbandoned(log),
    when(
      "isForGraphql",
      answerPlainPosts({ process: () => graphql.process, bodyBytes, refuse, log }),
    ),
    answerPlainGets({ versions, gate, refuse, log, ...sources }),
  ];
  const listener = front.reduceRight<RequestListener>((next, step) => step(next), app);
  const server = makeServer(listener, http, bodyBytes, limiter.count, isForWebSocket, log);
  boundConnections(server, {
    ...{ requests: requestsPerClient, streams: streamLimits.perClient, warn },
    isProxy: trustedNeighbours(trustedProxies),
  });

  app.disable("x-powered-by");
  app.enable("case sensitive routing");
  // http/answer.ts makes one for each encoding.
  app.disable("etag");

  const graphql = await makeGraphql(server, {
    pool: graphqlPool,
    catalogs,
    gate,
    log,
    limits,
    operations,
    ...{ exposedSchemas, finality, documents, warn },
    watch,
    live,
    onNewSchema: () => cache?.clear(),
    plugins: [
      ...[makeGraphqlAnswersPlugin(cache), makeInFlightPlugin(operations, documents)],
      ...(traces === undefined ? [] : [traces.plugin]),
    ],
  });
  const readiness = new Readiness({
    ...{ db: readinessPool, gate, versions, maxHeadAge, maxReplicaLag, log },
    withinMs: settings.readyWithinMs,
    otherReasons: () => [...(options.indexer?.reasons() ?? []), ...graphql.reasons()],
  });
  const first = [gate.refuseUntilOpen, graphql.waitForSchema];
  const served = (version: Version): Mounted => [
    `/${version.name}`,
    gate.refuseUntilOpen,
    versionRouter(version, sources),
  ];
  // What a request meets in Express, from the first line to the last. The versions are first, since Express passes each
  // layer before them; their routes set the headers of the line behind them.
  const behind: Mounted[] = [
    ...versions.slice(0, 1).map(served),
    // Without the database.
    ["/v2", filesRouter(folder)],
    ["/v2", gate.refuseUntilOpen, streams.router],
    ...versions.slice(1).map(served),
    ["/", setFixedHeaders, readFromAnyOrigin],
    ["/", healthRouter(readiness)],
    ...(metrics && options.metrics?.isPublic
      ? [["/", metricsRouter(metrics)] satisfies Mounted]
      : []),
    [
      "/",
      pageRouter({
        ...{ pool, gate, head, readAsOf, findAsOf, share: cache?.share, log },
        ...{ explorer: settings.explorer, folder, publicUrl: settings.publicUrl },
        usdTokens: settings.listings?.usdTokens,
        state: {
          reasons: () => readiness.reasons(),
          reasonsOfIndexer: options.indexer && (() => options.indexer?.reasons() ?? []),
          limits: statedLimits(settings),
        },
      }),
    ],
    ["/", referenceRouter(settings.publicUrl)],
    [GRAPHQL_PATH, queryFromAnyOrigin],
    [
      new RegExp(`^${GRAPHQL_PATH}$`),
      noteRoute(""),
      ...(documents ? [persistedGets({ process: () => graphql.process, first })] : []),
      ...[onlyJsonPosts, readBodyUpTo(bodyBytes)],
    ],
    [[GRAPHQL_PATH, "/graphiql"], ...first],
    ["/", graphql.router],
    ["/", refuseUnknownPath],
    ["/", answerFailures(refuse, log)],
  ];
  for (const [path, ...handlers] of behind) app.use(path, ...handlers);

  return {
    server,
    metrics,
    leaveBalancer: () => readiness.leaveBalancer(() => held.count),
    async close() {
      graphql.endStreams();
      streams.close();
      await Promise.all([live.close(), versionPoll.close()]);
      await stopListening(server);
      await graphql.release();
    },
  };
}
