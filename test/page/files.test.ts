// The documents and files of the pages over HTTP: escaped and cached.
import { gunzipSync } from "node:zlib";
import { makeTestApp } from "../app.ts";
import { exchangeWhole } from "../exchange-http.ts";
import { anAddress } from "../factories.ts";
import { DatabaseGate } from "../../http/known-database.ts";
import { fillPageExchange, HOSTILE } from "./page-exchange.ts";
import { serveDatabase } from "../served.ts";

const OF_A_BROWSER = { accept: "text/html,*/*;q=0.8" };

const DOCUMENTS = [
  "/",
  "/markets/weth/dai",
  "/trades",
  `/accounts/${anAddress("taker")}`,
  "/state",
];

const { app, database } = serveDatabase(fillPageExchange);

const textOf = async (path: string): Promise<string> =>
  (await fetch(app.url + path, { headers: OF_A_BROWSER })).text();

it.each(["/", "/trades", `/markets/${encodeURIComponent(HOSTILE)}/DAI`])(
  "the document %s has symbols as text",
  async (path) => {
    const text = await textOf(path);
    expect(text).toContain("&lt;IMG SRC=X ONERROR=&quot;ALERT(&#39;1&#39;)&quot;&gt;&amp;AMP;");
    expect(text).not.toContain("<IMG");
  },
);

it("each file of the documents has a type and an ETag for each encoding", async () => {
  const texts = (await Promise.all(DOCUMENTS.map(textOf))).join("");
  const paths = new Set([...texts.matchAll(/(?:href|src)="(\/page\/[^"]+)"/g)].map(([, p]) => p!));
  expect(paths.size).toBeGreaterThan(15);
  for (const path of paths) {
    const plain = await fetch(app.url + path, { headers: { "accept-encoding": "identity" } });
    expect(Object.fromEntries(plain.headers)).toMatchObject({
      "cache-control": "public, max-age=300",
      vary: "Accept-Encoding",
      "x-content-type-options": "nosniff",
      "content-type": expect.stringMatching(
        /^(text\/javascript|text\/css|image\/svg\+xml); charset=utf-8$/,
      ),
    });
    const etag = plain.headers.get("etag")!;
    const again = await exchangeWhole(app.url, { path, headers: { "if-none-match": etag } });
    expect([plain.status, again.status]).toEqual([200, 304]);
    const { headers, body } = await exchangeWhole(app.url, {
      path,
      headers: { "accept-encoding": "gzip" },
    });
    if (headers.includes("gzip")) {
      expect(headers).not.toContain(etag);
      expect(gunzipSync(body).toString()).toBe(await plain.text());
    }
  }
});

it("has each module that another one imports, and names those of the start in the document", async () => {
  for (const document of DOCUMENTS) {
    const preloads = [...(await textOf(document)).matchAll(/preload" href="([^"]+)"/g)];
    const started = new Set(preloads.map(([, path]) => path!));
    const [first] = started;
    const atStart = new Set<string>();
    const seen = new Set<string>();
    const visit = async (path: string, isStatic: boolean): Promise<void> => {
      if (isStatic) atStart.add(path);
      if (seen.has(path)) return;
      seen.add(path);
      const answer = await fetch(app.url + path);
      expect({ path, status: answer.status }).toEqual({ path, status: 200 });
      const text = (await answer.text()).replace(/\/\*.*?\*\//gs, "");
      for (const [, how, name] of text.matchAll(/(?<!")(from|import\() ?"([^"]+)"/g)) {
        const { pathname } = new URL(name!, `http://service${path}`);
        await visit(pathname, isStatic && how === "from");
      }
    };
    await visit(first!, true);
    expect(started).toEqual(atStart);
  }
});

it("a document is a page of status 503 while the database cannot be served", async () => {
  const gate = new DatabaseGate({ kind: "not ready", line: "It lacks a migration." });
  await using closed = await makeTestApp(database.reader, { gate });
  const answer = await fetch(closed.url, { headers: OF_A_BROWSER });
  expect(answer.status).toBe(503);
  const { headers } = answer;
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("retry-after")).not.toBeNull();
  expect(await answer.text()).toContain("The database is not ready to be served. This page tries");
});
