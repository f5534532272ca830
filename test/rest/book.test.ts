// The book of a market by levels of price.
import { rowsRead } from "../explain.ts";
import { anOffer, aTrade, registerMarkets, write } from "../factories.ts";
import { dataOf, type TradesPage } from "../graphql.ts";
import { serveDatabase } from "../served.ts";

const { app, database } = serveDatabase();
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
  await write(database.writer, {
    offers: [
      // Two at 110, one of them taken by a quarter: 10 + 20 × 3/4 = 25 base.
      anOffer({ id: 1, side: "sell", base: "10", quote: "1100" }),
      anOffer({ id: 2, side: "sell", base: "20", quote: "2200" }),
      anOffer({ id: 3, side: "sell", base: "1", quote: "120" }),
      // 7 base wanted for 100 quote, of which 1 was taken: 7 × 99/100 = 6.93.
      anOffer({ id: 4, side: "buy", base: "7", quote: "100" }),
      anOffer({ id: 5, side: "buy", base: "1", quote: "14" }),
    ],
    trades: [
      aTrade({ offer_id: 2, hour: 1, side: "sell", base: "5", quote: "550" }),
      aTrade({ offer_id: 4, hour: 1, side: "buy", base: "0.07", quote: "1" }),
    ],
    head: 2,
  });
});

const BIDS = [
  // 100 ÷ 7
  { price: "14.285714285714285714", vol: "6.93", quoteVol: "99", offers: 1 },
  { price: "14", vol: "1", quoteVol: "14", offers: 1 },
];
const ASKS = [
  { price: "110", vol: "25", quoteVol: "2750", offers: 2 },
  { price: "120", vol: "1", quoteVol: "120", offers: 1 },
];

it("has what is left of the open offers at the head, the best of each side first", async () => {
  const { body } = await app.request.get("/v2/book/weth/dai").expect(200);
  expect(body).toEqual({
    data: { bids: BIDS, asks: ASKS },
    time: "2026-01-01T02:00:00.000Z",
    message: "success",
  });
});

it("has so many levels of each side as are asked for", async () => {
  const { body } = await app.request.get("/v2/book/weth/dai?depth=1").expect(200);
  expect(body.data).toEqual({ bids: BIDS.slice(0, 1), asks: ASKS.slice(0, 1) });
});

it("begins with the bid and the ask of the market", async () => {
  const book = await app.request.get("/v2/book/weth/dai");
  const market = await app.request.get("/v1/markets/weth/dai");
  const { bid, ask } = market.body.data;
  expect([bid, ask]).toEqual([book.body.data.bids[0].price, book.body.data.asks[0].price]);
});

it("is empty where there is no offer", async () => {
  const { body } = await app.request.get("/v2/book/mkr/weth").expect(200);
  expect(body.data).toEqual({ bids: [], asks: [] });
});

it("is there again as it was when blocks are taken back", async () => {
  await write(database.writer, {
    trades: [aTrade({ offer_id: 3, hour: 3, side: "sell", base: "1", quote: "120" })],
  });
  const later = await app.request.get("/v2/book/weth/dai");
  expect(later.body.data.asks).toEqual(ASKS.slice(0, 1));

  await database.writer.query("select ingest.take_back(7200)");

  const { body } = await app.request.get("/v2/book/weth/dai");
  expect(body.data).toEqual({ bids: BIDS, asks: ASKS });
});

it.each(["0", "1001", "1.5", "", "ten", "1&depth=2"])("refuses ?depth=%s", async (depth) => {
  const { body } = await app.request.get(`/v2/book/weth/dai?depth=${depth}`).expect(400);
  expect(body).toEqual({
    time: "2026-01-01T02:00:00.000Z",
    message:
      "depth must be an integer from 1 to 1000, given once and in digits only, without a leading zero",
  });
});

it("is the same by GraphQL, by pages", async () => {
  const { dexBook } = await dataOf<{ dexBook: TradesPage }>(
    app,
    `{ dexBook(base: "weth", quote: "dai", depth: 2, first: 3) {
      totalCount
      nodes { act price vol quoteVol offers }
      pageInfo { hasNextPage }
    } }`,
  );
  expect(dexBook).toMatchObject({
    totalCount: 4,
    nodes: [
      { act: "buy", price: "14.285714285714285714", vol: "6.930000000000000000", offers: 1 },
      { act: "buy", price: "14.000000000000000000", quoteVol: "14.000000000000000000" },
      { act: "sell", price: "110.000000000000000000", vol: "25.000000000000000000", offers: 2 },
    ],
    pageInfo: { hasNextPage: true },
  });
});

it("is read from the offers at its best prices, however many there are", async () => {
  await write(database.writer, {
    offers: Array.from({ length: 3000 }, (_, n) =>
      anOffer({ id: 1000 + n, hour: 2.5, base: "1", quote: `${1000 + n}` }),
    ),
  });
  await database.owner.query("analyze");
  const read = await rowsRead(database.owner, "select * from dex_book('WETH', 'DAI', 10)");
  // Ten levels of asks and the two of bids: each once for its price and once for what is left.
  for (const table of ["dex_offer", "offer_left", "standing_offer"]) {
    expect(read[table]).toBeLessThanOrEqual(2 * (10 + 1 + 3) + 10);
  }
});
