// Markets, pairs, prices, volumes and summaries, of both versions, as clients read them.
import {
  anAddress,
  anOffer,
  aTrade,
  DAI,
  GENESIS,
  registerMarkets,
  registerPair,
  registerTokens,
  setHead,
  WETH,
  write,
  type Written,
} from "../factories.ts";
import { dealAnHourLater, fillExchange, HEAD, MKR_WETH, WETH_DAI, WSTETH_DAI } from "./exchange.ts";
import { serveDatabase } from "../served.ts";

const { app, database } = serveDatabase();
beforeEach(async () => {
  await database.empty();
});

/** Registers a token of this symbol, and its market in DAI. */
async function registerInDai(symbol: string): Promise<void> {
  await registerTokens(database.writer, { address: anAddress(symbol), symbol });
  await registerPair(database.writer, anAddress(symbol), DAI);
}

const v1 = (data: unknown) => ({ data, time: HEAD.seconds, message: "success" });
const v2 = (data: unknown) => ({ data, time: HEAD.iso, message: "success" });

const LISTS = [
  ...["/v1/markets/", "/v1/pairs/", "/v1/prices/", "/v1/volumes/"],
  ...["/v2/prices", "/v2/volumes", "/v2/summary"],
];

describe("a list", () => {
  const all = <Kind extends keyof typeof WETH_DAI>(kind: Kind) => ({
    "MKR/WETH": MKR_WETH[kind],
    "WETH/DAI": WETH_DAI[kind],
    "WSTETH/DAI": WSTETH_DAI[kind],
  });

  it.each([
    // Of markets, the active ones alone.
    ["/v1/markets/", v1({ "MKR/WETH": MKR_WETH.market, "WETH/DAI": WETH_DAI.market })],
    ["/v1/pairs/", v1(all("pair"))],
    ["/v1/prices/", v1(all("price"))],
    ["/v1/volumes/", v1(all("volume"))],
    ["/v2/prices", v2(all("price"))],
    ["/v2/volumes", v2(all("volume"))],
    ["/v2/summary", v2(all("summary"))],
  ])("%s holds the whole record of each", async (path, body) => {
    await fillExchange(database.writer);

    const answer = await app.request.get(path);

    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    // As text, so that the order of the keys counts too.
    expect(answer.text).toBe(JSON.stringify(body));
  });

  it.each(LISTS)("%s is empty while no pair is registered", async (path) => {
    await setHead(database.writer, 24);
    const answer = await app.request.get(path);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(path.startsWith("/v1") ? v1({}) : v2({}));
  });

  it.each(LISTS)("%s is in the order of the whole key by code point", async (path) => {
    // In the order of symbols A would come before A-B; '-' and '.' come before '/', and É after Z.
    const symbols = ["É", "Z", "A", "A.B", "A-B", "A2"];
    await registerMarkets(database.writer);
    for (const symbol of symbols) await registerInDai(symbol);

    const { body } = await app.request.get(path);

    expect(Object.keys(body.data)).toEqual([
      "A-B/DAI",
      "A.B/DAI",
      "A/DAI",
      "A2/DAI",
      "MKR/WETH",
      "WETH/DAI",
      "Z/DAI",
      "É/DAI",
    ]);
  });

  it("has a key for a symbol that JavaScript would take for something else", async () => {
    await registerMarkets(database.writer);
    await registerInDai("__proto__");

    const list = await app.request.get("/v2/volumes");
    const single = await app.request.get("/v2/volumes/__proto__/dai");

    expect(Object.keys(list.body.data)).toContain("__PROTO__/DAI");
    expect(single.body.data).toEqual({ vol: "0" });
  });
});

