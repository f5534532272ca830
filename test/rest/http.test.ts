// How the REST interface speaks HTTP: paths, methods, caching, compression, other origins.
import { makeTestApp, OF_ONE_VERSION } from "../app.ts";
import {
  anAddress,
  aTrade,
  blockAt,
  DAI,
  registerPair,
  registerTokens,
  setHead,
  WETH,
} from "../factories.ts";
import { fillExchange, HEAD } from "./exchange.ts";
import { serveDatabase } from "../served.ts";

const { app, database } = serveDatabase();
beforeAll(async () => {
  // No test here depends on what is traded, so it stays: enough of it for an answer over 1 kB.
  await fillExchange(
    database.writer,
    Array.from({ length: 20 }, (_, n) => aTrade({ id: 100 + n, hour: 23.75 })),
  );
});
beforeEach(async () => {
  // What a test wrote is taken back for the next.
  await database.writer.query("select ingest.take_back($1)", [blockAt(24)]);
  // An error's time is the head that was seen last.
  await app.request.get("/v1/markets/");
});

const PATHS = [
  "/v1/markets",
  "/v1/markets/weth/dai",
  "/v1/pairs",
  "/v1/pairs/weth/dai",
  "/v1/prices",
  "/v1/prices/weth/dai",
  "/v1/volumes",
  "/v1/volumes/weth/dai",
  "/v2/prices",
  "/v2/prices/weth/dai",
  "/v2/volumes",
  "/v2/volumes/weth/dai",
  "/v2/summary",
  "/v2/summary/weth/dai",
  "/v2/book/weth/dai",
  "/v2/candles/weth/dai",
  "/v2/trades/weth/dai",
];
const MARKET = `${WETH}_${DAI}`;
/** Their answers do not have the head's time, so the next head may have the same. */
const LISTING_PATHS = [
  "/coingecko/tickers",
  "/coingecko/pairs",
  `/coingecko/orderbook?ticker_id=${MARKET}`,
  `/coingecko/historical_trades?ticker_id=${MARKET}`,
  "/coinmarketcap/summary",
  "/coinmarketcap/assets",
  "/coinmarketcap/ticker",
  "/coinmarketcap/orderbook?market_pair=weth_dai",
  "/coinmarketcap/trades?market_pair=weth_dai",
  "/dexscreener/latest-block",
  `/dexscreener/asset?id=${WETH}`,
  `/dexscreener/pair?id=${MARKET}`,
  "/dexscreener/events?fromBlock=86000&toBlock=86400",
  "/udf/config",
  "/udf/symbols?symbol=weth/dai",
  "/udf/search",
  "/udf/history?symbol=weth/dai&resolution=60&from=0&to=1800000000",
  "/udf/time",
];
const METHODS = ["post", "put", "patch", "delete"] as const;

/** The error envelope of the version that the path is of. */
function errorAt(path: string, message: string): string {
  if (/^\/v1(\/|$)/.test(path)) return JSON.stringify({ data: {}, time: HEAD.seconds, message });
  if (path.startsWith("/udf/")) return JSON.stringify({ s: "error", errmsg: message });
  return JSON.stringify({ time: HEAD.iso, message });
}

/** The headers but those that are of one request alone. */
const ofTheAnswer = (headers: Record<string, string>): Record<string, string> => {
  const { date: _d, "x-request-id": _id, "server-timing": _timing, ...others } = headers;
  return others;
};

