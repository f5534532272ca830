// The service, put together: what it serves, in the order in which a request meets it.
import express from "express";
import type { Server } from "node:http";
import type { Database, Pool } from "../db/connect.ts";
import { LastHead } from "./http/last-head.ts";
import { referenceRouter } from "../rest/openapi/serve.ts";
import { versionRouter, type ShareAnswer } from "../rest/endpoint.ts";
import { v1 } from "../rest/v1/v1-endpoints.ts";
import { v2 } from "../rest/v2/v2-endpoints.ts";
import { withReadableAccept } from "./http/accept.ts";
import { AnswerCache, type CacheOptions } from "./http/cache/answer-cache.ts";
import { makeGraphqlAnswersPlugin } from "./http/cache/graphql-answers.ts";
import { queryFromAnyOrigin, readFromAnyOrigin } from "./http/cross-origin.ts";
import { withFrontHeaders } from "./http/front-headers.ts";
import { readEmptyBody } from "./graphql/empty-bodies.ts";
import { onlyJsonPosts } from "./graphql/only-json-posts.ts";
import { DatabaseGate } from "./http/database-gate.ts";
import { readBodyUpTo } from "./graphql/limits/body.ts";
import { GRAPHQL_LIMITS, type GraphqlLimits } from "./graphql/limits/limits.ts";
import {
  IN_FLIGHT_LIMITS,
  makeInFlightPlugin,
  OperationsInFlight,
  type InFlightLimits,
} from "./graphql/limits/operations-in-flight.ts";
import { countRefusals, shedLoad } from "./graphql/limits/shed-load.ts";
import { addGraphql, type WatchOptions } from "./graphql/serve.ts";
import { indexRouter } from "./http/index-page.ts";
import { healthRouter } from "./http/health.ts";
import { HTTP_BOUNDS, makeServer, type HttpBounds } from "./http/http-server.ts";
import { noteRoute } from "./http/observe/observation.ts";
import { Metrics } from "./http/observe/metrics.ts";
import { ObservedGraphqlPlugin } from "./graphql/observed-graphql.ts";
import { currentRequest, observe, type OnOver } from "./http/observe/observe.ts";
import { metricsRouter } from "./http/observe/serve-metrics.ts";
import { refuseBrokenPath, refuseUnknownPath } from "./http/paths.ts";
import { clientNames, type TrustedProxies } from "./http/client-address.ts";
import { rateLimiter } from "./http/rate-limit.ts";
import { Readiness } from "./readiness.ts";
import { answerFailures, refuseAsOf } from "./http/refusal.ts";
import { setStandingHeaders } from "./http/standing-headers.ts";
import { refuseMalformed } from "./http/malformed.ts";

export interface AppOptions {
  /** Reads the database as dex_reader. Whoever made it closes it, after the service. */
  pool: Pool;
  /** GraphQL's own connections, of the same role; without it, it has those of `pool`. */
  graphqlPool?: Pool;
  /** Asked what the database has to show, if not `pool`, whose bounds may be too short for that. */
  catalogs?: Pool;
  /** Opens when the database can be served; without it, that is taken for granted. */
  gate?: DatabaseGate;
  /**
   * Told of every fault that is not the client's, whole, with the id of the request that it befell.
   * By default it goes to standard error.
   */
  log?: (error: unknown, requestId?: string) => void;
  /** Told of every request once it is over, but of refusals for load, which `warn` is given the number of. */
  onOver?: OnOver;
  /** Told what its operator should know. */
  warn?: (line: string) => void;
  /** How old the head may be for the service to be ready, in seconds; 0, as without it, for any. */
  maxHeadAge?: number;
  /** How long /ready waits for the database, in milliseconds; without it, 2000. */
  readyWithinMs?: number;
  /** Counts what it does, for Prometheus; without it, nothing is counted. */
  metrics?: MetricsOptions | undefined;
  /** Answers repeated requests from memory; without it, each asks the database. */
  cache?: CacheOptions | undefined;
  /** What a client may take of the server; without it, what `HTTP_BOUNDS` gives. */
  http?: HttpBounds;
  /** What one GraphQL request may ask for; without it, what `GRAPHQL_LIMITS` gives. */
  limits?: GraphqlLimits;
  /** Requests of a client in a minute; 0, as without it, for any number. */
  rateLimit?: number;
  /** Which proxies say for whom they ask; without it, none. */
  trustedProxies?: TrustedProxies;
  /** How many GraphQL operations are in flight; without it, what `IN_FLIGHT_LIMITS` gives. */
  inFlight?: InFlightLimits;
  /** Schemas of the site's own that GraphQL shows beside `public`. */
  exposedSchemas?: readonly string[];
  /** Has GraphQL show what migrations change; without it, its schema is that of the start. */
  watch?: WatchOptions | undefined;
}

