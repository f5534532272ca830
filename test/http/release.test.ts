// The version of the service is that of package.json, wherever it is named.
import { readFileSync } from "node:fs";
import { serveDatabase } from "../served.ts";

const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { version: string };

const { app } = serveDatabase(undefined, { metrics: { isPublic: true } });

it("is in the index, in /health, in the metrics and in the OpenAPI document", async () => {
  expect((await app.request.get("/")).body.version).toBe(version);
  expect((await app.request.get("/health")).body).toEqual({ status: "ok", version });
  expect((await app.request.get("/openapi.json")).body.info.version).toBe(version);
  expect((await app.request.get("/metrics")).text).toContain(
    `\ndex_build_info{version="${version}"} 1\n`,
  );
});
