// What a supervisor gets is of now, whatever it has kept.
import { makeTestApp } from "../../app.ts";
import { makeDatabase } from "../../database.ts";

it.each(["/health", "/ready", "/metrics"])("%s is never 304", async (path) => {
  const database = await makeDatabase();
  const app = await makeTestApp(database.reader, { metrics: { isPublic: true } });
  const conditions = { "If-None-Match": "*", "If-Modified-Since": "Sat, 01 Jan 2050 00:00:00 GMT" };
  for (const [name, value] of Object.entries(conditions)) {
    expect((await app.request.get(path).set(name, value)).status).not.toBe(304);
  }
  await app.close();
  await database.drop();
});
