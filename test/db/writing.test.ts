// The rows after writes: amounts, offers filled by trades, removed blocks.
import { verify } from "../../db/verify/verify-database.ts";
import { openClient } from "../database.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  hours,
  registerMarkets,
  setHead,
  WETH,
  write,
  type TradeRow,
} from "../factories.ts";
import { useDatabase } from "../served.ts";

const database = useDatabase();
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

const takeBack = async (block: number): Promise<string> => {
  const { rows } = await database.writer.query<{ trades: string }>(
    "select ingest.take_back($1) as trades",
    [block],
  );
  return rows[0]!.trades;
};

describe("an amount", () => {
  it("keeps every digit of a 256-bit integer with 18 fractional digits", async () => {
    const base = `${2n ** 256n - 1n}.123456789012345678`;
    await write(database.writer, { trades: [aTrade({ base })] });
    const { rows } = await database.reader.query("select lot_amt from dex_trade");
    expect(rows).toEqual([{ lot_amt: base }]);
  });

  it.each([
    ["0", "0.000000000000000000"],
    ["007.5", "7.500000000000000000"],
    ["1.5000000000000000000000", "1.500000000000000000"],
    ["9".repeat(78), `${"9".repeat(78)}.000000000000000000`],
  ])("of %s has 18 fractional digits", async (lot_amt, expected) => {
    await write(database.writer, { trades: [aTrade({ lot_amt })], offers: [anOffer({ lot_amt })] });
    const { rows } = await database.reader.query(
      "select lot_amt from dex_trade union all select lot_amt from dex_offer",
    );
    expect(rows).toEqual([{ lot_amt: expected }, { lot_amt: expected }]);
  });
});

it("two trades of one transaction differ by their log index", async () => {
  const trade = aTrade();
  await write(database.writer, { trades: [trade, { ...trade, idx: 1 }] });
  const { rows } = await database.reader.query("select idx from dex_trade order by id");
  expect(rows).toEqual([{ idx: 0 }, { idx: 1 }]);
});

describe("an offer is filled", () => {
  const isFilled = async (): Promise<boolean | undefined> => {
    const { rows } = await database.reader.query<{ filled: boolean }>(
      "select filled from dex_offer",
    );
    return rows[0]?.filled;
  };

  // The amounts of an offer's trades, one each hour from hour 2. The lot is 10 WETH.
  it.each([
    { taken: ["10"], spentAt: 2 },
    // 4 + 6 = 10.
    { taken: ["4", "6"], spentAt: 3 },
    // The lot is reached at hour 3; the later trade takes nothing.
    { taken: ["4", "6", "0"], spentAt: 3 },
    // 4 + 7 = 11 > 10, and so is 4 + 7 + 1.
    { taken: ["4", "7", "1"], spentAt: 3 },
    { taken: ["4", "5.999999999999999999"], spentAt: undefined },
    { taken: ["0"], spentAt: undefined },
    { taken: [], spentAt: undefined },
  ])(
    "by the trade that reaches the lot: $taken of 10 at hour $spentAt",
    async ({ taken, spentAt = Infinity }) => {
      const trades = taken.map((base, at) => aTrade({ offer_id: 1, hour: 2 + at, base }));
      const offer = anOffer({ id: 1, hour: 1, base: "10", quote: "1000" });
      const hourOf = (at: number): number => 2 + at;

      await write(database.writer, { offers: [offer] });
      expect(await isFilled()).toBe(false);
      for (const [at, trade] of trades.entries()) {
        await write(database.writer, { trades: [trade] });
        expect([at, await isFilled()]).toEqual([at, hourOf(at) >= spentAt]);
      }
      // Removing each trade restores its amount.
      for (const at of trades.keys().toArray().reverse()) {
        expect(await takeBack(trades[at]!.block - 1)).toBe("1");
        expect([at, await isFilled()]).toEqual([at, hourOf(at - 1) >= spentAt]);
      }
      expect(await takeBack(0)).toBe("0");

      // The same if the trades are recorded before the offer.
      await write(database.writer, {
        trades,
        offers: [{ ...offer, block: 99_999, time: hours(99) }],
      });
      expect(await isFilled()).toBe(spentAt !== Infinity);
    },
  );

  it("when it is made with an empty lot", async () => {
    await write(database.writer, { offers: [anOffer({ id: 1, hour: 1, base: "0" })] });
    expect(await isFilled()).toBe(true);
  });

  it("when it is made closed, and stays filled after its trades are removed", async () => {
    await write(database.writer, {
      offers: [anOffer({ id: 1, hour: 1, filled: true })],
      trades: [aTrade({ offer_id: 1, hour: 2, base: "3" })],
    });
    expect(await isFilled()).toBe(true);
    await takeBack(blockAt(1));
    expect(await isFilled()).toBe(true);
  });
});

