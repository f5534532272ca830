// Taking checked rows over into the database.
import { connect, type Client } from "../../../db/connect.ts";
import { checksumAddress } from "../../../db/load/checksum.ts";
import {
  loadRows,
  type LoadProgress,
  type LoadSource,
  type OfferRow,
  type TradeRow,
} from "../../../db/load/write.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { aHash, anAddress, blockAt, hours, registerTokens } from "../../factories.ts";

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

const load = (source: LoadSource) => loadRows(client, source);

/** Columns of a row so many hours after genesis. */
const at = (hour: number) => ({ block: blockAt(hour), time: hours(hour) });

async function all(sql: string, values: unknown[] = []): Promise<unknown[]> {
  const { rows } = await database.writer.query({ text: sql, values, rowMode: "array" });
  return rows;
}

/** Every row of every table, each with the transaction that wrote it. */
async function everyRow(): Promise<Record<string, unknown>> {
  const tables = (await all(
    `select oid::regclass::text
    from pg_class
    where relkind = 'r'
      and relnamespace in ('public'::regnamespace, 'dex_private'::regnamespace, 'ingest'::regnamespace)
    order by oid`,
  )) as [string][];
  const found: Record<string, unknown> = {};
  for (const [table] of tables)
    found[table] = await all(`select xmin, * from ${table} order by ctid`);
  return found;
}

