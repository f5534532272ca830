// The page of the service's state: what /ready and /v2/head say, in words, also while the database is away.
import { makeTestApp } from "../app.ts";
import { describeInChromium, useBrowser } from "../browser.ts";
import { setHead } from "../factories.ts";
import { DatabaseGate } from "../../http/known-database.ts";
import { serveDatabase } from "../served.ts";
import { fillPageExchange } from "./page-exchange.ts";

const { app, database } = serveDatabase(fillPageExchange, { rateLimit: 1234 });

/** What a document says, by its titles. */
const said = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<dt>([^<]*)<\/dt>\s*<dd>([\s\S]*?)<\/dd>/g)].map(([, title, value]) => [
      title!,
      value!.replace(/<[^>]*>/g, "").trim(),
    ]),
  );

const get = (of = app) => of.request.get("/state").accept("text/html");

it("says what /ready and /v2/head say, with the version and the limits", async () => {
  const { text, headers } = await get().expect(200);
  const { body } = await app.request.get("/v2/head").expect(200);
  const { block, time, digest } = body.data;
  expect(text).toContain("The service is ready.");
  expect(said(text)).toMatchObject({
    Head: `block ${block}`,
    "Written in": `${time.slice(0, 19).replace("T", " ")} UTC`,
    Age: expect.stringMatching(/^\d+ \w+ ago, by the clock of the service$/),
    "Digest of all facts up to it": digest,
    "Filled by": "other means than an indexer",
    Version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    Database: "a primary; replicas that follow it: none",
    Indexer: "none in this process",
    "Requests of a client": "1,234 requests a minute",
    "Page of GraphQL": "1,000 rows",
  });
  expect(headers["cache-control"]).toBe("no-store");
});

it("names why the service is not ready, and the indexer's reason", async () => {
  const indexer = { reasons: () => ["The node does not answer"], registry: undefined };
  await using behind = await makeTestApp(database.reader, { indexer: indexer as never });
  const { text } = await get(behind).expect(200);
  const { body } = await behind.request.get("/ready").expect(503);
  expect(text).toContain("The service is not ready:");
  expect(text).toContain(`<li>${body.reasons[0]}</li>`);
  expect(said(text)["Indexer"]).toBe("The node does not answer");
});

it("is answered while the database cannot be served", async () => {
  const gate = new DatabaseGate({ kind: "not ready", line: "It lacks a migration." });
  await using closed = await makeTestApp(database.reader, { gate });
  const { text } = await get(closed).expect(200);
  expect(text).toContain("The service is not ready:");
  expect(said(text)).toMatchObject({
    Head: "cannot be read at the moment",
    Database: "cannot be read at the moment",
  });
});

it("has no setting that is secret", async () => {
  const { text } = await get();
  expect(text).not.toMatch(/postgres|password|127\.0\.0\.1/i);
});

describeInChromium("the page of the state", () => {
  const browser = useBrowser();

  it("is read again, and says when the service does not answer", async () => {
    const { page } = await browser.open(`${app.url}/state`);
    await setHead(database.writer, 30);
    const { body } = await app.request.get("/v2/head").expect(200);
    await page.waitForSelector(`#head dd:text("block ${body.data.block}")`);
    await page.route("**/state", (route) => route.abort());
    await page.waitForSelector("[role=alert]:has-text('does not answer')");
    await page.unroute("**/state");
    await page.waitForSelector("[role=alert]", { state: "detached" });
  });
});