describe("removing blocks", () => {
  const bookAndLast = async (): Promise<unknown> =>
    (
      await database.reader.query(
        "select last, vol, bid, ask from dex_market where pair = 'WETH/DAI'",
      )
    ).rows[0];

  it("restores the state at the remaining block", async () => {
    await write(database.writer, {
      offers: [
        anOffer({ id: 1, hour: 1, base: "10", quote: "1000" }),
        anOffer({ id: 2, hour: 1, side: "buy", base: "10", quote: "900" }),
      ],
      trades: [aTrade({ hour: 2, offer_id: 1, base: "4", quote: "400" })],
      head: 3,
    });
    const before = await bookAndLast();
    expect(before).toEqual({
      last: "100.000000000000000000",
      vol: "4.000000000000000000",
      bid: "90.000000000000000000",
      ask: "100.000000000000000000",
    });

    // Offer 1 is wholly taken, 2 is cancelled, 3 is made, a quarter of an hour later: fewer than the 1,000
    // blocks after which an empty block is deleted.
    const later = 3.25;
    const { killed: _, ...made } = anOffer({ id: 3, hour: later, base: "1", quote: "50" });
    await database.writer.query(
      "select ingest.write_block($1, $2, trades => $3, killed => '{2}', offers => $4)",
      [
        blockAt(later),
        hours(later),
        JSON.stringify([aTrade({ hour: later, offer_id: 1, base: "6", quote: "600" })]),
        JSON.stringify([made]),
      ],
    );
    expect(await bookAndLast()).toEqual({
      last: "100.000000000000000000",
      vol: "10.000000000000000000",
      bid: null,
      ask: "50.000000000000000000",
    });

    expect(await takeBack(blockAt(3))).toBe("1");

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

  it("gives replacing trades new, higher ids, and leaves the head on the last block", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2 })] });
    await takeBack(blockAt(1.5));
    const head = await database.reader.query("select block from dex_head");
    expect(head.rows).toEqual([{ block: blockAt(1) }]);

    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    const { rows } = await database.reader.query("select id from dex_trade order by id");
    expect(rows).toEqual([{ id: "1" }, { id: "3" }]);
  });

  it("allows the same trade again in a replacing block", async () => {
    const trade: TradeRow = aTrade({ hour: 2 });
    await setHead(database.writer, 1);
    await write(database.writer, { trades: [trade] });
    await takeBack(blockAt(1));
    await write(database.writer, { trades: [{ ...trade, block: blockAt(2) - 1, time: hours(2) }] });
    const { rows } = await database.reader.query("select id, block, tx from dex_trade");
    expect(rows).toEqual([{ id: "2", block: blockAt(2) - 1, tx: trade.tx }]);
  });
});

