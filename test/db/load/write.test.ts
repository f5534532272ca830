// Taking checked rows over into the database.
import { connect, type Client } from "../../../db/connect.ts";
import { checksumAddress } from "../../../db/load/checksum.ts";
import { loadRows, type OfferRow, type TradeRow } from "../../../db/load/write.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { aHash, anAddress, blockAt, hours } from "../../factories.ts";

const WETH = checksumAddress(anAddress("WETH"));
const DAI = checksumAddress(anAddress("DAI"));
const TOKENS = [
  { address: WETH, symbol: "WETH", decimals: 18, name: "Wrapped Ether" },
  { address: DAI, symbol: "DAI", decimals: 18, name: "Dai" },
];
const PAIRS = [{ base: "weth", quote: "Dai", active: true }];

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await makeDatabase();
  client = await connect(database.url, { role: "dex_writer" });
});
beforeEach(async () => {
  await database.empty();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** A trade so many hours after genesis, in which the maker sells 1 WETH for 100 DAI. */
function trade(hour: number, columns: Partial<TradeRow> = {}): TradeRow {
  return {
    offer_id: 1,
    maker: checksumAddress(anAddress("maker")),
    taker: checksumAddress(anAddress("taker")),
    lot_gem: WETH,
    lot_amt: "1",
    bid_gem: DAI,
    bid_amt: "100",
    block: blockAt(hour),
    time: hours(hour),
    tx: aHash(`trade at ${hour}`),
    idx: 0,
    ...columns,
  };
}

function offer(id: number, columns: Partial<OfferRow> = {}): OfferRow {
  const { offer_id: _offer, taker: _taker, idx: _idx, ...facts } = trade(0);
  return { ...facts, id, lot_amt: "10", bid_amt: "1000", ...columns };
}

const load = (source: Parameters<typeof loadRows>[1], moveHead = true) =>
  loadRows(client, source, { moveHead });

async function all(sql: string, values: unknown[] = []): Promise<unknown[]> {
  const { rows } = await database.reader.query({ text: sql, values, rowMode: "array" });
  return rows;
}

it("loads tokens, pairs, offers and trades, and moves the head to the last block", async () => {
  const summary = await load({
    tokens: TOKENS,
    pairs: PAIRS,
    offers: [offer(1)],
    trades: [trade(1), trade(2)],
  });

  expect(summary.trades).toEqual({ rows: 2, added: 2, changed: 0, unchanged: 0 });
  expect(await all("select id, market, act, price from dex_trade order by id")).toEqual([
    ["1", "WETHDAI", "sell", "100.000000000000000000"],
    ["2", "WETHDAI", "sell", "100.000000000000000000"],
  ]);
  expect(await all("select id, market, filled from dex_offer")).toEqual([[1, "WETHDAI", false]]);
  expect(await all("select block from dex_head")).toEqual([[7200]]);
});

it("changes nothing the second time", async () => {
  const source = () => ({
    tokens: TOKENS,
    pairs: PAIRS,
    offers: [offer(1, { killed: 9 }), offer(2, { filled: true })],
    trades: [trade(1), trade(2)],
  });
  const contents = async () => [
    await all("select xmin, * from dex_token order by address"),
    await all("select xmin, * from dex_pair order by id"),
    await all("select xmin, * from dex_offer order by id"),
    await all("select xmin, * from dex_trade order by id"),
    await all("select xmin, * from dex_head"),
  ];
  await load(source());
  const before = await contents();

  const summary = await load(source());

  expect(await contents()).toEqual(before);
  expect(summary).toMatchObject({
    tokens: { added: 0, changed: 0, unchanged: 2 },
    pairs: { added: 0, changed: 0, unchanged: 1 },
    offers: { added: 0, changed: 0, unchanged: 2 },
    trades: { added: 0, changed: 0, unchanged: 2 },
    headMoved: false,
  });
});

it("takes its turn: two loads of the same rows at once are one", async () => {
  const other = await connect(database.url, { role: "dex_writer" });
  const source = () => ({ tokens: TOKENS, pairs: PAIRS, offers: [offer(1)], trades: [trade(1)] });

  const summaries = await Promise.all([
    load(source()),
    loadRows(other, source(), { moveHead: true }),
  ]);
  await other.end();

  expect(summaries.map(({ trades }) => trades?.added).sort()).toEqual([0, 1]);
  expect(await all("select count(*)::integer from dex_trade")).toEqual([[1]]);
});

it("leaves nothing behind when a source fails half way", async () => {
  function* failing(): Generator<TradeRow> {
    yield trade(1);
    throw new Error("the source broke off");
  }

  await expect(load({ tokens: TOKENS, offers: [offer(1)], trades: failing() })).rejects.toThrow(
    "the source broke off",
  );

  expect(await all("select address from dex_token")).toEqual([]);
  expect(await all("select id from dex_offer")).toEqual([]);
  // The connection is as good as before.
  await load({ trades: [trade(1)] });
  expect(await all("select count(*)::integer from dex_trade")).toEqual([[1]]);
});

it("hears of a row that PostgreSQL refuses, and goes on with the next load", async () => {
  function* many(): Generator<TradeRow> {
    for (let at = 0; at < 5000; at += 1) yield trade(at, at === 10 ? { lot_amt: "much" } : {});
  }

  await expect(load({ trades: many() })).rejects.toThrow('type numeric: "much"');

  await load({ trades: [trade(1)] });
  expect(await all("select count(*)::integer from dex_trade")).toEqual([[1]]);
});

it("takes text with tabs, line ends and backslashes as it is", async () => {
  const name = "a\tb\nc\r\\d \\N";
  await load({ tokens: [{ address: WETH, symbol: "\\N", decimals: 18, name }] });

  expect(await all("select symbol, name from dex_token")).toEqual([["\\N", name]]);
});

describe("tokens", () => {
  it("take what a row gives, and keep what it leaves out", async () => {
    await load({ tokens: [{ address: WETH, symbol: "OLD", decimals: 8, name: "A name" }] });

    const { tokens } = await load({ tokens: [{ address: WETH, symbol: "NEW", decimals: 8 }] });

    expect(tokens).toMatchObject({ added: 0, changed: 1 });
    expect(await all("select symbol, decimals, name from dex_token")).toEqual([
      ["NEW", 8, "A name"],
    ]);
  });

  it("are refused when the same one is given twice with other values", async () => {
    const twice = [
      { line: 2, address: WETH, symbol: "WETH", decimals: 18 },
      { line: 5, address: WETH, symbol: "WETH", decimals: 8 },
    ];

    await expect(load({ tokens: twice })).rejects.toThrow(
      `tokens.csv line 5: token ${WETH} stands there twice with other values: ` +
        "decimals is 18 on line 2, 8 here",
    );
  });

  it("are refused when the database has one without its checksum", async () => {
    await database.writer.query("insert into dex_token (address, decimals) values ($1, 18)", [
      WETH.toLowerCase(),
    ]);

    await expect(load({ tokens: TOKENS })).rejects.toThrow("in the database without its checksum");
  });
});

describe("pairs", () => {
  beforeEach(async () => {
    await load({ tokens: TOKENS });
  });

  it("switch active, and only when the row says so", async () => {
    await load({ pairs: PAIRS });
    await load({ pairs: [{ base: "WETH", quote: "DAI", active: false }] });
    await load({ pairs: [{ base: "WETH", quote: "DAI" }] });

    expect(await all("select base, quote, active from dex_pair")).toEqual([["WETH", "DAI", false]]);
  });

  const another = checksumAddress(anAddress("another DAI"));
  it("name the row whose symbol names two tokens, and are told apart by addresses", async () => {
    await load({ tokens: [{ address: another, symbol: "DAI", decimals: 18 }] });

    await expect(load({ pairs: [{ line: 2, base: "WETH", quote: "dai" }] })).rejects.toThrow(
      /^pairs\.csv line 2: pair WETH\/dai cannot be registered: the symbol 'dai' names 2 tokens: 0x\w+ and 0x\w+\. Say which is meant by base_gem and quote_gem\.$/,
    );

    await load({ pairs: [{ base: "WETH", quote: "dai", quote_gem: another }] });
    expect(await all("select quote, quote_gem from dex_pair")).toEqual([["DAI", another]]);
  });

  it.each([
    ["a symbol of no token", { base: "NONE", quote: "DAI" }, "no token has the symbol 'NONE'"],
    ["the same token twice", { base: "DAI", quote: "DAI" }, "base and quote are the same token"],
    ["the other direction", { base: "DAI", quote: "WETH" }, "perhaps the other way round"],
    [
      "other tokens than before",
      { base: "WETH", quote: "DAI", base_gem: another },
      `base_gem is ${WETH} in the database, ${another} here`,
    ],
  ])("are refused with %s", async (_name, pair, message) => {
    await load({ pairs: PAIRS });

    await expect(load({ pairs: [{ line: 3, ...pair }] })).rejects.toThrow(message);
  });
});

describe("offers", () => {
  it("take a cancellation and a fill, which no later load takes back", async () => {
    await load({ offers: [offer(1), offer(2)] });

    const { offers } = await load({
      offers: [offer(1, { killed: 700 }), offer(2, { filled: true })],
    });
    await load({ offers: [offer(1), offer(2, { killed: 0, filled: false })] });

    expect(offers).toMatchObject({ added: 0, changed: 2 });
    expect(await all("select id, killed, filled from dex_offer order by id")).toEqual([
      [1, 700, false],
      [2, 0, true],
    ]);
  });

  it("may be given at their making and at their end", async () => {
    await load({
      offers: [offer(1, { killed: 700 }), offer(1), offer(2), offer(2, { filled: true })],
    });

    expect(await all("select id, killed, filled from dex_offer order by id")).toEqual([
      [1, 700, false],
      [2, 0, true],
    ]);
  });

  it("are refused with other facts than the database has, and both are named", async () => {
    await load({ offers: [offer(1)] });

    await expect(load({ offers: [offer(1, { line: 4, lot_amt: "11" })] })).rejects.toThrow(
      "offers.csv line 4: offer 1 is there already with other values: lot_amt is " +
        "10.000000000000000000 in the database, 11.000000000000000000 here",
    );
    expect(await all("select lot_amt from dex_offer")).toEqual([["10.000000000000000000"]]);
  });

  it("are refused when the same one is given twice with other facts", async () => {
    const twice = [offer(1, { line: 2 }), offer(1, { line: 3, bid_amt: "1" })];

    await expect(load({ offers: twice })).rejects.toThrow(
      "offers.csv line 3: offer 1 stands there twice with other values: bid_amt is " +
        "1000.000000000000000000 on line 2, 1.000000000000000000 here",
    );
  });
});

describe("trades", () => {
  const tx = aHash("one transaction");
  const ids = () => all("select id, block, idx from dex_trade order by id");

  it("get ids in the order of block and idx, whatever the order of the rows", async () => {
    await load({
      trades: [trade(2, { idx: 10 }), trade(2, { idx: 9, tx }), trade(1, { idx: 70 })],
    });

    expect(await ids()).toEqual([
      ["1", 3600, 70],
      ["2", 7200, 9],
      ["3", 7200, 10],
    ]);
  });

  it("without idx have the ordinal among the rows of their block", async () => {
    const none = { idx: undefined };
    await load({
      trades: [
        trade(2, none),
        trade(1, none),
        trade(2, { ...none, tx }),
        trade(2, { ...none, tx }),
      ],
    });

    expect(await all("select block, idx, tx = $1 from dex_trade order by id", [tx])).toEqual([
      [3600, 0, false],
      [7200, 0, false],
      [7200, 1, true],
      [7200, 2, true],
    ]);
  });

  it("without idx are refused for a block that the database has other trades of", async () => {
    const none = { idx: undefined };
    await load({ trades: [trade(1, none)] });

    await expect(load({ trades: [trade(1, { ...none, tx, line: 2 })] })).rejects.toThrow(
      "trades.csv line 2: block 3600 has trades in the database that are not in this file",
    );
    await load({ trades: [trade(1, none), trade(1, { ...none, tx })] });
    expect(await ids()).toEqual([
      ["1", 3600, 0],
      ["2", 3600, 1],
    ]);
  });

  it("are refused when one is there with other values, and both are named", async () => {
    await load({ trades: [trade(1, { tx })] });

    await expect(
      load({ trades: [trade(2), trade(1, { tx, line: 9, lot_amt: "2", offer_id: 3 })] }),
    ).rejects.toThrow(
      `trades.csv line 9: trade ${tx}, idx 0 is there already with other values: ` +
        "offer_id is 1 in the database, 3 here; lot_amt is 1.000000000000000000 in the database, " +
        "2.000000000000000000 here",
    );
    expect(await ids()).toHaveLength(1);
  });

  it("are one when the same is given twice alike, and refused when not", async () => {
    const { trades } = await load({ trades: [trade(1), trade(1, { lot_amt: "1.00" })] });
    expect(trades).toMatchObject({ rows: 2, added: 1, unchanged: 1 });

    await expect(
      load({ trades: [trade(2, { tx, line: 2 }), trade(2, { tx, line: 7, bid_amt: "5" })] }),
    ).rejects.toThrow(
      `trades.csv line 7: trade ${tx}, idx 0 stands there twice with other values: bid_amt is ` +
        "100.000000000000000000 on line 2, 5.000000000000000000 here",
    );
  });

  it("older than the newest are refused, unless they bring ids", async () => {
    await load({ trades: [trade(2)] });

    await expect(load({ trades: [trade(1, { line: 2 })] })).rejects.toThrow(
      "trades.csv line 2: a new trade of block 3600, idx 0 is older than the newest in the " +
        "database, block 7200, idx 0: ids grow with recency, so it needs an id in the file",
    );
    await load({ trades: [trade(1, { id: 77 })] });
    expect(await ids()).toEqual([
      ["1", 7200, 0],
      ["77", 3600, 0],
    ]);
  });

  it("continue the series after ids that were given", async () => {
    await load({ trades: [trade(1, { id: 9_000_000_000 })] });
    await load({ trades: [trade(2)] });

    expect(await ids()).toEqual([
      ["9000000000", 3600, 0],
      ["9000000001", 7200, 0],
    ]);
  });

  it("are refused with the id of another trade", async () => {
    await load({ trades: [trade(1, { id: 5, tx })] });

    await expect(load({ trades: [trade(2, { id: 5, line: 3 })] })).rejects.toThrow(
      `trades.csv line 3: id 5 is in the database that of another trade: ${tx}, idx 0`,
    );
    await expect(
      load({ trades: [trade(2, { id: 6, line: 2 }), trade(3, { id: 6, line: 3 })] }),
    ).rejects.toThrow("trades.csv line 3: id 6 is also that of another trade, on line 2");
    await expect(load({ trades: [trade(1, { id: 6, tx, line: 2 })] })).rejects.toThrow(
      "id is 5 in the database, 6 here",
    );
  });

  it("are refused when only some of them have an id", async () => {
    await expect(
      load({ trades: [trade(1, { id: 5, line: 2 }), trade(2, { line: 3 })] }),
    ).rejects.toThrow("trades.csv line 3, column id: it is empty, and 1 of 2 trades have one");
  });

  it("go in in order when there are more than one statement takes", async () => {
    const count = 20_500;
    function* backwards(): Generator<TradeRow> {
      for (let at = count; at > 0; at -= 1) {
        yield trade(1, {
          block: at,
          time: hours(at / 3600),
          tx: `0x${at.toString(16).padStart(64, "0")}`,
        });
      }
    }
    const heard: number[] = [];

    const { trades } = await loadRows(
      client,
      { trades: backwards() },
      {
        moveHead: true,
        onProgress: ({ step, rows }) => {
          if (step === "writing") heard.push(rows);
        },
      },
    );

    expect(trades).toMatchObject({ added: count });
    expect(heard).toEqual([20_000, 20_500]);
    expect(
      await all(
        "select count(*)::integer, count(*) filter (where id = block)::integer from dex_trade",
      ),
    ).toEqual([[count, count]]);
  });
});

describe("a block", () => {
  it("has one time in the rows of a load", async () => {
    await expect(load({ offers: [offer(1)], trades: [trade(1, { block: 0 })] })).rejects.toThrow(
      "block 0 is given two times, 2026-01-01 00:00:00+00 and 2026-01-01 01:00:00+00",
    );
  });

  it("has the time that the database gives it", async () => {
    await load({ trades: [trade(1)] });

    await expect(
      load({ offers: [offer(1, { block: blockAt(1), time: hours(2) })] }),
    ).rejects.toThrow(
      "block 3600 is given two times, 2026-01-01 01:00:00+00 and 2026-01-01 02:00:00+00",
    );
  });
});

describe("the head", () => {
  const head = () => all("select block, time from dex_head");

  it("stays where it is when told so, and where the load is older", async () => {
    await load({ trades: [trade(1)] }, false);
    expect(await head()).toEqual([]);

    await load({ trades: [trade(1), trade(5)] });
    const { headMoved } = await load({ offers: [offer(1)] });

    expect(headMoved).toBe(false);
    expect(await head()).toEqual([[blockAt(5), new Date(hours(5))]]);
  });

  it("moves to the block of an offer that is later than every trade", async () => {
    await load({ offers: [offer(1, { block: blockAt(3), time: hours(3) })], trades: [trade(2)] });

    expect(await head()).toEqual([[blockAt(3), new Date(hours(3))]]);
  });
});