/** Waits until somebody waits for a lock. */
async function waits(): Promise<void> {
  for (;;) {
    const { rowCount } = await database.owner.query("select from pg_locks where not granted");
    if (rowCount !== 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

it("loads tokens, pairs, offers and trades, and the head is the last block", async () => {
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
  const source = (): LoadSource => ({
    tokens: TOKENS,
    pairs: PAIRS,
    offers: [offer(1, { killed: 9000 }), offer(2, { filled: true })],
    trades: [trade(1), trade(2)],
  });
  await load(source());
  const before = await everyRow();

  const summary = await load(source());

  expect(await everyRow()).toEqual(before);
  expect(summary).toMatchObject({
    tokens: { added: 0, changed: 0, unchanged: 2 },
    pairs: { added: 0, changed: 0, unchanged: 1 },
    offers: { added: 0, changed: 0, unchanged: 2 },
    trades: { added: 0, changed: 0, unchanged: 2 },
    head: undefined,
  });
});

it("adds the new blocks of a source that has grown, with the cancellations in them", async () => {
  await load({ tokens: TOKENS, pairs: PAIRS, offers: [offer(1), offer(2)], trades: [trade(1)] });

  const { offers, trades, head } = await load({
    tokens: TOKENS,
    pairs: PAIRS,
    offers: [offer(1), offer(2, { killed: blockAt(2) }), offer(3, at(3))],
    trades: [trade(1), trade(2)],
  });

  expect(offers).toEqual({ rows: 3, added: 1, changed: 1, unchanged: 1 });
  expect(trades).toEqual({ rows: 2, added: 1, changed: 0, unchanged: 1 });
  expect(head).toEqual({ block: blockAt(3), time: new Date(hours(3)) });
  expect(await all("select id, block, killed from dex_offer order by id")).toEqual([
    [1, 0, 0],
    [2, 0, blockAt(2)],
    [3, blockAt(3), 0],
  ]);
  expect(await all("select id, block from dex_trade order by id")).toEqual([
    ["1", blockAt(1)],
    ["2", blockAt(2)],
  ]);
});

it("takes its turn: two loads of the same rows at once are one", async () => {
  const other = await connect(database.url, { role: "dex_writer" });
  const source = (): LoadSource => ({
    tokens: TOKENS,
    pairs: PAIRS,
    offers: [offer(1)],
    trades: [trade(1)],
  });

  const summaries = await Promise.all([load(source()), loadRows(other, source())]);
  await other.end();

  expect(summaries.map(({ trades }) => trades?.added).sort()).toEqual([0, 1]);
  expect(await all("select count(*)::integer from dex_trade")).toEqual([[1]]);
});

it("waits for a writer, and then refuses what that one has made older", async () => {
  const other = await connect(database.url, { role: "dex_writer" });
  await other.query("begin");
  await other.query("select ingest.write_block($1, $2)", [blockAt(5), hours(5)]);

  const loading = load({ trades: [trade(1, { line: 2 })] });
  const refused = expect(loading).rejects.toThrow(
    `trades.csv line 2: trade ${aHash("trade at 1")}, idx 0 is in block 3600 here, but not in the database, ` +
      "whose head is block 18000",
  );
  await waits();
  await other.query("commit");

  await refused;
  await other.end();
});

it("holds up nobody who reads, and is held up by nobody", async () => {
  await load({ trades: [trade(1)] });
  const reader = await connect(database.url, { role: "dex_reader" });
  await reader.query("begin isolation level repeatable read");
  const count = async () =>
    (await reader.query<{ count: string }>("select count(*) from dex_trade")).rows[0]?.count;
  expect(await count()).toBe("1");

  await load({
    tokens: TOKENS,
    pairs: PAIRS,
    offers: [offer(2, at(2))],
    trades: [trade(1), trade(2)],
  });

  // It still sees what was there when it began.
  expect(await count()).toBe("1");
  await reader.query("commit");
  expect(await count()).toBe("2");
  await reader.end();
});

it("loads nothing of what somebody copied and never had written", async () => {
  await client.query("insert into ingest.staged_cancellation (block, offer_id) values (5, 5)");
  await client.query(
    "insert into ingest.staged_block (number, time) values (99999, '2030-01-01T00:00:00Z')",
  );

  await load({ trades: [trade(1)] });

  expect(await all("select number from dex_block")).toEqual([[3600]]);
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
      `tokens.csv line 5: token ${WETH} has decimals 8 here, but decimals 18 in ` +
        "tokens.csv line 2; both must have the same values",
    );
  });

  it("are refused when the database has one without its checksum", async () => {
    await registerTokens(database.writer, { address: WETH.toLowerCase(), symbol: "WETH" });

    await expect(load({ tokens: TOKENS })).rejects.toThrow(
      `tokens, row 1: token ${WETH}: address is ${WETH}: the token is registered as ${WETH.toLowerCase()}`,
    );
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
      /^pairs\.csv line 2: pair WETH\/dai cannot be registered: the symbol 'dai' names 2 tokens: 0x\w+, 0x\w+; select one with base_gem or quote_gem$/,
    );

    await load({ pairs: [{ base: "WETH", quote: "dai", quote_gem: another }] });
    expect(await all("select quote, quote_gem from dex_pair")).toEqual([["DAI", another]]);
  });

  it("stay what they are when another token takes a symbol of theirs", async () => {
    await load({ pairs: PAIRS });
    await load({ tokens: [{ address: another, symbol: "DAI", decimals: 18 }] });

    expect((await load({ pairs: PAIRS })).pairs).toMatchObject({ unchanged: 1 });
  });

  it.each([
    ["a symbol of no token", { base: "NONE", quote: "DAI" }, "no token has the symbol 'NONE'"],
    [
      "a token of another symbol",
      { base: "WETH", quote: "SAI", quote_gem: DAI },
      `no token has the symbol 'SAI' and the address ${DAI}`,
    ],
    ["the same token twice", { base: "DAI", quote: "DAI" }, "a pair needs two different tokens"],
    [
      "the other direction",
      { base: "DAI", quote: "WETH" },
      "conflicts with pair WETH/DAI in the database; two tokens form a pair in one direction only",
    ],
    [
      "other tokens than before",
      { base: "WETH", quote: "DAI", base_gem: another },
      `has base_gem ${another} here, but base_gem ${WETH} in the database`,
    ],
  ])("are refused with %s", async (_name, pair, message) => {
    await load({ pairs: PAIRS });

    await expect(load({ pairs: [{ line: 3, ...pair }] })).rejects.toThrow(message);
  });

  it.each([
    [
      "active and not",
      { base: "weth", quote: "dai", active: false },
      "pairs.csv line 4: pair weth/dai has active false here, but active true in pairs.csv line 2",
    ],
    [
      "in both directions",
      { base: "DAI", quote: "WETH" },
      "pairs.csv line 4: pair DAI/WETH conflicts with pair WETH/DAI in pairs.csv line 2",
    ],
    [
      "of one name",
      { base: "WETHD", quote: "AI" },
      "pairs.csv line 4: pair WETHD/AI conflicts with pair WETH/DAI in pairs.csv line 2",
    ],
  ])("are refused when two of them are %s, and both are named", async (_name, pair, message) => {
    await load({
      tokens: [
        { address: another, symbol: "WETHD", decimals: 18 },
        { address: checksumAddress(anAddress("AI")), symbol: "AI", decimals: 18 },
      ],
    });
    const twice = [
      { line: 2, base: "WETH", quote: "DAI", active: true },
      { line: 4, ...pair },
    ];

    await expect(load({ pairs: twice })).rejects.toThrow(message);
  });
});

