// The index at `/`: HTML for browsers, else JSON, under the headers of every page.
import { makeTestApp, versionOf } from "../app.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";

const OF_A_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const { app, database } = serveDatabase();

it("gives JSON, of which each path is served", async () => {
  const { status, headers, body } = await app.request.get("/");

  expect(status).toBe(200);
  expect(headers).toMatchObject({
    "content-type": "application/json; charset=utf-8",
    "cache-control": "public, max-age=300",
    vary: "Accept, Accept-Encoding",
    "access-control-allow-origin": "*",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none';frame-ancestors 'none'",
  });
  const { interfaces } = body as { interfaces: { path: string }[] };
  expect(interfaces.length).toBeGreaterThan(5);
  for (const { path } of interfaces) {
    const answer = await app.request.get(path);
    expect({ path, status: answer.status }).toEqual({
      path,
      status: path === "/graphql" ? 405 : 200,
    });
  }
});

it("gives browsers a page with a link to each interface, and no inline script or style", async () => {
  const page = await app.request.get("/").set("accept", OF_A_BROWSER);
  const { body } = await app.request.get("/");
  const { interfaces } = body as { interfaces: { path: string }[] };

  expect(page.headers).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": expect.stringMatching(/^default-src 'none'; script-src 'self';/),
  });
  expect(page.headers["content-security-policy"]).not.toContain("unsafe");
  expect(page.text).not.toMatch(/<style|style=|<script(?! type="module" src=")/);
  const linked = [...page.text.matchAll(/<a\s+href="([^"]+)"/g)].map(([, path]) => path);
  const readable = interfaces.map(({ path }) => path).filter((path) => path !== "/graphql");
  expect(linked).toEqual(expect.arrayContaining(readable));
});

it.each(["application/json", "*/*", "image/png"])("gives JSON for Accept: %s", async (accept) => {
  const { headers } = await app.request.get("/").set("accept", accept);
  expect(headers["content-type"]).toBe("application/json; charset=utf-8");
});

it("knows its ETags apart, and refuses to be written to", async () => {
  const json = await app.request.get("/");
  const etag = json.headers["etag"]!;
  const again = await app.request.get("/").set("if-none-match", etag);
  const page = await app.request.get("/").set("accept", OF_A_BROWSER).set("if-none-match", etag);
  const post = await app.request.post("/");

  expect([again.status, page.status, post.status]).toEqual([304, 200, 405]);
});

it("answers equal requests for a document from memory, until the data change", async () => {
  await registerMarkets(database.writer);
  let version = "before";
  await using cached = await makeTestApp(database.reader, {
    cache: { bytes: 10_000_000, checkMs: 0, versionFrom: versionOf(() => version) },
  });
  const get = async (path: string, accept: string) => {
    const answer = await fetch(cached.url + path, { headers: { accept } });
    return answer.text();
  };
  for (const path of ["/", "/markets/weth/dai"]) {
    const first = await get(path, OF_A_BROWSER);
    expect(await get(path, OF_A_BROWSER)).toBe(first);
  }
  expect(JSON.parse(await get("/", "application/json"))).toHaveProperty("interfaces");
  await write(database.writer, { trades: [aTrade({ hour: 1, quote: "123.5" })] });
  version = "after";
  expect(await get("/", OF_A_BROWSER)).toContain("123.5");
  expect(await get("/markets/weth/dai", OF_A_BROWSER)).toContain("123.5");
  const asked = cached.over.filter(({ cache }) => cache !== undefined).map(({ cache }) => cache);
  expect(asked).toEqual(["miss", "hit", "miss", "hit", "miss", "miss"]);
});
