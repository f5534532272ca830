// What the database derives by itself, for anybody who inserts by plain SQL.
import { makeDatabase, type TestDatabase } from "../database.ts";
import { aTrade, anOffer, DAI, insert, registerMarkets, WETH } from "../factories.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(async () => {
  await database.empty();
});
afterAll(async () => {
  await database.drop();
});

describe("an inserted trade", () => {
  it("has its symbols, market, act and price from its tokens and amounts", async () => {
    await registerMarkets(database.writer);
    await insert(database.writer, "dex_trade", [
      aTrade({ side: "sell", base: "2", quote: "5" }),
      aTrade({ side: "buy", base: "3", quote: "1" }),
    ]);

    const { rows } = await database.reader.query(
      "select lot_tkn, bid_tkn, market, act, price from dex_trade order by id",
    );

    expect(rows).toEqual([
      {
        lot_tkn: "WETH",
        bid_tkn: "DAI",
        market: "WETHDAI",
        act: "sell",
        price: "2.500000000000000000",
      },
      // 1 ÷ 3
      {
        lot_tkn: "DAI",
        bid_tkn: "WETH",
        market: "WETHDAI",
        act: "buy",
        price: "0.333333333333333333",
      },
    ]);
  });

  it("is relabelled when its tokens and pair are registered later", async () => {
    await insert(database.writer, "dex_trade", aTrade());
    await insert(database.writer, "dex_offer", anOffer());
    await registerMarkets(database.writer);

    const { rows } = await database.reader.query(
      `select lot_tkn, market, act, price from dex_trade
      union all
      select lot_tkn, market, act, price from dex_offer`,
    );

    const labelled = {
      lot_tkn: "WETH",
      market: "WETHDAI",
      act: "sell",
      price: "100.000000000000000000",
    };
    expect(rows).toEqual([labelled, labelled]);
  });
});

it("reproduces the documented price of an offer to the last digit", async () => {
  await registerMarkets(database.writer);
  await insert(
    database.writer,
    "dex_offer",
    anOffer({
      side: "buy",
      base: "11.456411758931667",
      quote: "6243.744408617758",
      baseGem: WETH,
      quoteGem: DAI,
    }),
  );

  const { rows } = await database.reader.query(
    "select market, act, lot_amt, bid_amt, price from dex_offer",
  );

  expect(rows).toEqual([
    {
      market: "WETHDAI",
      act: "buy",
      lot_amt: "6243.744408617758000000",
      bid_amt: "11.456411758931667000",
      price: "544.999999999999955047",
    },
  ]);
});
