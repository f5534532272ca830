// The OpenAPI document as it is tracked and served, and what it is worth: its examples are real, its
// paths those that are served, and an answer that is not as it says is noticed.
import type { Router } from "express";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { openapiDocument } from "../../../rest/openapi/openapi-document.ts";
import { versionRouter } from "../../../rest/endpoint.ts";
import { filesRouter } from "../../../rest/files/files-router.ts";
import { LastHead } from "../../../http/known-database.ts";
import { DatabaseGate } from "../../../http/known-database.ts";
import { listingFormats, LISTING_SETTINGS } from "../../../rest/listings/formats.ts";
import { v1 } from "../../../rest/v1/v1-endpoints.ts";
import { v2 } from "../../../rest/v2/v2-endpoints.ts";
import { healthRouter } from "../../../http/health.ts";
import { Readiness } from "../../../server/readiness.ts";
import { makeTestApp } from "../../app.ts";
import { discrepanciesOf, type Exchanged } from "../../documented.ts";
import { exchangeWhole } from "../../exchange-http.ts";
import { fillExchange } from "../exchange.ts";
import { useApp, useDatabase } from "../../served.ts";
import { streamsOf } from "../../streams.ts";
import { askExamples, exampleOf, hasExamples, type OpenapiDocument } from "./examples.ts";

const TRACKED = fileURLToPath(new URL("../../../rest/openapi/openapi.json", import.meta.url));

const database = useDatabase(async (writer) => {
  await fillExchange(writer);
});
const document = openapiDocument({}) as OpenapiDocument;
const app = useApp(database);
const behindProxy = useApp(database, { trustedProxies: 1 });

it("is the document that is tracked, with real answers as its examples", async () => {
  const whole = openapiDocument(await askExamples(database.reader, document));
  const printed = `${JSON.stringify(whole, null, 2)}\n`;
  if (process.env["WRITE_OPENAPI"] !== undefined) await writeFile(TRACKED, printed);
  expect(printed).toBe(await readFile(TRACKED, "utf8"));
});

describe("a path", () => {
  const templates = Object.keys(document.paths);
  const patternsOf = ({ stack }: Router, prefix = ""): string[] =>
    stack.flatMap(({ route }) => (route === undefined ? [] : [prefix + route.path]));
  const asTemplate = (pattern: string): string => pattern.replaceAll(/:(\w+)/g, "{$1}");

  it("that is served is in the document, and no other", () => {
    const log = (): void => undefined;
    const gate = new DatabaseGate();
    const readiness = new Readiness({
      db: database.reader,
      gate,
      versions: [],
      maxHeadAge: 0,
      log,
    });
    const served = [
      ...patternsOf(healthRouter(readiness)),
      ...[v1, v2, ...listingFormats(LISTING_SETTINGS)].flatMap((version) =>
        patternsOf(
          versionRouter(version, { db: database.reader, head: new LastHead() }),
          `/${version.name}`,
        ),
      ),
      ...patternsOf(streamsOf(database.reader).router, "/v2"),
      ...patternsOf(filesRouter(undefined), "/v2"),
    ];
    expect(served.map(asTemplate).sort()).toEqual(templates.toSorted());
  });

  it.each(templates.filter(hasExamples))(
    "that is in the document is served: %s",
    async (template) => {
      app.over.length = 0;
      const { status } = await app.request.get(
        exampleOf(template, document.paths[template]!.get, { withQuery: true }),
      );
      expect(status).toBe(200);
      expect(app.over.map(({ route = "" }) => asTemplate(route))).toEqual([template]);
    },
  );
});

describe("/openapi.json", () => {
  it("is the tracked document, of whichever Host and by whichever proxy it is asked", async () => {
    const tracked = await readFile(TRACKED, "utf8");
    const asked = Array.from({ length: 100 }, (_, n) =>
      exchangeWhole(behindProxy.url, {
        path: "/openapi.json",
        headers: {
          Host: `a${n}.example`,
          "X-Forwarded-Host": `b${n}.example`,
          "X-Forwarded-Proto": "https",
          "X-Forwarded-Prefix": `/c${n}`,
          Forwarded: `host=d${n}.example;proto=https`,
          "Accept-Encoding": n % 2 === 0 ? "identity" : "gzip",
        },
      }),
    );
    for (const { status, headers, body } of await Promise.all(asked)) {
      expect(status).toBe(200);
      expect(headers).toContain("application/json; charset=utf-8");
      const text = headers.includes("gzip") ? gunzipSync(body) : body;
      expect(text.toString() === tracked).toBe(true);
    }
  });

  it("has the public URL of the service as its server, where that is set", async () => {
    const publicUrl = "https://api.example/$&";
    await using there = await makeTestApp(database.reader, { publicUrl });
    const { body } = await there.request.get("/openapi.json").set("Host", "other.example");
    expect(body.servers).toMatchObject([{ url: publicUrl }]);
  });

  it("has patterns for times that know the calendar", () => {
    const { parameters } = document.paths["/v2/candles/{base}/{quote}"]!.get as unknown as {
      parameters: { name: string; schema: { pattern: string } }[];
    };
    const { pattern } = parameters.find(({ name }) => name === "from")!.schema;
    const isAccepted = (time: string): boolean => new RegExp(pattern).test(time);
    expect(["2024-02-29T00:00:00Z", "2026-01-31T12:00:00.123Z"].map(isAccepted)).toEqual([
      true,
      true,
    ]);
    const refused = ["2026-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2026-01-31T24:00:00Z"];
    expect(refused.map(isAccepted)).toEqual([false, false, false]);
    expect(["2026-01-31T12:00:00.1234Z", "2026-01-31T12:00Z"].map(isAccepted)).toEqual([
      false,
      false,
    ]);
  });

  it("has one pattern for a text, without an escaped slash, which generators read", () => {
    const text = JSON.stringify(openapiDocument({}));
    expect(text).not.toContain('"allOf":[{"pattern"');
    expect(text).not.toContain("\\\\/");
  });

  it("has a pattern for pairs that takes every symbol", () => {
    const { components } = openapiDocument({}) as {
      components: { schemas: { PairKey: { pattern: string } } };
    };
    const { pattern } = components.schemas.PairKey;
    const isAccepted = (pair: string): boolean => new RegExp(pattern).test(pair);
    expect(["WETH/DAI", "CR\rLF/DAI", "A\nB/C\nD"].map(isAccepted)).toEqual([true, true, true]);
    expect(["WETHDAI", "/DAI", "WETH/"].map(isAccepted)).toEqual([false, false, false]);
  });
});

