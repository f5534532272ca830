// The index at `/`: HTML for browsers, else JSON, under the headers of every page.
import { makeTestApp, type TestApp } from "../../app.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";

const OF_A_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await makeDatabase();
  app = await makeTestApp(database.reader);
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

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

it("gives browsers a page that runs no script, with a link to each interface", async () => {
  const page = await app.request.get("/").set("accept", OF_A_BROWSER);
  const { body } = await app.request.get("/");
  const { interfaces } = body as { interfaces: { path: string }[] };

  expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
  expect(page.text).not.toContain("<script");
  const linked = [...page.text.matchAll(/<a href="([^"]+)"/g)].map(([, path]) => path);
  expect(linked).toEqual(interfaces.map(({ path }) => path).filter((path) => path !== "/graphql"));
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
