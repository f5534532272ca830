// What may be written, by whom, and how it is taken back.
import { makeDatabase, type TestDatabase } from "../database.ts";
import { anOffer, aTrade, blockAt, hours, insert, registerMarkets, setHead } from "../factories.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});
afterAll(async () => {
  await database.drop();
});

describe("an amount", () => {
  it.each(["-1", "NaN", "Infinity", "1e78", "0.0000000000000000001"])(
    "of %s is refused",
    async (base) => {
      await expect(insert(database.writer, "dex_trade", aTrade({ base }))).rejects.toThrow(
        /^lot_amt is .*: an amount is a decimal from 0 to below 10\^78 with at most 18 fractional digits$/,
      );
    },
  );

  it("keeps every digit of a 256-bit integer with 18 fractional digits", async () => {
    const base = `${2n ** 256n - 1n}.123456789012345678`;
    await insert(database.writer, "dex_trade", aTrade({ base }));
    const { rows } = await database.reader.query("select lot_amt from dex_trade");
    expect(rows).toEqual([{ lot_amt: base }]);
  });
});

describe("a trade", () => {
  it("is immutable", async () => {
    await insert(database.writer, "dex_trade", aTrade());
    await expect(database.owner.query("update dex_trade set lot_amt = 2")).rejects.toThrow(
      "a trade is an immutable record",
    );
    await expect(database.writer.query("update dex_trade set market = 'X'")).rejects.toThrow(
      "permission denied for table dex_trade",
    );
  });

  it("is known by its transaction and log index", async () => {
    const trade = aTrade();
    await insert(database.writer, "dex_trade", [trade, { ...trade, idx: 1 }]);
    await expect(insert(database.writer, "dex_trade", trade)).rejects.toThrow(
      /dex_trade_tx_idx_key/,
    );
  });

  it.each([
    ["maker", "0x12"],
    ["taker", `1x${"0".repeat(40)}`],
    ["tx", `0x${"A".repeat(64)}`],
    ["pair", "x"],
    ["block", -1],
    ["idx", -1],
  ])("with a %s of %s is refused", async (column, value) => {
    await expect(
      insert(database.writer, "dex_trade", { ...aTrade(), [column]: value }),
    ).rejects.toThrow(`dex_trade_${column}_check`);
  });
});

describe("an offer is spent by the trade that reaches the whole lot", () => {
  // The trades of an offer of 10 WETH: how much each took, an hour after the one before, from hour 2.
  it.each([
    { taken: ["10"], spentAt: 2 },
    // 4 + 6 = 10.
    { taken: ["4", "6"], spentAt: 3 },
    // 10 is reached at hour 3; what comes after takes nothing.
    { taken: ["4", "6", "0"], spentAt: 3 },
    // 4 + 7 = 11 > 10, and so is 4 + 7 + 1.
    { taken: ["4", "7", "1"], spentAt: 3 },
    { taken: ["4", "5.999999999999999999"], spentAt: undefined },
    { taken: ["0"], spentAt: undefined },
    { taken: [], spentAt: undefined },
  ])("$taken of 10: at hour $spentAt", async ({ taken, spentAt }) => {
    const trades = taken.map((base, at) => aTrade({ offer_id: 1, hour: 2 + at, base }));
    const offer = anOffer({ id: 1, hour: 1, base: "10", quote: "1000" });
    const states = async (): Promise<unknown[]> => {
      const { rows } = await database.owner.query("select filled, spent_block from dex_offer");
      return rows;
    };
    const expected = {
      filled: spentAt !== undefined,
      spent_block: spentAt === undefined ? null : blockAt(spentAt),
    };

    await insert(database.writer, "dex_offer", offer);
    for (const trade of trades) await insert(database.writer, "dex_trade", trade);
    expect(await states()).toEqual([expected]);

    // The same where its trades are recorded before it.
    await database.owner.query("delete from dex_offer");
    await insert(database.writer, "dex_offer", offer);
    expect(await states()).toEqual([expected]);
  });

  it("and one of nothing as it is made", async () => {
    await insert(database.writer, "dex_offer", anOffer({ id: 1, hour: 1, base: "0" }));
    const { rows } = await database.owner.query("select filled, spent_block from dex_offer");
    expect(rows).toEqual([{ filled: true, spent_block: blockAt(1) }]);
  });
});