export interface MetricsOptions {
  /** Whether they are at /metrics; else they are for whoever has the App. */
  isPublic: boolean;
  /** Asked for the head, if not the service's pool. */
  db?: Database;
  /** How many lines of the log were dropped. */
  droppedLines?: () => number;
}

export interface App {
  /** Not listening yet: that is for whoever knows where. */
  server: Server;
  /** Undefined where nothing is counted. */
  metrics: Metrics | undefined;
  /** Answers what was begun, takes nothing more, and lets go of everything but the pool. */
  close: () => Promise<void>;
}

/** Makes the service over a database. It listens to nothing and reads no environment. */
export async function makeApp(options: AppOptions): Promise<App> {
  const { pool, gate = new DatabaseGate(), http = HTTP_BOUNDS, rateLimit = 0 } = options;
  const { limits = GRAPHQL_LIMITS, maxHeadAge = 0, graphqlPool = pool } = options;
  const { onOver = () => undefined, warn = () => undefined, trustedProxies = 0 } = options;
  const log = underItsRequest(options.log ?? console.error);
  const app = express();
  const head = new LastHead();
  const { bodyBytes } = limits;
  const cache =
    options.cache && new AnswerCache({ versionFrom: pool, bodyBytes, log, ...options.cache });
  const metrics = countedBy(options, cache);
  const refuse = refuseAsOf(head);
  const clientOf = clientNames(trustedProxies);
  const limiter = rateLimiter(rateLimit, clientOf, refuse);
  const operations = new OperationsInFlight({
    ...(options.inFlight ?? IN_FLIGHT_LIMITS),
    // Some wait for the database while others are planned or serialized.
    running: 2 * graphqlPool.options.max,
  });

  // What a request meets before Express, the last first. Express costs more than a cache hit, so the
  // work for every request stays outside it.
  const answering = withReadableAccept(cache ? cache.answering(app) : app);
  const unshed = shedLoad(answering, { operations, clientOf, refuse });
  const limited = limiter.limit(refuseMalformed(unshed, refuse));
  const counted = countRefusals(onOver, warn);
  const observed = observe(withFrontHeaders(limited), (observation) => {
    metrics?.count(observation);
    counted(observation);
  });
  const server = makeServer(observed, http, limiter.count);

  app.disable("x-powered-by");
  app.enable("case sensitive routing");
  // http/answer.ts gives each encoding of an answer its own.
  app.disable("etag");
  // The OpenAPI document names the address that it was asked at.
  app.set("trust proxy", trustedProxies);

  // First, since it is asked most: each layer before it would be passed by every request. Its answers
  // bring the headers of the two below themselves.
  const share: ShareAnswer | undefined = cache && ((req, make) => cache.share(req, make));
  app.use("/v1", refuseBrokenPath, gate.refuseUntilOpen, versionRouter(v1, pool, head, share));
  app.use("/v2", refuseBrokenPath, gate.refuseUntilOpen, versionRouter(v2, pool, head, share));

  app.use(setStandingHeaders);
  app.use(readFromAnyOrigin);
  app.use(refuseBrokenPath);

  app.use(
    healthRouter(
      new Readiness({ db: pool, gate, maxHeadAge, withinMs: options.readyWithinMs, log }),
    ),
  );
  if (metrics && options.metrics?.isPublic) app.use(metricsRouter(metrics));
  app.use(indexRouter());
  app.use(referenceRouter());

  app.use("/graphql", queryFromAnyOrigin);
  app.all(
    /^\/graphql$/,
    noteRoute("/graphql"),
    onlyJsonPosts,
    readBodyUpTo(limits.bodyBytes),
    readEmptyBody,
  );
  const graphql = await addGraphql(app, server, {
    pool: graphqlPool,
    catalogs: options.catalogs ?? pool,
    gate,
    log,
    limits,
    operations,
    exposedSchemas: options.exposedSchemas ?? [],
    watch: options.watch,
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
      await stopListening(server);
      await graphql.release();
    },
  };
}

function countedBy(
  { pool, graphqlPool = pool, metrics }: AppOptions,
  kept: AnswerCache | undefined,
): Metrics | undefined {
  if (metrics === undefined) return undefined;
  const { db = pool, droppedLines = () => 0 } = metrics;
  return new Metrics({ pools: { rest: pool, graphql: graphqlPool }, db, kept, droppedLines });
}

type LogError = (error: unknown) => void;

function underItsRequest(log: (error: unknown, requestId?: string) => void): LogError {
  return (error) => log(error, currentRequest()?.id);
}

async function stopListening(server: Server): Promise<void> {
  if (!server.listening) return;
  await new Promise((resolve) => server.close(resolve));
}