describe("a single pair", () => {
  it.each([
    ["/v1/markets/weth/dai", v1(WETH_DAI.market)],
    ["/v1/pairs/weth/dai", v1(WETH_DAI.pair)],
    ["/v1/prices/weth/dai", v1(WETH_DAI.price)],
    ["/v1/volumes/weth/dai", v1(WETH_DAI.volume)],
    ["/v2/prices/weth/dai", v2(WETH_DAI.price)],
    ["/v2/volumes/weth/dai", v2(WETH_DAI.volume)],
    ["/v2/summary/weth/dai", v2(WETH_DAI.summary)],
    // It is served though trading is disabled.
    ["/v1/markets/wsteth/dai", v1(WSTETH_DAI.market)],
    ["/v1/pairs/wsteth/dai", v1(WSTETH_DAI.pair)],
    ["/v1/prices/wsteth/dai", v1(WSTETH_DAI.price)],
    ["/v1/volumes/wsteth/dai", v1(WSTETH_DAI.volume)],
    ["/v2/prices/wsteth/dai", v2(WSTETH_DAI.price)],
    ["/v2/volumes/wsteth/dai", v2(WSTETH_DAI.volume)],
    ["/v2/summary/wsteth/dai", v2(WSTETH_DAI.summary)],
  ])("%s is its record", async (path, body) => {
    await fillExchange(database.writer);
    const answer = await app.request.get(path);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(JSON.stringify(body));
  });

  it.each(["wsteth/dai", "WSTETH/DAI", "wstETH/dAi"])("is found as %s", async (name) => {
    await fillExchange(database.writer);
    const { body } = await app.request.get(`/v1/markets/${name}`);
    expect(body.data.pair).toBe("WSTETH/DAI");
  });

  it.each(["A-B", "A.B", "É", "a/b", "日本", "%", "?", "A B"])(
    "is found by the symbol %s, percent-encoded",
    async (symbol) => {
      await registerMarkets(database.writer);
      await registerInDai(symbol);

      const { body } = await app.request.get(`/v1/pairs/${encodeURIComponent(symbol)}/dai`);

      expect(body.data.base).toBe(symbol.toUpperCase());
    },
  );

  it.each(["markets", "pairs", "prices", "volumes"])(
    "of /v1/%s that is not registered is unknown",
    async (kind) => {
      await fillExchange(database.writer);
      // The second is registered the other way round; no symbol holds a NUL.
      for (const name of [
        "weth/xyz",
        "dai/weth",
        "%00/dai",
        "weth/da%00i",
        "constructor/__proto__",
      ]) {
        const answer = await app.request.get(`/v1/${kind}/${name}`);
        expect(answer.status).toBe(400);
        expect(answer.text).toBe(
          JSON.stringify({ data: {}, time: HEAD.seconds, message: "Unknown pair" }),
        );
      }
    },
  );

  it.each(["prices", "volumes", "trades", "summary", "book", "candles"])(
    "of /v2/%s that is not registered is unknown",
    async (kind) => {
      await fillExchange(database.writer);
      for (const name of ["weth/xyz", "dai/weth", "weth/%00"]) {
        const answer = await app.request.get(`/v2/${kind}/${name}`);
        expect(answer.status).toBe(400);
        expect(answer.text).toBe(JSON.stringify({ time: HEAD.iso, message: "Unknown pair" }));
      }
    },
  );
});

/** What an endpoint of WETH/DAI has once this is written into an empty exchange. */
async function dataOf(kind: string, written: Written): Promise<unknown> {
  await registerMarkets(database.writer);
  await write(database.writer, written);
  return (await app.request.get(`${kind}/weth/dai`)).body.data;
}

describe("the summary", () => {
  it("shows how far the price has come from where it was 24 hours ago", async () => {
    await fillExchange(database.writer);
    await dealAnHourLater(database.writer);
    // 30 hours after genesis: at hour 6 the trade of hour 1 stood, 100; the last is that of hour 25.
    await setHead(database.writer, 30);

    const { body } = await app.request.get("/v2/summary/weth/dai");

    // (300 + 120 + 500 + 999) ÷ (2 + 1 + 4 + 1) = 1919 ÷ 8
    expect(body.data).toEqual({
      ...WETH_DAI.summary,
      last: "999",
      lastTime: "2026-01-02T01:00:00.000Z",
      open: "100",
      change: "899",
      percent: "899",
      low: "120",
      high: "999",
      vwap: "239.875",
      vol: "8",
      quoteVol: "1919",
      trades: 4,
    });
  });

  it("rounds a fall in percent as a rise, once and away from zero", async () => {
    const data = await dataOf("/v2/summary", {
      trades: [
        aTrade({ hour: 1, base: "1", quote: "200" }),
        aTrade({ hour: 26, base: "1", quote: "199.999999999999999999" }),
      ],
    });

    // -10^-18 × 100 ÷ 200 is half of the last digit.
    expect(data).toMatchObject({
      change: "-0.000000000000000001",
      percent: "-0.000000000000000001",
    });
  });

  it("has no percent of a price of nothing", async () => {
    const data = await dataOf("/v2/summary", {
      trades: [
        aTrade({ hour: 1, base: "1", quote: "0" }),
        aTrade({ hour: 26, base: "1", quote: "5" }),
      ],
    });

    expect(data).toMatchObject({ open: "0", change: "5", percent: "0" });
  });

  it("counts a trade of no base, which has no price", async () => {
    const data = await dataOf("/v2/summary", {
      trades: [
        aTrade({ hour: 1, base: "2", quote: "10" }),
        aTrade({ hour: 2, base: "0", quote: "4" }),
      ],
    });

    expect(data).toMatchObject({
      last: "5",
      lastTime: "2026-01-01T01:00:00.000Z",
      vol: "2",
      quoteVol: "14",
      trades: 2,
      vwap: "7",
    });
  });

  it("has a spread below zero where bid and ask overlap", async () => {
    const data = await dataOf("/v2/summary", {
      offers: [
        anOffer({ side: "sell", base: "1", quote: "100" }),
        anOffer({ side: "buy", base: "1", quote: "101.5" }),
      ],
    });

    expect(data).toMatchObject({ bid: "101.5", ask: "100", spread: "-1.5" });
  });
});