describe("the reader", () => {
  it.each([
    "insert into dex_head values (1, now())",
    "update dex_pair set active = false",
    "delete from dex_trade",
    "truncate dex_offer",
    "create table public.mine ()",
    "create temporary table mine ()",
    "select dex_private.relabel()",
    "select dex_private.take_back(0)",
    "select nextval('dex_trade_id_seq')",
    "select * from dex_private.offer_taken",
    "set default_transaction_read_only = off; insert into dex_head values (1, now())",
    "begin read write; delete from dex_trade",
  ])("cannot %s", async (statement) => {
    const client = await database.reader.connect();
    await expect(client.query(statement)).rejects.toThrow(
      /permission denied|read-only transaction/,
    );
    client.release(true);
  });
});

describe("taking blocks back", () => {
  const bookAndLast = async (): Promise<unknown> =>
    (
      await database.reader.query(
        "select last, vol, bid, ask from dex_market where pair = 'WETH/DAI'",
      )
    ).rows[0];

  it("leaves the exchange as it was at the block that stands", async () => {
    await insert(database.writer, "dex_offer", [
      anOffer({ id: 1, hour: 1, base: "10", quote: "1000" }),
      anOffer({ id: 2, hour: 1, side: "buy", base: "10", quote: "900" }),
    ]);
    await insert(
      database.writer,
      "dex_trade",
      aTrade({ hour: 2, offer_id: 1, base: "4", quote: "400" }),
    );
    await setHead(database.writer, 3);
    const before = await bookAndLast();
    expect(before).toEqual({
      last: "100.000000000000000000",
      vol: "4.000000000000000000",
      bid: "90.000000000000000000",
      ask: "100.000000000000000000",
    });

    // Offer 1 is taken whole, 2 is cancelled, 3 is made.
    await insert(
      database.writer,
      "dex_trade",
      aTrade({ hour: 4, offer_id: 1, base: "6", quote: "600" }),
    );
    await database.writer.query("update dex_offer set killed = $1 where id = 2", [blockAt(4)]);
    await insert(database.writer, "dex_offer", anOffer({ id: 3, hour: 4, base: "1", quote: "50" }));
    await setHead(database.writer, 4);
    expect(await bookAndLast()).toEqual({
      last: "100.000000000000000000",
      vol: "10.000000000000000000",
      bid: null,
      ask: "50.000000000000000000",
    });

    const { rows } = await database.writer.query("select dex_private.take_back($1, $2) as trades", [
      blockAt(3),
      hours(3),
    ]);

    expect(rows).toEqual([{ trades: "1" }]);
    expect(await bookAndLast()).toEqual(before);
    const head = await database.reader.query("select block, time from dex_head");
    expect(head.rows).toEqual([{ block: blockAt(3), time: new Date(hours(3)) }]);
    const offers = await database.reader.query(
      "select id, killed, filled from dex_offer order by id",
    );
    expect(offers.rows).toEqual([
      { id: 1, killed: 0, filled: false },
      { id: 2, killed: 0, filled: false },
    ]);
  });

  it("gives the replacing trades new, higher ids, and does not move an earlier head", async () => {
    await insert(database.writer, "dex_trade", [aTrade({ hour: 1 }), aTrade({ hour: 2 })]);
    await setHead(database.writer, 1);
    await database.writer.query("select dex_private.take_back($1)", [blockAt(1.5)]);
    await insert(database.writer, "dex_trade", aTrade({ hour: 2 }));

    const { rows } = await database.reader.query("select id from dex_trade order by id");
    expect(rows).toEqual([{ id: "1" }, { id: "3" }]);
    const head = await database.reader.query("select block from dex_head");
    expect(head.rows).toEqual([{ block: blockAt(1) }]);
  });
});
