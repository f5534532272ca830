// What a supervisor gets is of now, whatever it has kept.
import { setTimeout as sleep } from "node:timers/promises";
import { makeTestApp } from "../app.ts";
import { makeDatabase } from "../database.ts";

it.each(["/health", "/ready", "/metrics"])("%s is never 304", async (path) => {
  await using database = await makeDatabase();
  await using app = await makeTestApp(database.reader, { metrics: { isPublic: true } });
  const conditions = { "If-None-Match": "*", "If-Modified-Since": "Sat, 01 Jan 2050 00:00:00 GMT" };
  for (const [name, value] of Object.entries(conditions)) {
    expect((await app.request.get(path).set(name, value)).status).not.toBe(304);
  }
});

it("/ready waits for no client's statement", async () => {
  await using database = await makeDatabase();
  const pool = database.pool({ role: "dex_reader", poolSize: 1 });
  await using app = await makeTestApp(pool, { readinessPool: database.reader });
  const held = await pool.connect();
  const waits = app.request.get("/v2/prices").then(({ status }) => status);
  while (pool.waitingCount === 0) await sleep(1);

  expect((await app.request.get("/ready")).body).toEqual({ status: "ready" });
  held.release();
  expect(await waits).toBe(200);
});
