// The one helper that makes the service over a test database, listening where supertest asks it.
import supertest from "supertest";
import type { Pool } from "../db/connect.ts";
import { makeApp } from "../server/app.ts";

export interface TestApp {
  /** Asks the service; one server answers all requests of a file. */
  request: ReturnType<typeof supertest>;
  /** What the service has logged, oldest first. */
  logged: unknown[];
  close: () => Promise<void>;
}

/** Makes the service on this pool, which stays its maker's to end. */
export async function makeTestApp(pool: Pool): Promise<TestApp> {
  const logged: unknown[] = [];
  const { server, close } = await makeApp({ pool, log: (error) => logged.push(error) });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { request: supertest(server), logged, close };
}
