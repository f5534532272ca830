// Makes the service on a test database, listening on a port for supertest.
import type { ClientRequest, IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import supertest, { type Response, type Test } from "supertest";
import type { Database, Pool } from "../db/connect.ts";
import { makeApp, type App } from "../server/compose.ts";
import type { AppOptions, AppSettings, Reports } from "../server/app-options.ts";
import { GRAPHQL_LIMITS } from "../graphql/limits/limits.ts";
import { databaseFailure } from "../http/database-failure.ts";
import type { CacheOptions } from "../http/cache/answer-cache.ts";
import type { RequestState } from "../http/request.ts";
import { expectDocumented } from "./documented.ts";

export interface TestApp extends AsyncDisposable {
  /** Sends requests; every REST response is checked against the OpenAPI document. */
  request: ReturnType<typeof supertest>;
  /** The base URL, for requests that supertest cannot send. */
  url: string;
  /** The logged errors, oldest first. */
  logged: unknown[];
  /** The request ids of the logged errors, in the same order. */
  loggedUnder: (string | undefined)[];
  /** The finished requests, oldest first. */
  over: RequestState[];
  server: App["server"];
  metrics: App["metrics"];
  close: () => Promise<void>;
}

/** The service's options, all optional. */
export type TestOptions = AppSettings &
  Pick<AppOptions, "gate" | "indexer" | "metrics"> &
  AppOptions["clients"] &
  AppOptions["graphql"] & {
    graphqlPool?: Pool;
    readinessPool?: Pool;
    livePool?: Pool;
    catalogs?: Pool;
    warn?: Reports["warn"];
    onOver?: Reports["request"];
    cache?: CacheOptions | "off";
  };

const SWEEP_MS = 10;

/** Caches responses, and checks for new data on each request. */
export const CHECKED_EACH_TIME: CacheOptions = { bytes: 10_000_000, checkMs: 0 };

/** What the cache may read as the version of the data: the real one changes with other tests' databases. */
export const versionOf = (text: () => string): Database =>
  ({ query: () => Promise.resolve({ rows: [{ text: text(), hasHead: true }] }) }) as never;

/** Keeps every answer: the data do not change. */
export const OF_ONE_VERSION: CacheOptions = {
  bytes: 10_000_000,
  checkMs: 60_000,
  versionFrom: versionOf(() => "the only one"),
};

/** The errors of the service itself: on a slow machine a statement that looks for news may time out. */
export function ownErrors(logged: unknown[]): unknown[] {
  return logged.filter((error) => databaseFailure(error) === undefined);
}

/** The caller ends the pool. */
export async function makeTestApp(
  pool: Pool,
  { cache = CHECKED_EACH_TIME, ...options }: TestOptions = {},
): Promise<TestApp> {
  const logged: unknown[] = [];
  const loggedUnder: (string | undefined)[] = [];
  const over: RequestState[] = [];
  const wanted = Promise.withResolvers<true>();
  // The schema is built at once where the start waits for it.
  if (options.watch !== undefined || options.exposedSchemas !== undefined) wanted.resolve(true);
  const {
    gate,
    indexer,
    metrics: metricsOptions,
    sharedCounts,
    watch,
    documents,
    keys,
    ...others
  } = options;
  // A slow machine is neither a database that does not answer nor an operation that is too complex.
  const { graphqlPool, readinessPool, livePool, catalogs, warn, onOver, ...settings } = others;
  const { server, close, metrics } = await makeApp({
    pools: {
      rest: pool,
      graphql: graphqlPool ?? pool,
      readiness: readinessPool ?? pool,
      live: livePool ?? pool,
      catalogs: catalogs ?? waitingFor(wanted.promise, pool),
    },
    settings: {
      limits: { ...GRAPHQL_LIMITS, planningMs: 60_000, databaseMs: 60_000 },
      readyWithinMs: 60_000,
      ...settings,
    },
    reports: {
      error: (error, requestId) => {
        logged.push(error);
        loggedUnder.push(requestId);
      },
      request: onOver ?? ((state) => over.push(state)),
      ...(warn && { warn }),
    },
    ...(gate && { gate }),
    indexer,
    metrics: metricsOptions,
    cache: cache === "off" ? undefined : cache,
    clients: { sharedCounts, keys },
    graphql: { documents, watch },
  });
  const lookAt = ({ url }: IncomingMessage): void => {
    if (/^\/+graphi?ql/.test(url ?? "")) wanted.resolve(true);
  };
  server.prependListener("request", lookAt).prependListener("upgrade", lookAt);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const closeSilent = async (): Promise<void> => {
    // A client may have a connection on which it has asked nothing: the server would wait a minute for a request.
    const sweep = setInterval(() => {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    }, SWEEP_MS);
    await close().finally(() => clearInterval(sweep));
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const request = supertest.agent(server);
  request.use((test: Test) => void test.expect(asDocumented));
  return {
    ...{ request, url, logged, loggedUnder, over, server, metrics },
    close: closeSilent,
    [Symbol.asyncDispose]: closeSilent,
  };
}

/**
 * The pool, which asks the database nothing before that. The schema of GraphQL takes half a second to build, and most
 * tests ask REST alone.
 */
function waitingFor(wanted: Promise<unknown>, pool: Pool): Pool {
  const later =
    (act: (...args: unknown[]) => unknown) =>
    async (...args: unknown[]) => {
      await wanted;
      return act.apply(pool, args);
    };
  return new Proxy(pool, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const act = value as (...args: unknown[]) => unknown;
      return name === "connect" || name === "query" ? later(act) : act.bind(target);
    },
  });
}

/** supertest's types leave out the request. */
type Received = Response & { req: ClientRequest };

function asDocumented(response: Response): void {
  const { req, status, headers, text } = response as Received;
  expectDocumented({ method: req.method, path: req.path, status, headers, body: text || "" });
}
