// Writing checked rows to the database.
import { checksumAddress } from "../../../db/load/checksum.ts";
import {
  loadRows,
  type LoadProgress,
  type LoadSource,
  type OfferRow,
  type TradeRow,
} from "../../../db/load/write-rows.ts";
import { openClient } from "../../database.ts";
import { aHash, anAddress, blockAt, hours, registerTokens } from "../../factories.ts";
import { useClient, useDatabase } from "../../served.ts";

const WETH = checksumAddress(anAddress("WETH"));
const DAI = checksumAddress(anAddress("DAI"));
const TOKENS = [
  { address: WETH, symbol: "WETH", decimals: 18, name: "Wrapped Ether" },
  { address: DAI, symbol: "DAI", decimals: 18, name: "Dai" },
];
const PAIRS = [{ base: "weth", quote: "Dai", active: true }];

const database = useDatabase();
const client = useClient(database, "dex_writer");
beforeEach(async () => {
  await database.empty();
});

/** A trade at this hour after genesis: the maker sells 1 WETH for 100 DAI. */
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

/** Block and time at this hour after genesis. */
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

/** Resolves once a session waits for a lock. */
async function waits(): Promise<void> {
  for (;;) {
    const { rowCount } = await database.owner.query("select from pg_locks where not granted");
    if (rowCount !== 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

it("loads tokens, pairs, offers and trades, and sets the head to the last block", async () => {
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

it("adds the new blocks of a longer source, with their cancellations", async () => {
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

it("writes once if two loads of the same rows run at the same time", async () => {
  await using other = await openClient(database.url, { role: "dex_writer" });
  const source = (): LoadSource => ({
    tokens: TOKENS,
    pairs: PAIRS,
    offers: [offer(1)],
    trades: [trade(1)],
  });

  const summaries = await Promise.all([load(source()), loadRows(other, source())]);

  expect(summaries.map(({ trades }) => trades?.added).sort()).toEqual([0, 1]);
  expect(await all("select count(*)::integer from dex_trade")).toEqual([[1]]);
});

it("waits for a writer, and then rejects blocks that are no longer after the head", async () => {
  await using other = await openClient(database.url, { role: "dex_writer" });
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
});

it("neither blocks readers nor waits for them", async () => {
  await load({ trades: [trade(1)] });
  await using reader = await openClient(database.url, { role: "dex_reader" });
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

  // The reader still sees its own snapshot.
  expect(await count()).toBe("1");
  await reader.query("commit");
  expect(await count()).toBe("2");
});

it("loads no staged rows that another session left, and leaves them there", async () => {
  await using other = await openClient(database.url, { role: "dex_writer" });
  await other.query("insert into ingest.staged_cancellation (block, offer_id) values (5, 5)");
  await other.query(
    "insert into ingest.staged_block (number, time) values (99999, '2030-01-01T00:00:00Z')",
  );

  await load({ trades: [trade(1)] });

  expect(await all("select number from dex_block")).toEqual([[3600]]);
  expect(await all("select number from ingest.staged_block")).toEqual([[99999]]);
  await other.query("delete from ingest.staged_cancellation");
  await other.query("delete from ingest.staged_block");
});

it("leaves nothing behind if a source fails halfway", async () => {
  function* failing(): Generator<TradeRow> {
    yield trade(1);
    throw new Error("the source broke off");
  }

  await expect(load({ tokens: TOKENS, offers: [offer(1)], trades: failing() })).rejects.toThrow(
    "the source broke off",
  );

  expect(await all("select address from dex_token")).toEqual([]);
  expect(await all("select id from dex_offer")).toEqual([]);
  // The connection still works.
  await load({ trades: [trade(1)] });
  expect(await all("select count(*)::integer from dex_trade")).toEqual([[1]]);
});

it("reports a row that PostgreSQL rejects, and can load again", async () => {
  function* many(): Generator<TradeRow> {
    for (let at = 0; at < 5000; at += 1) yield trade(at, at === 10 ? { lot_amt: "much" } : {});
  }

  await expect(load({ trades: many() })).rejects.toThrow('type numeric: "much"');

  await load({ trades: [trade(1)] });
  expect(await all("select count(*)::integer from dex_trade")).toEqual([[1]]);
});

it("keeps backslashes in text", async () => {
  const name = "a\\tb\\nc\\r\\\\d \\. \\N";
  await load({ tokens: [{ address: WETH, symbol: "\\N", decimals: 18, name }] });

  expect(await all("select symbol, name from dex_token")).toEqual([["\\N", name]]);
});

it("refuses a name that would pass for another, by its row", async () => {
  const token = { address: WETH, symbol: "WETH", decimals: 18, name: "Ether\n" };
  await expect(load({ tokens: [token] })).rejects.toThrow(
    `row 1: token ${WETH}: name of ${WETH} is "Ether\\n": it may have no control character`,
  );
});

describe("tokens", () => {
  it("take a row's values, and keep the values that it leaves out", async () => {
    await load({ tokens: [{ address: WETH, symbol: "OLD", decimals: 8, name: "A name" }] });

    const { tokens } = await load({ tokens: [{ address: WETH, symbol: "NEW", decimals: 8 }] });

    expect(tokens).toMatchObject({ added: 0, changed: 1 });
    expect(await all("select symbol, decimals, name from dex_token")).toEqual([
      ["NEW", 8, "A name"],
    ]);
  });

  it("may exchange their symbols, whatever markets they have", async () => {
    const other = { ...TOKENS[0]!, address: checksumAddress(anAddress("other")), symbol: "OTHER" };
    await load({ tokens: [...TOKENS, other], pairs: [...PAIRS, { base: "OTHER", quote: "DAI" }] });

    const { tokens } = await load({
      tokens: [
        { address: WETH, symbol: "OTHER", decimals: 18 },
        { address: other.address, symbol: "WETH", decimals: 18 },
      ],
    });

    expect(tokens).toMatchObject({ added: 0, changed: 2 });
    expect(await all("select base, base_gem from dex_pair order by base")).toEqual([
      ["OTHER", WETH],
      ["WETH", other.address],
    ]);
  });

  it("are rejected if one is given twice with different values", async () => {
    const twice = [
      { line: 2, address: WETH, symbol: "WETH", decimals: 18 },
      { line: 5, address: WETH, symbol: "WETH", decimals: 8 },
    ];

    await expect(load({ tokens: twice })).rejects.toThrow(
      `tokens.csv line 5: token ${WETH} has decimals 8 here, but decimals 18 in ` +
        "tokens.csv line 2; both must have the same values",
    );
  });

  it("are rejected if the database has one without its checksum", async () => {
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

  it("change active only if the row has it", async () => {
    await load({ pairs: PAIRS });
    await load({ pairs: [{ base: "WETH", quote: "DAI", active: false }] });
    await load({ pairs: [{ base: "WETH", quote: "DAI" }] });

    expect(await all("select base, quote, active from dex_pair")).toEqual([["WETH", "DAI", false]]);
  });

  const another = checksumAddress(anAddress("another DAI"));
  it("are rejected with a symbol of two tokens, and accepted with addresses", async () => {
    await load({ tokens: [{ address: another, symbol: "DAI", decimals: 18 }] });

    await expect(load({ pairs: [{ line: 2, base: "WETH", quote: "dai" }] })).rejects.toThrow(
      /^pairs\.csv line 2: pair WETH\/dai cannot be registered: the symbol 'dai' names 2 tokens: 0x\w+, 0x\w+; select one with base_gem or quote_gem$/,
    );

    await load({ pairs: [{ base: "WETH", quote: "dai", quote_gem: another }] });
    expect(await all("select quote, quote_gem from dex_pair")).toEqual([["DAI", another]]);
  });

  it("keep their tokens if another token gets the same symbol", async () => {
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
  ])("are rejected with %s", async (_name, pair, message) => {
    await load({ pairs: PAIRS });

    await expect(load({ pairs: [{ line: 3, ...pair }] })).rejects.toThrow(message);
  });

  it.each([
    [
      "active and inactive",
      { base: "weth", quote: "dai", active: false },
      "pairs.csv line 4: pair weth/dai has active false here, but active true in pairs.csv line 2",
    ],
    [
      "in both directions",
      { base: "DAI", quote: "WETH" },
      "pairs.csv line 4: pair DAI/WETH conflicts with pair WETH/DAI in pairs.csv line 2",
    ],
    [
      "of the same name",
      { base: "WETHD", quote: "AI" },
      "pairs.csv line 4: pair WETHD/AI conflicts with pair WETH/DAI in pairs.csv line 2",
    ],
  ])("are rejected if two of them are %s, and both are named", async (_name, pair, message) => {
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
  it("take a cancellation, which an older file does not remove", async () => {
    await load({ offers: [offer(1)], trades: [trade(1)] });

    const { offers, head } = await load({ offers: [offer(1, { killed: 7200 })] });
    await load({ offers: [offer(1, { killed: 0 })] });

    expect(offers).toMatchObject({ added: 0, changed: 1 });
    expect(await all("select id, killed from dex_offer")).toEqual([[1, 7200]]);
    // No row has the time of that block: it gets the time of the previous block.
    expect(head).toEqual({ block: 7200, time: new Date(hours(1)) });
  });

  it("give a block with only cancellations the time of the previous block", async () => {
    await load({
      offers: [offer(1, { killed: 5000 }), offer(2, { killed: 9000 })],
      trades: [trade(1), trade(2, { offer_id: 2 })],
    });

    expect(await all("select number, time from dex_block order by number")).toEqual([
      [0, new Date(hours(0))],
      [3600, new Date(hours(1))],
      [5000, new Date(hours(1))],
      [7200, new Date(hours(2))],
      [9000, new Date(hours(2))],
    ]);
  });

  it("are filled by their trades, or from the start", async () => {
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

  it("may have filled in a later file with the trades that fill them", async () => {
    await load({ offers: [offer(1)], trades: [trade(1, { lot_amt: "4" })] });

    const { offers } = await load({
      offers: [offer(1, { filled: true })],
      trades: [trade(1, { lot_amt: "4" }), trade(2, { lot_amt: "6" })],
    });

    expect(offers).toMatchObject({ added: 0, changed: 0, unchanged: 1 });
    expect(await all("select filled from dex_offer")).toEqual([[true]]);
  });

  it("are rejected with filled if the database has a rest of the lot", async () => {
    await load({ offers: [offer(1)], trades: [trade(1, { lot_amt: "4" })] });

    // Of the lot of 10, 4 were taken before, and 1.5 are taken in this load.
    await expect(
      load({
        offers: [offer(1, { filled: true, line: 2 })],
        trades: [trade(2, { lot_amt: "1.5" })],
      }),
    ).rejects.toThrow(
      "offers.csv line 2: offer 1 is filled here, but has 4.5 of its lot left in the database",
    );
  });

  it("may have one row when made and another when ended", async () => {
    const { offers } = await load({
      offers: [offer(1, { killed: 700 }), offer(1), offer(2), offer(2, { filled: true })],
    });

    expect(offers).toEqual({ rows: 4, added: 2, changed: 0, unchanged: 2 });
    expect(await all("select id, killed, filled from dex_offer order by id")).toEqual([
      [1, 700, false],
      [2, 0, true],
    ]);
  });

  it("are rejected with other values than in the database, and both are named", async () => {
    await load({ offers: [offer(1)] });

    await expect(load({ offers: [offer(1, { line: 4, lot_amt: "11" })] })).rejects.toThrow(
      "offers.csv line 4: offer 1 has lot_amt 11 here, but lot_amt 10 in the database",
    );
    expect(await all("select lot_amt from dex_offer")).toEqual([["10.000000000000000000"]]);
  });

  it("are rejected if one is given twice with different values", async () => {
    const twice = [offer(1, { line: 2 }), offer(1, { line: 3, bid_amt: "1" })];

    await expect(load({ offers: twice })).rejects.toThrow(
      "offers.csv line 3: offer 1 has bid_amt 1 here, but bid_amt 1000 in offers.csv line 2",
    );
  });

  it("are rejected with cancellations in two blocks", async () => {
    const twice = [offer(1, { line: 2, killed: 700 }), offer(1, { line: 3, killed: 701 })];

    await expect(load({ offers: twice })).rejects.toThrow(
      "offers.csv line 3: offer 1 has killed 701 here, but killed 700 in offers.csv line 2",
    );
    await load({ offers: twice.slice(0, 1) });
    await expect(load({ offers: twice.slice(1) })).rejects.toThrow(
      "offers.csv line 3: offer 1 has killed 701 here, but killed 700 in the database",
    );
  });

  it("are rejected with a cancellation that an existing block does not have", async () => {
    await load({ offers: [offer(1)], trades: [trade(1)] });

    await expect(load({ offers: [offer(1, { line: 2, killed: 700 })] })).rejects.toThrow(
      "offers.csv line 2: offer 1 has killed 700 here, but killed 0 in the database",
    );
  });

  it("before the head are rejected", async () => {
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

  it("get ids in the order of block and idx, in any order of the rows", async () => {
    await load({
      trades: [trade(2, { idx: 10 }), trade(2, { idx: 9, tx }), trade(1, { idx: 70 })],
    });

    expect(await ids()).toEqual([
      ["1", 3600, 70],
      ["2", 7200, 9],
      ["3", 7200, 10],
    ]);
  });

  it("without idx get their ordinal in the block", async () => {
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

  it("without idx are rejected for a block with other trades in the database", async () => {
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

  it("are rejected if the database has one with other values, and both are named", async () => {
    await load({ trades: [trade(1, { tx })] });

    await expect(
      load({ trades: [trade(2), trade(1, { tx, line: 9, lot_amt: "2", offer_id: 3 })] }),
    ).rejects.toThrow(
      `trades.csv line 9: trade ${tx}, idx 0 has offer_id 3, lot_amt 2 here, ` +
        "but offer_id 1, lot_amt 1 in the database; both must have the same values",
    );
    expect(await ids()).toHaveLength(1);
  });

  it("may be given twice with the same values, but not with different ones", async () => {
    const { trades } = await load({ trades: [trade(1), trade(1, { lot_amt: "1.00" })] });
    expect(trades).toMatchObject({ rows: 2, added: 1, unchanged: 1 });

    await expect(
      load({ trades: [trade(2, { tx, line: 2 }), trade(2, { tx, line: 7, bid_amt: "5" })] }),
    ).rejects.toThrow(
      `trades.csv line 7: trade ${tx}, idx 0 has bid_amt 5 here, ` +
        "but bid_amt 100 in trades.csv line 2",
    );
  });

  it("before the head are rejected, also with ids", async () => {
    await load({ trades: [trade(2)] });

    await expect(load({ trades: [trade(1, { line: 2, id: 77 })] })).rejects.toThrow(
      `trades.csv line 2: trade ${aHash("trade at 1")}, idx 0 is in block 3600 here, but not in the database, ` +
        "whose head is block 7200",
    );
  });

  it("continue after the given ids", async () => {
    await load({ trades: [trade(1, { id: 9_000_000_000 })] });
    await load({ trades: [trade(2)] });

    expect(await ids()).toEqual([
      ["9000000000", 3600, 0],
      ["9000000001", 7200, 0],
    ]);
  });

  it("are rejected with ids that do not increase with block and idx, and both are named", async () => {
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

  it("are rejected with an id that was used before, also by a removed trade", async () => {
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
    "are rejected if only some of them have an %s",
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

  it("report the number of rows read, and then the writing", async () => {
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
  it("is rejected with two times in one load, and both places are named", async () => {
    await expect(
      load({ offers: [offer(1, { line: 40 })], trades: [trade(1, { block: 0, line: 812 })] }),
    ).rejects.toThrow(
      "trades.csv line 812: block 0 is at 2026-01-01T01:00:00+00:00 here, but at " +
        "2026-01-01T00:00:00+00:00 in offers.csv line 40; a block has one time",
    );
  });

  it("is rejected with another time than in the database", async () => {
    await load({ trades: [trade(1)] });

    await expect(
      load({ offers: [offer(1, { block: blockAt(1), time: hours(2), line: 3 })] }),
    ).rejects.toThrow(
      "offers.csv line 3: block 3600 is at 2026-01-01T02:00:00+00:00 here, but at " +
        "2026-01-01T01:00:00+00:00 in the database; a block has one time",
    );
  });

  it("is rejected with a time before that of an earlier block", async () => {
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

  it("stays unchanged if a load has no new block", async () => {
    await load({ trades: [trade(1), trade(5)] });

    expect((await load({ tokens: TOKENS, trades: [trade(1)] })).head).toBeUndefined();
    expect(await head()).toEqual([[blockAt(5), new Date(hours(5))]]);
  });

  it("moves to the block of an offer that is later than every trade", async () => {
    await load({ offers: [offer(1, at(3))], trades: [trade(2)] });

    expect(await head()).toEqual([[blockAt(3), new Date(hours(3))]]);
  });
});
