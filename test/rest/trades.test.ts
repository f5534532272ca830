// The trades of a pair, page by page.
import type { Database } from "../../db/connect.ts";
import { findTrades } from "../../market/queries/trades.ts";
import { explain, type Statement } from "../explain.ts";
import { aTrade, MKR, registerMarkets, WETH, write, type TradeRow } from "../factories.ts";
import { fillExchange, HEAD } from "./exchange.ts";
import { serveDatabase } from "../served.ts";

const { app, database } = serveDatabase();
beforeEach(async () => {
  await database.empty();
});

const idsOf = (body: { data: { id: number }[] }): number[] => body.data.map(({ id }) => id);

const writeTrades = (trades: TradeRow[]): Promise<void> => write(database.writer, { trades });

const ofMkr = (id: number): TradeRow => aTrade({ id, baseGem: MKR, quoteGem: WETH });

/** WETH/DAI with one trade for each of these ids, all in the block of the head. */
async function fillTrades(ids: number[]): Promise<void> {
  await registerMarkets(database.writer);
  await writeTrades(ids.map((id) => aTrade({ id })));
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

it("are listed newest first, up to the head", async () => {
  await fillExchange(database.writer);

  const answer = await app.request.get("/v2/trades/weth/dai");

  expect(answer.status).toBe(200);
  expect(answer.text).toBe(
    JSON.stringify({
      data: [
        // 500 ÷ 4
        { id: 50, price: "125", volume: "4", time: "2026-01-01T23:30:00.000Z" },
        { id: 40, price: "120", volume: "1", time: "2026-01-01T19:00:00.000Z" },
        // 300 ÷ 2
        { id: 30, price: "150", volume: "2", time: "2026-01-01T13:00:00.000Z" },
        { id: 20, price: "100", volume: "1", time: "2026-01-01T01:00:00.000Z" },
      ],
      time: HEAD.iso,
      message: "success",
    }),
  );
});

it("are an empty list in a pair that never traded", async () => {
  await fillExchange(database.writer);
  const answer = await app.request.get("/v2/trades/mkr/weth");
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({ data: [], time: HEAD.iso, message: "success" });
});

it("are served of an inactive pair, in any case", async () => {
  await fillExchange(database.writer);
  const { body } = await app.request.get("/v2/trades/wStEtH/Dai");
  expect(body.data).toEqual([
    { id: 10, price: "2.5", volume: "3", time: "2026-01-01T00:00:00.000Z" },
  ]);
});

it("have decimals without exponent, and 0 for a price that does not exist", async () => {
  await registerMarkets(database.writer);
  await writeTrades([
    aTrade({ id: 1, base: "0", quote: "5" }),
    aTrade({ id: 2, base: "0.000000000000000001", quote: "100000000000000000000" }),
    aTrade({ id: 3, base: "100000000000000000000.123456789012345678", quote: "0" }),
    // 1 ÷ 10^18
    aTrade({ id: 4, base: "1000000000000000000", quote: "1" }),
  ]);

  const { body } = await app.request.get("/v2/trades/weth/dai");

  const time = "2026-01-01T01:00:00.000Z";
  expect(body.data).toEqual([
    { id: 4, price: "0.000000000000000001", volume: "1000000000000000000", time },
    { id: 3, price: "0", volume: "100000000000000000000.123456789012345678", time },
    // 10^20 ÷ 10^-18
    {
      id: 2,
      price: "100000000000000000000000000000000000000",
      volume: "0.000000000000000001",
      time,
    },
    { id: 1, price: "0", volume: "0", time },
  ]);
});

it("have the greatest id that a writer can give, and a time truncated to milliseconds", async () => {
  await registerMarkets(database.writer);
  await writeTrades([aTrade({ id: "4503599627370495", time: "2026-01-01T00:59:59.999999Z" })]);

  const { text } = await app.request.get("/v2/trades/weth/dai?fromId=9007199254740991");

  expect(text).toContain('"id":4503599627370495,');
  expect(text).toContain('"time":"2026-01-01T00:59:59.999Z"}]');
});

describe("limit", () => {
  it("is 100 when it is not given", async () => {
    await fillTrades(upTo(101));
    const { body } = await app.request.get("/v2/trades/weth/dai");
    expect(idsOf(body)).toEqual(upTo(101).reverse().slice(0, 100));
  });

  it("takes from 1 to 1000", async () => {
    await fillTrades(upTo(1001));

    const one = await app.request.get("/v2/trades/weth/dai?limit=1");
    const thousand = await app.request.get("/v2/trades/weth/dai?limit=1000");

    expect(idsOf(one.body)).toEqual([1001]);
    expect(idsOf(thousand.body)).toEqual(upTo(1001).reverse().slice(0, 1000));
  });
});

describe("fromId", () => {
  it("is the first trade returned", async () => {
    await fillTrades([3, 5, 8, 13]);
    const { body } = await app.request.get("/v2/trades/weth/dai?fromId=8&limit=2");
    expect(idsOf(body)).toEqual([8, 5]);
  });

  it("that is another market's trade gives the next older of this one", async () => {
    await registerMarkets(database.writer);
    await writeTrades([aTrade({ id: 3 }), aTrade({ id: 5 }), ofMkr(7), aTrade({ id: 8 })]);
    const { body } = await app.request.get("/v2/trades/weth/dai?fromId=7");
    expect(idsOf(body)).toEqual([5, 3]);
  });

  it("below the first trade gives none, and beyond the last all", async () => {
    await fillTrades([3, 5]);
    const below = await app.request.get("/v2/trades/weth/dai?fromId=2");
    const beyond = await app.request.get("/v2/trades/weth/dai?fromId=9007199254740991");
    expect(below.body.data).toEqual([]);
    expect(idsOf(beyond.body)).toEqual([5, 3]);
  });

  it("walks a whole market: none twice, none missing, though newer trades arrive", async () => {
    // Two markets in turn, with gaps in the ids.
    const ids = upTo(40).map((n) => n * 3);
    await registerMarkets(database.writer);
    await writeTrades(ids.map((id) => (id % 2 === 0 ? aTrade({ id }) : ofMkr(id))));

    const walked: number[] = [];
    let query = "limit=7";
    for (;;) {
      const { body } = await app.request.get(`/v2/trades/weth/dai?${query}`);
      const page = idsOf(body);
      if (page.length === 0) break;
      walked.push(...page);
      query = `limit=7&fromId=${page.at(-1)! - 1}`;
      await writeTrades([aTrade({ id: 1000 + walked.length, hour: 1 + walked.length })]);
    }

    expect(walked).toEqual(ids.filter((id) => id % 2 === 0).reverse());
  });
});

describe("a bad parameter", () => {
  const LIMIT =
    "limit must be an integer from 1 to 1000, given once and in digits only, without a leading zero";
  const FROM_ID =
    "fromId must be an integer from 1 to 9007199254740991, given once and in digits only, without a leading zero";

  it.each([
    ["limit=0", LIMIT],
    ["limit=1001", LIMIT],
    ["limit=-1", LIMIT],
    ["limit=%2B1", LIMIT],
    ["limit=+1", LIMIT],
    ["limit=%201", LIMIT],
    ["limit=1%20", LIMIT],
    ["limit=1%0A", LIMIT],
    ["limit=01", LIMIT],
    ["limit=1.5", LIMIT],
    ["limit=1e3", LIMIT],
    ["limit=0x10", LIMIT],
    ["limit=1_0", LIMIT],
    ["limit=%D9%A1", LIMIT],
    ["limit=ten", LIMIT],
    ["limit=%ZZ", LIMIT],
    ["limit=99999999999999999999999999", LIMIT],
    ["limit=", LIMIT],
    ["limit", LIMIT],
    ["limit=1&limit=1", LIMIT],
    ["limit=1&limit=", LIMIT],
    ["%6Cimit=1&limit=2", LIMIT],
    ["limit[]=1", LIMIT],
    ["limit%5B%5D=1", LIMIT],
    ["limit[a]=1", LIMIT],
    ["limit=1&limit[]=1", LIMIT],
    ["limit=100?fromId=3", LIMIT],
    ["limit=0&fromId=0", LIMIT],
    ["fromId=0", FROM_ID],
    ["fromId=-1", FROM_ID],
    ["fromId=01", FROM_ID],
    ["fromId=1.0", FROM_ID],
    ["fromId=1e3", FROM_ID],
    ["fromId=", FROM_ID],
    ["fromId=%201", FROM_ID],
    ["fromId=null", FROM_ID],
    ["fromId=1&fromId=2", FROM_ID],
    ["fromId[]=1", FROM_ID],
    ["fromId=9007199254740992", FROM_ID],
    ["fromId=9007199254740993", FROM_ID],
    ["fromId=18446744073709551617", FROM_ID],
    ["limit=5&fromId=x", FROM_ID],
    ["LIMIT=5", "LIMIT must be written limit"],
    ["Limit=0", "Limit must be written limit"],
    ["limit=1&%4Cimit=1", "Limit must be written limit"],
    ["fromid=2", "fromid must be written fromId"],
    ["FromId[]=2", FROM_ID],
    ["?limit=5", "?limit must be written limit"],
    ["limit=5&%3F?fromId=2", "??fromId must be written fromId"],
  ])("?%s is refused", async (query, message) => {
    await fillTrades([1, 2]);
    const answer = await app.request.get(`/v2/trades/weth/dai?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.text).toBe(JSON.stringify({ time: "2026-01-01T01:00:00.000Z", message }));
  });

  it("is answered after an unknown pair", async () => {
    await fillTrades([1]);
    const answer = await app.request.get("/v2/trades/dai/weth?limit=0");
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ time: "2026-01-01T01:00:00.000Z", message: "Unknown pair" });
  });

  it.each(["limits=0", "LIMITS=0", "limıt=0", "offset=-1", "%ZZ", "&&", "=0", "a[]=1"])(
    "that is unknown is ignored: ?%s",
    async (query) => {
      await fillTrades([1, 2]);
      const answer = await app.request.get(`/v2/trades/weth/dai?${query}`);
      expect(answer.status).toBe(200);
      expect(idsOf(answer.body)).toEqual([2, 1]);
    },
  );

  it("of the trades is no parameter elsewhere", async () => {
    await fillTrades([1]);
    const answer = await app.request.get("/v1/prices/weth/dai?limit=0");
    expect(answer.status).toBe(200);
  });
});

it("a page far back in a market that hardly trades is read from the index of the market", async () => {
  // 5 trades of MKR/WETH, then 20,000 of WETH/DAI: whoever walks back by id alone reads them all.
  await registerMarkets(database.writer);
  await writeTrades([
    ...upTo(5).map(ofMkr),
    ...upTo(20_000).map((n) => aTrade({ id: 5 + n, hour: 2 })),
  ]);
  await database.owner.query("analyze");
  for (const page of [
    { limit: 100, fromId: 9007199254740991 },
    { limit: 1, fromId: 3 },
  ]) {
    let asked: Statement | undefined;
    const listener = {
      query: (statement: Statement) => database.reader.query((asked = statement)),
    } as Database;
    const { rows } = await findTrades(listener, { base: "mkr", quote: "weth" }, page);

    const { rowsRead, indexes } = await explain(database.reader, asked!, "dex_trade");

    expect(indexes).toContain("dex_trade_market_id_id_idx");
    expect(rows).toHaveLength(Math.min(page.limit, 5));
    expect(rowsRead).toBe(rows.length);
  }
});
