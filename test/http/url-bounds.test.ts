// URLs that are longer than they may be: refused before anything looks into them.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { readAsOf } from "../../rest/question.ts";
import { makeTestApp, OF_ONE_VERSION } from "../app.ts";
import { exchangeWhole } from "../exchange-http.ts";
import { registerMarkets, setHead } from "../factories.ts";
import { serveRecorded } from "../served.ts";

const { app, database, statements } = serveRecorded(async (writer) => {
  await registerMarkets(writer);
  // Without a head the time of an answer is the clock's.
  await setHead(writer, 24);
});

const path = (length: number): string => `/v1/prices/dai/${"x".repeat(length - 15)}`;
const query = (length: number): string => `?unknown=${"x".repeat(length - 8)}`;
const parameters = (count: number): string =>
  `?${Array.from({ length: count }, (_, n) => `p${n}=1`).join("&")}`;

it.each([
  ["a path of 2560 characters", path(2560), 400],
  ["a query string of 2048", `/v1/prices/weth/dai${query(2048)}`, 200],
  ["50 parameters, all unknown", `/v2/trades/weth/dai${parameters(50)}`, 200],
])("%s is looked at", async (_what, url, status) => {
  const answer = await app.request.get(url);
  expect(answer.status).toBe(status);
  expect(statements).not.toEqual([]);
});

it.each([
  ["a longer path", path(2561), 414, "The path must be at most 2560 characters long"],
  [
    "a longer path with a query string",
    `${path(2561)}?limit=1`,
    414,
    "The path must be at most 2560 characters long",
  ],
  [
    "a longer query string",
    `/v1/prices/weth/dai${query(2049)}`,
    414,
    "The query string must be at most 2048 characters long",
  ],
  [
    "more parameters",
    `/v1/prices/weth/dai${parameters(51)}`,
    400,
    "The query string must have at most 50 parameters",
  ],
])("%s is refused, and nothing is asked", async (_what, url, status, message) => {
  const v1 = await app.request.get(url);
  const v2 = await app.request.get(url.replace("/v1/", "/v2/"));

  expect([v1.status, v2.status]).toEqual([status, status]);
  expect(v1.body).toEqual({ data: {}, time: expect.any(Number), message });
  expect(v2.body).toEqual({ time: expect.any(String), message });
  expect(v1.headers).toMatchObject({
    "cache-control": "no-store",
    "access-control-allow-origin": "*",
  });
  expect(statements).toEqual([]);
});

it("a run of question marks is looked through once", () => {
  const before = process.cpuUsage();
  expect(readAsOf({ url: `/v2/prices/weth/dai${"?".repeat(50_000)}` })).toBeUndefined();
  // Of the processor, whose other load does not count: from each of them it takes seconds.
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
});

it("is refused in the form of GraphQL there", async () => {
  const { status, body } = await app.request
    .post(`/graphql${query(2049)}`)
    .send({ query: "{ __typename }" });

  expect(status).toBe(414);
  expect(body).toEqual({
    errors: [
      {
        message: "The query string must be at most 2048 characters long",
        extensions: { code: "URL_TOO_LONG" },
      },
    ],
  });
});

// RFC 3986, 6.2.2.2.
describe("a percent-encoded character that needs no encoding", () => {
  it.each([
    ["/v1/%6darkets/", "/v1/markets/"],
    ["/v2/prices/we%74h/%44AI", "/v2/prices/weth/DAI"],
    ["/%76%32/trades/weth/dai?%6cimit=%31", "/v2/trades/weth/dai?limit=1"],
    ["/healt%68", "/health"],
  ])("%s is the character itself", async (encoded, plain) => {
    const [answer, expected] = [
      await exchangeWhole(app.url, { path: encoded }),
      await exchangeWhole(app.url, { path: plain }),
    ];
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(expected.body);
  });

  it("is one answer in the cache", async () => {
    await using cached = await makeTestApp(database.reader, { cache: OF_ONE_VERSION });
    await exchangeWhole(cached.url, { path: "/v1/markets/" });
    const { headers } = await exchangeWhole(cached.url, { path: "/v1/%6Darkets/" });
    expect(headers).toContain("cache;desc=hit");
  });

  it.each([
    ["/v1/%256darkets/", 404],
    ["/v1/%%36darkets/", 400],
    ["/v1/%6%64arkets/", 400],
    ["/v1%2fmarkets/", 404],
  ])("%s is not decoded twice, nor anything else", async (path, status) => {
    expect((await exchangeWhole(app.url, { path })).status).toBe(status);
  });
});

// RFC 9112, 3.2.2.
it("is the same request where the client sends the whole URL", async () => {
  await using cached = await makeTestApp(database.reader, { cache: OF_ONE_VERSION });
  const ask = async (path: string) => {
    const [answer] = (await once(get(cached.url, { path, agent: false }), "response")) as [
      IncomingMessage,
    ];
    return { answer, asked: [answer.statusCode, await text(answer)] };
  };
  const paths = ["/v1/prices/dai/dai", "/v1/markets/", "/v1/markets/", "/graphql?a=1", "/v9"];
  for (const path of paths) {
    const [whole, plain] = [await ask(`http://api.example${path}`), await ask(path)];
    expect([path, ...whole.asked]).toEqual([path, ...plain.asked]);
  }
  expect((await ask("http://api.example")).answer.statusCode).toBe(200);
  const { answer } = await ask("http://api.example/v1/markets/");
  expect(answer.headers["server-timing"]).toBe("cache;desc=hit");
});