describe.each([...PATHS, ...LISTING_PATHS])("%s", (path) => {
  it("answers the same with a trailing slash", async () => {
    const without = await app.request.get(path);
    const withSlash = await app.request.get(path.replace(/(?=\?|$)/, "/"));
    expect(without.status).toBe(200);
    expect(withSlash.status).toBe(200);
    expect(withSlash.text).toBe(without.text);
  });

  it.each(["identity", "gzip"])("answers HEAD with the headers of GET, %s", async (encoding) => {
    const get = await app.request.get(path).set("Accept-Encoding", encoding);
    const head = await app.request.head(path).set("Accept-Encoding", encoding);
    expect(head.status).toBe(200);
    expect(ofTheAnswer(head.headers)).toEqual(ofTheAnswer(get.headers));
    expect(head.headers).toHaveProperty("content-length");
    expect(head.text).toBeFalsy();
  });

  it("answers OPTIONS with its methods", async () => {
    const answer = await app.request.options(path);
    expect(answer.status).toBe(204);
    expect(answer.headers["allow"]).toBe("GET, HEAD, OPTIONS");
    expect(answer.text).toBe("");
  });

  it.each(METHODS)("refuses %s", async (method) => {
    const answer = await app.request[method](path).send({ limit: 1 });
    expect(answer.status).toBe(405);
    expect(answer.headers["allow"]).toBe("GET, HEAD, OPTIONS");
    expect(answer.text).toBe(
      errorAt(path, `${method.toUpperCase()} is not allowed here, only GET, HEAD, OPTIONS`),
    );
  });

  it("may be read from any origin", async () => {
    const answer = await app.request.get(path).set("Origin", "https://example.com");
    expect(answer.headers["access-control-allow-origin"]).toBe("*");
  });

  it("is 304 for who has it", async () => {
    const first = await app.request.get(path);
    const etag = first.headers["etag"]!;
    const again = await app.request.get(path).set("If-None-Match", etag);

    expect(etag).toMatch(/^"[^"]+"$/);
    expect(again.status).toBe(304);
    expect(again.text).toBeFalsy();
    expect(again.headers).toMatchObject({
      etag,
      vary: "Accept-Encoding, X-Min-Block",
      "cache-control": "public, max-age=1",
    });
  });
});

it("answers every path from memory while the data stand", async () => {
  await using cached = await makeTestApp(database.reader, { cache: OF_ONE_VERSION });
  for (const path of [...PATHS, ...LISTING_PATHS]) {
    await cached.request.get(path);
    const again = await cached.request.get(path);
    expect([path, again.headers["server-timing"]]).toEqual([
      path,
      expect.stringContaining("cache;desc=hit"),
    ]);
  }
});

it.each([...PATHS, "/dexscreener/latest-block", "/udf/time"])(
  "%s is 200 again for who has it when the head has moved",
  async (path) => {
    const first = await app.request.get(path);
    const etag = first.headers["etag"]!;
    await setHead(database.writer, 24.1);
    const moved = await app.request.get(path).set("If-None-Match", etag);
    expect(moved.status).toBe(200);
    expect(moved.headers["etag"]).not.toBe(etag);
  },
);

describe("an unknown path", () => {
  it.each([
    "/v1",
    "/v1/",
    "/v2",
    "/v3/prices",
    "/v1/trades/weth/dai",
    "/v2/markets",
    "/v2/pairs/weth/dai",
    "/v2/trades",
    "/v2/trades/weth",
    "/v1/markets/weth",
    "/v1/markets/weth/dai/mkr",
    "/v1/markets//",
    "/v1//markets",
    "//v1/markets",
    "/v1/markets//dai",
    "/V1/markets",
    "/v1/Markets",
    "/v1x/markets",
    "/v1/constructor/weth/dai",
    "/v1/__proto__",
    "/constructor",
    "/__proto__",
    "/coingecko",
    "/coingecko/ticker",
    "/coinmarketcap/tickers",
    "/dexscreener/latest_block",
    "/udf/quotes",
    "/CoinGecko/tickers",
  ])("%s is 404 whatever the method", async (path) => {
    for (const method of ["get", "options", ...METHODS] as const) {
      const answer = await app.request[method](path);
      expect(answer.status).toBe(404);
      expect(answer.text).toBe(errorAt(path, "Unknown path"));
      expect(answer.headers["cache-control"]).toBe("no-store");
    }
    const head = await app.request.head(path);
    expect(head.status).toBe(404);
  });
});

it.each([
  "/v1/markets/%ZZ/dai",
  "/v1/markets/weth/%",
  "/v1/markets/%ff/dai",
  "/v1/pairs/%C3%28/dai",
  "/v2/trades/%ED%A0%80/dai?limit=0",
  "/v2/prices/weth/%E0%A4",
  "/nowhere/%ZZ",
])("a path with broken percent-encoding is 400: %s", async (path) => {
  const answer = await app.request.get(path);
  expect(answer.status).toBe(400);
  expect(answer.text).toBe(errorAt(path, "The path's percent-encoding is broken"));
});

it("an error is not cached, and may be read from any origin", async () => {
  const { headers } = await app.request.get("/v1/markets/weth/xyz");
  expect(headers).toMatchObject({
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    "access-control-allow-origin": "*",
  });
  expect(headers).not.toHaveProperty("etag");
});