describe("offers", () => {
  it("take a cancellation, which an older file does not take back", async () => {
    await load({ offers: [offer(1)], trades: [trade(1)] });

    const { offers, head } = await load({ offers: [offer(1, { killed: 7200 })] });
    await load({ offers: [offer(1, { killed: 0 })] });

    expect(offers).toMatchObject({ added: 0, changed: 1 });
    expect(await all("select id, killed from dex_offer")).toEqual([[1, 7200]]);
    // Nothing tells the time of that block: it has the time of the one before it.
    expect(head).toEqual({ block: 7200, time: new Date(hours(1)) });
  });

  it("give a block that only cancels the time of the block before it", async () => {
    await load({
      offers: [offer(1, { killed: 5000 }), offer(2, { killed: 9000 })],
      trades: [trade(1), trade(2)],
    });

    expect(await all("select number, time from dex_block order by number")).toEqual([
      [0, new Date(hours(0))],
      [3600, new Date(hours(1))],
      [5000, new Date(hours(1))],
      [7200, new Date(hours(2))],
      [9000, new Date(hours(2))],
    ]);
  });

  it("are filled by their trades, or when they are made", async () => {
    await load({
      offers: [offer(1), offer(2), offer(3, { filled: true })],
      trades: [trade(1, { lot_amt: "10" }), trade(2, { offer_id: 2 })],
    });

    expect(await all("select id, filled from dex_offer order by id")).toEqual([
      [1, true],
      [2, false],
      [3, true],
    ]);
  });

  it("may be said to be filled later by a file whose new trades fill them", async () => {
    await load({ offers: [offer(1)], trades: [trade(1, { lot_amt: "4" })] });

    const { offers } = await load({
      offers: [offer(1, { filled: true })],
      trades: [trade(1, { lot_amt: "4" }), trade(2, { lot_amt: "6" })],
    });

    expect(offers).toMatchObject({ added: 0, changed: 0, unchanged: 1 });
    expect(await all("select filled from dex_offer")).toEqual([[true]]);
  });

  it("are refused as filled when something is left of them in the database", async () => {
    await load({ offers: [offer(1)], trades: [trade(1, { lot_amt: "4" })] });

    // Of the lot of 10, 4 were taken before, and 1.5 are taken now.
    await expect(
      load({
        offers: [offer(1, { filled: true, line: 2 })],
        trades: [trade(2, { lot_amt: "1.5" })],
      }),
    ).rejects.toThrow(
      "offers.csv line 2: offer 1 is filled here, but has 4.5 of its lot left in the database",
    );
  });

  it("may be given at their making and at their end", async () => {
    const { offers } = await load({
      offers: [offer(1, { killed: 700 }), offer(1), offer(2), offer(2, { filled: true })],
    });

    expect(offers).toEqual({ rows: 4, added: 2, changed: 0, unchanged: 2 });
    expect(await all("select id, killed, filled from dex_offer order by id")).toEqual([
      [1, 700, false],
      [2, 0, true],
    ]);
  });

  it("are refused with other facts than the database has, and both are named", async () => {
    await load({ offers: [offer(1)] });

    await expect(load({ offers: [offer(1, { line: 4, lot_amt: "11" })] })).rejects.toThrow(
      "offers.csv line 4: offer 1 has lot_amt 11 here, but lot_amt 10 in the database",
    );
    expect(await all("select lot_amt from dex_offer")).toEqual([["10.000000000000000000"]]);
  });

  it("are refused when the same one is given twice with other facts", async () => {
    const twice = [offer(1, { line: 2 }), offer(1, { line: 3, bid_amt: "1" })];

    await expect(load({ offers: twice })).rejects.toThrow(
      "offers.csv line 3: offer 1 has bid_amt 1 here, but bid_amt 1000 in offers.csv line 2",
    );
  });

  it("are refused when they are cancelled in two blocks", async () => {
    const twice = [offer(1, { line: 2, killed: 700 }), offer(1, { line: 3, killed: 701 })];

    await expect(load({ offers: twice })).rejects.toThrow(
      "offers.csv line 3: offer 1 has killed 701 here, but killed 700 in offers.csv line 2",
    );
    await load({ offers: twice.slice(0, 1) });
    await expect(load({ offers: twice.slice(1) })).rejects.toThrow(
      "offers.csv line 3: offer 1 has killed 701 here, but killed 700 in the database",
    );
  });

  it("are refused when they are cancelled in a block that the database has without that", async () => {
    await load({ offers: [offer(1)], trades: [trade(1)] });

    await expect(load({ offers: [offer(1, { line: 2, killed: 700 })] })).rejects.toThrow(
      "offers.csv line 2: offer 1 has killed 700 here, but killed 0 in the database",
    );
  });

  it("older than the head are refused", async () => {
    await load({ trades: [trade(1)] });

    await expect(load({ offers: [offer(7, { line: 2 })] })).rejects.toThrow(
      "offers.csv line 2: offer 7 is in block 0 here, but not in the database, whose head is block 3600; " +
        "blocks are written whole and in order, so load older data into a new database",
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
      `trades.csv line 2: trade ${tx}, idx 0 is in block 3600 here, but not in the database`,
    );
    expect((await load({ trades: [trade(1, none), trade(2, none)] })).trades).toMatchObject({
      added: 1,
      unchanged: 1,
    });
  });

  it("are refused when one is there with other values, and both are named", async () => {
    await load({ trades: [trade(1, { tx })] });

    await expect(
      load({ trades: [trade(2), trade(1, { tx, line: 9, lot_amt: "2", offer_id: 3 })] }),
    ).rejects.toThrow(
      `trades.csv line 9: trade ${tx}, idx 0 has offer_id 3, lot_amt 2 here, ` +
        "but offer_id 1, lot_amt 1 in the database; both must have the same values",
    );
    expect(await ids()).toHaveLength(1);
  });

  it("are one when the same is given twice alike, and refused when not", async () => {
    const { trades } = await load({ trades: [trade(1), trade(1, { lot_amt: "1.00" })] });
    expect(trades).toMatchObject({ rows: 2, added: 1, unchanged: 1 });

    await expect(
      load({ trades: [trade(2, { tx, line: 2 }), trade(2, { tx, line: 7, bid_amt: "5" })] }),
    ).rejects.toThrow(
      `trades.csv line 7: trade ${tx}, idx 0 has bid_amt 5 here, ` +
        "but bid_amt 100 in trades.csv line 2",
    );
  });

  it("older than the head are refused, also with ids", async () => {
    await load({ trades: [trade(2)] });

    await expect(load({ trades: [trade(1, { line: 2, id: 77 })] })).rejects.toThrow(
      `trades.csv line 2: trade ${aHash("trade at 1")}, idx 0 is in block 3600 here, but not in the database, ` +
        "whose head is block 7200",
    );
  });

  it("continue the series after ids that were given", async () => {
    await load({ trades: [trade(1, { id: 9_000_000_000 })] });
    await load({ trades: [trade(2)] });

    expect(await ids()).toEqual([
      ["9000000000", 3600, 0],
      ["9000000001", 7200, 0],
    ]);
  });

  it("are refused with ids that do not grow with block and idx, and both are named", async () => {
    await expect(
      load({
        trades: [trade(2, { id: 6, line: 2 }), trade(3, { id: 6, line: 4 })],
      }),
    ).rejects.toThrow(
      "trades.csv line 4: id 6 here is not greater than 6 in trades.csv line 2; ids increase with block and idx",
    );
    await expect(
      load({ trades: [trade(2, { id: 6, line: 2 }), trade(1, { id: 7, line: 3 })] }),
    ).rejects.toThrow("trades.csv line 2: id 6 here is not greater than 7 in trades.csv line 3");
  });

  it("are refused with an id that was given before, also to a trade that was taken back", async () => {
    await load({ trades: [trade(1, { id: 5, tx }), trade(2, { id: 8 })] });
    await client.query("select ingest.take_back(3600)");

    await expect(load({ trades: [trade(3, { id: 8, line: 3 })] })).rejects.toThrow(
      "trades.csv line 3: id 8 here is not greater than 8, the highest id ever used in the database",
    );
    await expect(load({ trades: [trade(1, { id: 6, tx, line: 2 })] })).rejects.toThrow(
      `trades.csv line 2: trade ${tx}, idx 0 has id 6 here, but id 5 in the database`,
    );
  });

  it.each(["id", "idx"] as const)(
    "are refused when only some of them have an %s",
    async (column) => {
      await expect(
        load({
          trades: [
            trade(1, { idx: undefined, [column]: 5, line: 2 }),
            trade(2, { idx: undefined, line: 3 }),
          ],
        }),
      ).rejects.toThrow(
        `trades.csv line 3, column ${column}: the value is empty, but 1 of 2 rows have one`,
      );
    },
  );

  it("tell how many are read, and then that they are written", async () => {
    const heard: LoadProgress[] = [];

    await loadRows(
      client,
      { offers: [offer(1)], trades: [trade(1), trade(2)] },
      { onProgress: (progress) => heard.push(progress) },
    );

    expect(heard).toEqual([
      { step: "reading", table: "offers", rows: 1 },
      { step: "reading", table: "trades", rows: 2 },
      { step: "writing", rows: 3 },
    ]);
  });
});

