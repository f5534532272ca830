// The columns that the database derives of the rows it gets.
import { aTrade, anOffer, DAI, registerMarkets, WETH, write } from "../factories.ts";
import { useDatabase } from "../served.ts";

const database = useDatabase();
beforeEach(async () => {
  await database.empty();
});

describe("a trade", () => {
  it("gets symbols, market, act and price from its tokens and amounts", async () => {
    await registerMarkets(database.writer);
    await write(database.writer, {
      trades: [
        aTrade({ side: "sell", base: "2", quote: "5" }),
        aTrade({ side: "buy", base: "3", quote: "1" }),
      ],
    });

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

  it("gets block, time and an ordinal in the block if it has none", async () => {
    const rows = [aTrade(), aTrade()].map((trade) => {
      const { block: _block, time: _time, idx: _idx, ...row } = trade;
      return row;
    });
    await database.writer.query(
      "select ingest.write_block(7, '2026-01-02T03:04:05Z', trades => $1)",
      [JSON.stringify(rows)],
    );
    const found = await database.reader.query(
      "select id, block, time, idx from dex_trade order by id",
    );
    const time = new Date("2026-01-02T03:04:05Z");
    expect(found.rows).toEqual([
      { id: "1", block: 7, time, idx: 0 },
      { id: "2", block: 7, time, idx: 1 },
    ]);
  });
});

it("a later registration of tokens and pair labels earlier trades and offers", async () => {
  await write(database.writer, { trades: [aTrade()], offers: [anOffer()] });
  const labels = async (): Promise<unknown[]> => {
    const { rows } = await database.reader.query(
      `select lot_tkn, market, act, price from dex_trade
      union all
      select lot_tkn, market, act, price from dex_offer`,
    );
    return rows;
  };
  const unlabelled = { lot_tkn: null, market: null, act: null, price: null };
  expect(await labels()).toEqual([unlabelled, unlabelled]);

  await registerMarkets(database.writer);

  const labelled = {
    lot_tkn: "WETH",
    market: "WETHDAI",
    act: "sell",
    price: "100.000000000000000000",
  };
  expect(await labels()).toEqual([labelled, labelled]);
});

it("an offer has the documented price to the last digit", async () => {
  await registerMarkets(database.writer);
  const offer = anOffer({
    side: "buy",
    base: "11.456411758931667",
    quote: "6243.744408617758",
    baseGem: WETH,
    quoteGem: DAI,
  });
  await write(database.writer, { offers: [offer] });

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