it("an unknown symbol as long as a path may be is an unknown pair", async () => {
  // 2560 characters in all.
  const answer = await app.request.get(`/v1/markets/${"A".repeat(2560 - 16)}/dai`);
  expect(answer.status).toBe(400);
  expect(answer.body.message).toBe("Unknown pair");
});

it("a symbol that is not of ASCII comes through, whole and with its length in bytes", async () => {
  const address = anAddress("Ξ");
  await registerTokens(database.writer, { address, symbol: "Ξ" });
  await registerPair(database.writer, address, DAI);
  const { body, text, headers } = await app.request.get(
    `/v1/markets/${encodeURIComponent("ξ")}/dai`,
  );
  expect(body.data).toMatchObject({ pair: "Ξ/DAI" });
  // Two bytes in UTF-8, and one character.
  expect(Number(headers["content-length"])).toBe(text.length + 1);
});

describe("an answer over 1 kB", () => {
  const PATH = "/v2/trades/weth/dai";

  it("is compressed for those who accept it, and says so to caches", async () => {
    const plain = await app.request.get(PATH).set("Accept-Encoding", "identity");
    const compressed = await app.request.get(PATH).set("Accept-Encoding", "gzip, deflate, br");

    expect(plain.headers).not.toHaveProperty("content-encoding");
    expect(Number(plain.headers["content-length"])).toBeGreaterThan(1024);
    expect(compressed.headers["content-encoding"]).toBe("gzip");
    expect(Number(compressed.headers["content-length"])).toBeLessThan(
      Number(plain.headers["content-length"]),
    );
    expect(compressed.text).toBe(plain.text);
    expect(compressed.headers["etag"]).not.toBe(plain.headers["etag"]);
    for (const { headers } of [plain, compressed]) {
      expect(headers["vary"]).toBe("Accept-Encoding, X-Min-Block");
      expect(headers["cache-control"]).toBe("public, max-age=1");
    }
  });

  it.each(["gzip;q=0", "br", "identity, gzip;q=0.5", ""])(
    "is plain for who asks for %j",
    async (accepted) => {
      const answer = await app.request.get(PATH).set("Accept-Encoding", accepted);
      expect(answer.headers).not.toHaveProperty("content-encoding");
      expect(answer.body.data).toHaveLength(24);
    },
  );

  it.each(["gzip", "identity"])("is 304 with the tag of its form: %s", async (encoding) => {
    const first = await app.request.get(PATH).set("Accept-Encoding", encoding);
    const again = await app.request
      .get(PATH)
      .set("Accept-Encoding", encoding)
      .set("If-None-Match", `"other", ${first.headers["etag"]!}`);
    expect(again.status).toBe(304);
    expect(again.headers).not.toHaveProperty("content-encoding");
    expect(again.headers["vary"]).toBe("Accept-Encoding, X-Min-Block");
  });

  it("is sent to who has the other form alone", async () => {
    const plain = await app.request.get(PATH).set("Accept-Encoding", "identity");
    const other = await app.request
      .get(PATH)
      .set("Accept-Encoding", "gzip")
      .set("If-None-Match", plain.headers["etag"]!);
    expect(other.status).toBe(200);
  });
});

it("a short answer is not compressed", async () => {
  const answer = await app.request.get("/v1/volumes/weth/dai").set("Accept-Encoding", "gzip");
  expect(answer.headers).not.toHaveProperty("content-encoding");
  expect(answer.headers["vary"]).toBe("Accept-Encoding, X-Min-Block");
});

it.each([
  ["a read", "/v2/prices", "GET", "if-none-match,x-min-block", "GET,HEAD"],
  ["a GraphQL query", "/graphql", "POST", "content-type,x-min-block", "GET,HEAD,POST"],
])("a preflight of %s is allowed for any origin", async (_of, path, method, headers, methods) => {
  const answer = await app.request
    .options(path)
    .set("Origin", "https://example.com")
    .set("Access-Control-Request-Method", method)
    .set("Access-Control-Request-Headers", headers);
  expect(answer.status).toBe(204);
  expect(answer.headers).toMatchObject({
    "access-control-allow-origin": "*",
    "access-control-allow-methods": methods,
    "access-control-allow-headers": headers,
  });
});