describe("a block", () => {
  it("has one time in the rows of a load, and both places are named", async () => {
    await expect(
      load({ offers: [offer(1, { line: 40 })], trades: [trade(1, { block: 0, line: 812 })] }),
    ).rejects.toThrow(
      "trades.csv line 812: block 0 is at 2026-01-01T01:00:00+00:00 here, but at " +
        "2026-01-01T00:00:00+00:00 in offers.csv line 40; a block has one time",
    );
  });

  it("has the time that the database gives it", async () => {
    await load({ trades: [trade(1)] });

    await expect(
      load({ offers: [offer(1, { block: blockAt(1), time: hours(2), line: 3 })] }),
    ).rejects.toThrow(
      "offers.csv line 3: block 3600 is at 2026-01-01T02:00:00+00:00 here, but at " +
        "2026-01-01T01:00:00+00:00 in the database; a block has one time",
    );
  });

  it("has no time before an earlier block's, of the load or of the database", async () => {
    await expect(
      load({ trades: [trade(3, { line: 2 }), trade(2, { block: blockAt(4), line: 3 })] }),
    ).rejects.toThrow(
      "trades.csv line 3: block 14400 is at 2026-01-01T02:00:00+00:00 here, but the earlier block 10800 is at " +
        "2026-01-01T03:00:00+00:00 in trades.csv line 2; a block is never before an earlier block",
    );

    await load({ trades: [trade(3)] });
    await expect(load({ trades: [trade(2, { block: blockAt(4), line: 3 })] })).rejects.toThrow(
      "trades.csv line 3: block 14400 is at 2026-01-01T02:00:00+00:00 here, but the earlier block 10800 is at " +
        "2026-01-01T03:00:00+00:00 in the database; a block is never before an earlier block",
    );
    await expect(load({ trades: [trade(5, { block: 7, line: 3 })] })).rejects.toThrow(
      "trades.csv line 3: block 7 is at 2026-01-01T05:00:00+00:00 here, but the later block 10800 is at " +
        "2026-01-01T03:00:00+00:00 in the database; a block is never before an earlier block",
    );
  });
});

describe("the head", () => {
  const head = () => all("select block, time from dex_head");

  it("stays where it is where a load has no new block", async () => {
    await load({ trades: [trade(1), trade(5)] });

    expect((await load({ tokens: TOKENS, trades: [trade(1)] })).head).toBeUndefined();
    expect(await head()).toEqual([[blockAt(5), new Date(hours(5))]]);
  });

  it("moves to the block of an offer that is later than every trade", async () => {
    await load({ offers: [offer(1, at(3))], trades: [trade(2)] });

    expect(await head()).toEqual([[blockAt(3), new Date(hours(3))]]);
  });
});