describe("a decimal", () => {
  it("has neither exponent nor trailing zeros, however small or large", async () => {
    await registerMarkets(database.writer);
    // 1e20 and 18 digits of quote for the least amount of base there is:
    // 100000000000000000000.123456789012345678 ÷ 10^-18
    await write(database.writer, {
      trades: [
        aTrade({ base: "0.000000000000000001", quote: "100000000000000000000.123456789012345678" }),
      ],
    });

    const prices = await app.request.get("/v2/prices/weth/dai");
    const volumes = await app.request.get("/v2/volumes/weth/dai");

    const price = "100000000000000000000123456789012345678";
    expect(prices.body.data).toEqual({
      "24hrvwap": price,
      "12hrvwap": price,
      "6hrvwap": price,
      "1hrvwap": price,
      last: price,
    });
    expect(volumes.body.data).toEqual({ vol: "0.000000000000000001" });
  });

  it("keeps all 18 digits of an amount above 2^53", async () => {
    const data = await dataOf("/v1/markets", {
      trades: [
        aTrade({ base: "100000000000000000000.123456789012345678", quote: "0.000000000000000001" }),
      ],
    });

    // 10^-18 ÷ 10^20 is 0 at 18 digits.
    expect(data).toEqual({
      ...MKR_WETH.market,
      pair: "WETH/DAI",
      vol: "100000000000000000000.123456789012345678",
    });
  });

  it("keeps the zeros of a whole number", async () => {
    const data = await dataOf("/v1/markets", { trades: [aTrade({ base: "10", quote: "6000" })] });

    expect(data).toMatchObject({ last: "600", vol: "10" });
  });
});

describe("time", () => {
  it("is that of the head, truncated to seconds in v1 and to milliseconds in v2", async () => {
    await database.writer.query("select ingest.write_block(1, '2026-01-01T00:00:00.999999Z')");

    const seconds = await app.request.get("/v1/markets/");
    const milliseconds = await app.request.get("/v2/prices");

    expect(seconds.body.time).toBe(GENESIS / 1000);
    expect(milliseconds.body.time).toBe("2026-01-01T00:00:00.999Z");
  });

  it("is that of the database's clock while no block was ever written", async () => {
    const before = await database.reader.query("select now() as time");
    const { body } = await app.request.get("/v2/prices");
    const after = await database.reader.query("select now() as time");

    expect(body.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(body.time)).toBeGreaterThanOrEqual(before.rows[0].time.getTime());
    expect(Date.parse(body.time)).toBeLessThanOrEqual(after.rows[0].time.getTime());
  });

  it("moves with the head, and the figures with it", async () => {
    await fillExchange(database.writer);
    await dealAnHourLater(database.writer);

    const { body } = await app.request.get("/v1/markets/weth/dai");

    // The trade at hour 25 is there now; the one at hour 1 is exactly 24 hours old and out.
    // So is hour 19 from the 6 hours of the price: (500 + 999) ÷ (4 + 1).
    expect(body).toEqual({
      data: { ...WETH_DAI.market, price: "299.8", last: "999", vol: "8", low: "120", high: "999" },
      time: HEAD.seconds + 3600,
      message: "success",
    });
  });
});

it("keeps a trade of another token with the same symbol out of the market", async () => {
  const falseDai = anAddress("false DAI");
  await registerTokens(database.writer, { address: falseDai, symbol: "DAI" });
  await fillExchange(database.writer, [
    aTrade({ id: 45, hour: 23, quote: "1", baseGem: WETH, quoteGem: falseDai }),
  ]);

  const { body } = await app.request.get("/v1/markets/weth/dai");

  expect(body).toEqual(v1(WETH_DAI.market));
});
