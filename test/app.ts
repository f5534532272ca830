// The one helper that makes the service over a test database, listening where supertest asks it.
import type { ClientRequest } from "node:http";
import type { AddressInfo } from "node:net";
import supertest, { type Response, type Test } from "supertest";
import type { Pool } from "../db/connect.ts";
import { makeApp, type App, type AppOptions } from "../server/compose.ts";
import type { CacheOptions } from "../server/http/cache/answer-cache.ts";
import type { Observation } from "../server/http/observe/observation.ts";
import { expectDocumented } from "./documented.ts";

export interface TestApp {
  /**
   * Asks the service; one server answers all requests of a file. Whatever REST answers is held to the
   * OpenAPI document.
   */
  request: ReturnType<typeof supertest>;
  /** Where it listens, for what supertest cannot say. */
  url: string;
  /** What the service has logged, oldest first. */
  logged: unknown[];
  /** The ids of the requests that it was logged under, in the same order. */
  loggedUnder: (string | undefined)[];
  /** The requests that are over, oldest first. */
  over: Observation[];
  metrics: App["metrics"];
  close: () => Promise<void>;
}

/** The service's own options, of which the test says only what matters to it. */
export type TestOptions = Omit<Partial<AppOptions>, "pool" | "log" | "cache"> & {
  cache?: CacheOptions | "off";
};

/** Answers from memory, and yet sees each write at once. */
export const CHECKED_EACH_TIME: CacheOptions = { bytes: 10_000_000, checkMs: 0 };

/** Makes the service on this pool, which stays its maker's to end. */
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
    ...options,
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const request = supertest.agent(server);
  request.use((asking: Test) => void asking.expect(asDocumented));
  return { request, url, logged, loggedUnder, over, metrics, close };
}

/** What supertest has of an answer, and does not say. */
type Received = Response & { req: ClientRequest };

function asDocumented(response: Response): void {
  const { req, status, headers, text } = response as Received;
  expectDocumented({ method: req.method, path: req.path, status, headers, body: text || "" });
}