describe("orders of contracts beside the first book", () => {
  const [BOOK, OTHER] = [anAddress("book"), anAddress("another book")];
  const FIRST = 2 ** 30;

  const idsOf = async (...orders: [venue: string, ref: string | null, block: number][]) => {
    const { rows } = await database.writer.query<{ ids: number[] }>(
      "select ingest.offer_ids($1, $2, $3) as ids",
      [0, 1, 2].map((column) => orders.map((order) => order[column])),
    );
    return rows[0]!.ids;
  };
  const refs = async () => {
    const { rows } = await database.reader.query(
      "select id, venue, ref from dex_offer order by id",
    );
    return rows;
  };

  it("get ids from 2^30 on in the order of appearance, and keep the contract's own as ref", async () => {
    const block = blockAt(1);
    await write(database.writer, { offers: [anOffer({ id: 7, venue: WETH })] });
    const ids = await idsOf([OTHER, "9", block], [BOOK, "7", block], [OTHER, "9", block]);
    expect(ids).toEqual([FIRST, FIRST + 1, FIRST]);
    await write(database.writer, {
      offers: [anOffer({ id: FIRST + 1, hour: 1, venue: BOOK })],
      trades: [aTrade({ offer_id: FIRST, venue: OTHER })],
    });
    expect(await refs()).toEqual([
      { id: 7, venue: WETH, ref: null },
      { id: FIRST + 1, venue: BOOK, ref: "7" },
    ]);
    expect(await idsOf([BOOK, "7", blockAt(2)], [OTHER, "9", blockAt(2)])).toEqual([
      FIRST + 1,
      FIRST,
    ]);
    await using client = await openClient(database.url);
    expect(await verify(client)).toEqual([]);
  });

  it("are refused with an id that another order has, or none", async () => {
    const [id = 0] = await idsOf([BOOK, "7", blockAt(2)]);
    const writing = (row: object) => write(database.writer, { offers: [anOffer(row)] });
    await expect(writing({ id, hour: 2, venue: OTHER })).rejects.toThrow(
      `offers: offer ${FIRST} is order 7 of the contract ${BOOK.toLowerCase()}, and its venue is ${OTHER}`,
    );
    await expect(writing({ id, hour: 1, venue: BOOK })).rejects.toThrow(
      `offers: offer ${FIRST} got its id for block ${blockAt(2)}, and is of block ${blockAt(1)}`,
    );
    await expect(writing({ id: FIRST + 5, hour: 2, venue: BOOK })).rejects.toThrow(
      `offers: offer ${FIRST + 5} was not given its id by ingest.offer_ids`,
    );
    const trades = [aTrade({ hour: 2, offer_id: 2 ** 31 - 1, venue: BOOK })];
    await expect(write(database.writer, { trades })).rejects.toThrow(
      `offer ${2 ** 31 - 1} was not given its id by ingest.offer_ids`,
    );
    expect(await refs()).toEqual([]);
    await writing({ id, hour: 2, venue: BOOK.toLowerCase() });
    expect(await refs()).toMatchObject([{ id, ref: "7" }]);
  });

  it("have one id in whatever letter case their contract is given", async () => {
    const upper = `0x${BOOK.slice(2).toUpperCase()}`;
    const block = blockAt(1);
    expect(await idsOf([upper, "7", block], [BOOK, "7", block], [BOOK, "8", block])).toEqual([
      ...[FIRST, FIRST, FIRST + 1],
    ]);
    await write(database.writer, {
      offers: [anOffer({ id: FIRST, hour: 1, base: "10", venue: BOOK.toLowerCase() })],
    });
    const [id = 0] = await idsOf([BOOK, "7", blockAt(2)]);
    await write(database.writer, {
      trades: [aTrade({ hour: 2, offer_id: id, base: "4", venue: BOOK })],
    });
    const { rows } = await database.owner.query(
      "select offer_id, lot_amt::float8 from dex_private.offer_left",
    );
    expect(rows).toEqual([{ offer_id: FIRST, lot_amt: 6 }]);
    await database.owner.query("delete from dex_private.offer_ref");
    await database.owner.query("select ingest.rebuild()");
    expect(await idsOf([upper, "7", blockAt(3)])).toEqual([FIRST]);
    await using client = await openClient(database.url);
    expect(await verify(client)).toEqual([]);
    const second = JSON.stringify({ id: FIRST + 9, offer_id: FIRST + 9, venue: upper });
    for (const table of ["dex_offer", "dex_private.offer_ref"]) {
      const adding = `insert into ${table} select (json_populate_record(kept, $1)).* from ${table} as kept`;
      await expect(client.query(adding, [second])).rejects.toThrow("venue");
    }
  });

  it("get no id that an offer without a ref has, and say where none is left", async () => {
    await write(database.writer, { offers: [anOffer({ id: FIRST + 5, venue: WETH })] });
    expect(await idsOf([BOOK, "7", blockAt(2)])).toEqual([FIRST + 6]);
    await takeBack(0);
    await takeBack(-1);
    await write(database.writer, { trades: [aTrade({ offer_id: 2 ** 31 - 2, venue: WETH })] });
    expect(await idsOf([BOOK, "7", blockAt(2)])).toEqual([2 ** 31 - 1]);
    await expect(idsOf([BOOK, "8", blockAt(2)])).rejects.toThrow(
      `no id is left for 1 orders: offer ${2 ** 31 - 1} is recorded`,
    );
    expect(await idsOf([BOOK, "7", blockAt(2)])).toEqual([2 ** 31 - 1]);
  });

  it("free their ids when their blocks are taken back", async () => {
    for (const hour of [1, 2]) {
      const ids = await idsOf([BOOK, `${hour}`, blockAt(hour)]);
      await write(database.writer, { offers: ids.map((id) => anOffer({ id, hour, venue: BOOK })) });
    }
    await takeBack(blockAt(1));
    expect(await idsOf([OTHER, "5", blockAt(3)], [BOOK, "2", blockAt(3)])).toEqual([
      FIRST + 1,
      FIRST + 2,
    ]);
    await takeBack(0);
    expect(await idsOf([BOOK, "3", blockAt(3)])).toEqual([FIRST]);
  });

  it("have their refs from the history alone after a restore of it", async () => {
    const [id = 0, taken = 0] = await idsOf([BOOK, "7", 0], [BOOK, "9", 0]);
    await write(database.writer, {
      offers: [anOffer({ id, venue: BOOK })],
      trades: [aTrade({ offer_id: id, venue: BOOK }), aTrade({ offer_id: taken, venue: BOOK })],
    });
    await database.owner.query("delete from dex_private.offer_ref");
    await database.owner.query("select ingest.rebuild()");
    // An id that only a trade has is not given again.
    expect(await idsOf([BOOK, "7", blockAt(2)], [BOOK, "8", blockAt(2)])).toEqual([id, taken + 1]);
  });

  it.each<[problem: string, order: [string, string | null, number]]>([
    ["venues[0] is pool: it must be 0x and 40 hex digits", ["pool", "7", 9]],
    ["refs[0] is null: it must be a text of 1 to 100 characters", [BOOK, null, 9]],
    ["refs[0] is : it must be a text of 1 to 100 characters", [BOOK, "", 9]],
    ["blocks[0] is 3: it must be after the head, block 3600", [BOOK, "7", 3]],
  ])("are refused by name: %s", async (problem, order) => {
    await setHead(database.writer, 1);
    await expect(idsOf(order)).rejects.toThrow(problem);
  });
});