describe.each([
  ["/openapi.json", "application/json; charset=utf-8"],
  ["/docs", "text/html; charset=utf-8"],
  ["/docs/swagger-ui.css", "text/css; charset=utf-8"],
  ["/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
])("%s", (path, type) => {
  it("may be kept for minutes, and is 304 for who has it", async () => {
    const first = await app.request.get(path).set("Accept-Encoding", "gzip");
    const again = await app.request
      .get(`${path}/`)
      .set("Accept-Encoding", "gzip")
      .set("If-None-Match", first.headers["etag"]!);

    expect(first.status).toBe(200);
    expect(first.headers).toMatchObject({
      "content-type": type,
      "cache-control": "public, max-age=300",
      vary: "Accept-Encoding",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
    expect(again.status).toBe(304);
    expect(again.headers["etag"]).toBe(first.headers["etag"]);
  });

  it("answers HEAD as GET, and can only be read", async () => {
    const get = await app.request.get(path).set("Accept-Encoding", "gzip");
    const head = await app.request.head(path).set("Accept-Encoding", "gzip");
    const post = await app.request.post(path);
    expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
    expect(head.headers["etag"]).toBe(get.headers["etag"]);
    expect(post.status).toBe(405);
    expect(post.headers["allow"]).toBe("GET, HEAD, OPTIONS");
  });

  it("is counted under its own path", async () => {
    app.over.length = 0;
    await app.request.get(path);
    expect(app.over.map(({ route }) => route)).toEqual([path]);
  });
});

describe("an answer that is not as the document says", () => {
  const volume: Exchanged = {
    method: "GET",
    path: "/v2/volumes/weth/dai",
    status: 200,
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "public, max-age=1",
      etag: '"tag"',
      vary: "Accept-Encoding, X-Min-Block",
      "x-request-id": "id",
      "server-timing": "total;dur=1",
    },
    body: '{"data":{"vol":"8"},"time":"2026-01-02T00:00:00.000Z","message":"success"}',
  };
  const withBody = (body: object): Partial<Exchanged> => ({ body: JSON.stringify(body) });
  const { etag: _etag, ...untagged } = volume.headers;
  const time = "2026-01-02T00:00:00.000Z";
  const message = "success";

  it("is distinguished from one that is", () => {
    expect(discrepanciesOf(volume)).toEqual([]);
    expect(discrepanciesOf({ ...volume, path: "/v2/volumes/weth/dai/?a=1" })).toEqual([]);
    expect(discrepanciesOf({ ...volume, method: "HEAD", body: "" })).toEqual([]);
  });

  it.each<[string, Partial<Exchanged>]>([
    ["one field more", withBody({ data: { vol: "8", more: 1 }, time, message })],
    ["one field more in the envelope", withBody({ data: { vol: "8" }, time, message, more: 1 })],
    ["one field less", withBody({ data: {}, time, message })],
    ["a number for a decimal", withBody({ data: { vol: 8 }, time, message })],
    ["an exponent", withBody({ data: { vol: "8e1" }, time, message })],
    ["a trailing zero", withBody({ data: { vol: "8.10" }, time, message })],
    ["19 digits", withBody({ data: { vol: "0.0000000000000000001" }, time, message })],
    ["the other version's time", withBody({ data: { vol: "8" }, time: 1_767_312_000, message })],
    ["a status that it does not have", { status: 201 }],
    ["an error's body", withBody({ time, message })],
    ["no body", { body: "", headers: { ...volume.headers, "content-type": "" } }],
    ["a body of HEAD", { method: "HEAD" }],
    ["a body of 304", { status: 304 }],
    ["a header that it does not have", { headers: { ...volume.headers, "x-new": "1" } }],
    ["a header less", { headers: untagged }],
    ["a weak tag", { headers: { ...volume.headers, etag: 'W/"tag"' } }],
    ["a path that it does not have", { path: "/v2/nothing" }],
  ])("is noticed: %s", (_, change) => {
    expect(discrepanciesOf({ ...volume, ...change })).not.toEqual([]);
  });
});
