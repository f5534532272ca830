// Makes the service on a test database, listening on a port for supertest.
import type { ClientRequest } from "node:http";
import type { AddressInfo } from "node:net";
import supertest, { type Response, type Test } from "supertest";
import type { Database, Pool } from "../db/connect.ts";
import { makeApp, type App, type AppOptions } from "../server/compose.ts";
import { GRAPHQL_LIMITS } from "../server/graphql/limits/limits.ts";
import { databaseFailure } from "../server/http/database-failure.ts";
import type { CacheOptions } from "../server/http/cache/answer-cache.ts";
import type { Observation } from "../server/http/observe/observation.ts";
import { expectDocumented } from "./documented.ts";

export interface TestApp {
  /** Sends requests; every REST response is checked against the OpenAPI document. */
  request: ReturnType<typeof supertest>;
  /** The base URL, for requests that supertest cannot send. */
  url: string;
  /** The logged errors, oldest first. */
  logged: unknown[];
  /** The request ids of the logged errors, in the same order. */
  loggedUnder: (string | undefined)[];
  /** The finished requests, oldest first. */
  over: Observation[];
  server: App["server"];
  metrics: App["metrics"];
  close: () => Promise<void>;
}

/** The service's options, all optional. */
export type TestOptions = Omit<Partial<AppOptions>, "pool" | "log" | "cache"> & {
  cache?: CacheOptions | "off";
};

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
  const over: Observation[] = [];
  const { server, close, metrics } = await makeApp({
    pool,
    log: (error, requestId) => {
      logged.push(error);
      loggedUnder.push(requestId);
    },
    onOver: (observation) => over.push(observation),
    cache: cache === "off" ? undefined : cache,
    // A slow machine is neither a database that does not answer nor an operation that is too complex.
    readyWithinMs: 60_000,
    limits: { ...GRAPHQL_LIMITS, planningMs: 60_000 },
    ...options,
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const request = supertest.agent(server);
  request.use((test: Test) => void test.expect(asDocumented));
  return { request, url, logged, loggedUnder, over, server, metrics, close };
}

/** supertest's types leave out the request. */
type Received = Response & { req: ClientRequest };

function asDocumented(response: Response): void {
  const { req, status, headers, text } = response as Received;
  expectDocumented({ method: req.method, path: req.path, status, headers, body: text || "" });
}
