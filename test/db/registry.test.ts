// The registry of tokens and pairs: derived columns, rejected input, and the relabelling of rows.
import { verify } from "../../db/verify/verify-database.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  DAI,
  MKR,
  registerMarkets,
  registerPair,
  registerTokens,
  WETH,
  write,
  type TokenRow,
} from "../factories.ts";
import { useOwned } from "../served.ts";

const { database, owner } = useOwned();
beforeEach(async () => {
  await database.empty();
});
afterEach(async () => {
  expect(await verify(owner)).toEqual([]);
});

const addressOf = (symbol: string): string => anAddress(`token ${symbol}`);
const token = (symbol: string, more: Partial<TokenRow> = {}): TokenRow => ({
  address: addressOf(symbol),
  symbol,
  decimals: 6,
  ...more,
});

const registered = async (): Promise<unknown> => {
  const tokens = await database.reader.query("select * from dex_token order by address");
  const pairs = await database.reader.query("select * from dex_pair order by id");
  return [tokens.rows, pairs.rows];
};

const epoch = async (): Promise<number> => {
  const { rows } = await owner.query<{ epoch: string }>(
    "select epoch from dex_private.write_state",
  );
  return Number(rows[0]!.epoch);
};

describe("a pair", () => {
  it("gets upper-case symbols, precisions and market from its tokens", async () => {
    const { writer, reader } = database;
    await registerTokens(writer, token("wstETH"), token("Dai", { decimals: 18 }));
    await registerPair(writer, addressOf("wstETH"), addressOf("Dai"));

    const { rows } = await reader.query(
      `select base, quote, base_gem, quote_gem, base_precision, quote_precision, market, active
      from dex_pair`,
    );

    expect(rows).toEqual([
      {
        base: "WSTETH",
        quote: "DAI",
        base_gem: addressOf("wstETH"),
        quote_gem: addressOf("Dai"),
        base_precision: 6,
        quote_precision: 18,
        market: "WSTETHDAI",
        active: true,
      },
    ]);
  });

  it("is identified by two addresses in any case, not by symbols", async () => {
    const { writer } = database;
    const second = anAddress("a second dai");
    await registerTokens(writer, token("DAI"), token("dai", { address: second }), token("WETH"));
    await registerPair(
      writer,
      addressOf("WETH").toUpperCase().replace("0X", "0x"),
      second.toUpperCase().replace("0X", "0x"),
    );
    const { rows } = await database.reader.query("select base_gem, quote_gem from dex_pair");
    expect(rows).toEqual([{ base_gem: addressOf("WETH"), quote_gem: second }]);
  });

  it.each([
    [
      "of an unknown base",
      anAddress("nobody"),
      DAI,
      true,
      `base_gem is ${anAddress("nobody")}: no registered token has this address`,
    ],
    [
      "of an unknown quote",
      WETH,
      anAddress("nobody"),
      true,
      `quote_gem is ${anAddress("nobody")}: no registered token has this address`,
    ],
    ["of a symbol", "WETH", DAI, true, "base_gem is WETH: no registered token has this address"],
    ["of null", null, DAI, true, "base_gem is null: no registered token has this address"],
    [
      "of an address and null",
      WETH,
      null,
      true,
      "quote_gem is null: no registered token has this address",
    ],
    [
      "of a token with itself",
      MKR,
      MKR,
      true,
      `base_gem and quote_gem are both ${MKR}: a pair needs two different tokens`,
    ],
    [
      "of a token without a symbol",
      addressOf("nameless"),
      DAI,
      true,
      `token ${addressOf("nameless")} has no symbol: both tokens of a pair need one`,
    ],
    ["with active null", WETH, MKR, null, "active is null: it must be true or false"],
  ])("%s is rejected", async (_name, base, quote, active, message) => {
    await registerMarkets(database.writer);
    await registerTokens(database.writer, token("nameless", { symbol: null }));
    const before = await registered();
    await expect(
      database.writer.query("select ingest.register_pair($1, $2, $3)", [base, quote, active]),
    ).rejects.toMatchObject({ message, code: "22023" });
    expect(await registered()).toEqual(before);
  });

  it("is rejected if another pair has the same market text or key", async () => {
    const { writer } = database;
    const symbols = ["A", "BC", "AB", "C", "D/E", "F", "D", "E/F"];
    await registerTokens(writer, ...symbols.map((symbol) => token(symbol)));
    await registerPair(writer, addressOf("A"), addressOf("BC"));
    await expect(registerPair(writer, addressOf("AB"), addressOf("C"))).rejects.toMatchObject({
      message:
        "the pair AB and C would have the same market name as the pair A and BC: a market name is both symbols joined",
      code: "23505",
    });
    await registerPair(writer, addressOf("D/E"), addressOf("F"));
    await expect(registerPair(writer, addressOf("D"), addressOf("E/F"))).rejects.toMatchObject({
      message: expect.stringContaining(
        "the pair D and E/F would have the same market name as the pair D/E and F",
      ),
      code: "23505",
    });
    const { rows } = await database.reader.query("select market from dex_pair order by market");
    expect(rows).toEqual([{ market: "ABC" }, { market: "D/EF" }]);
  });

  it("changes nothing when it is registered again", async () => {
    await registerMarkets(database.writer);
    await write(database.writer, { trades: [aTrade()] });
    const before = [await registered(), await epoch()];
    await registerPair(database.writer, WETH, DAI);
    expect([await registered(), await epoch()]).toEqual(before);
  });

  it("can be deactivated and reactivated, and keeps its figures", async () => {
    await registerMarkets(database.writer);
    await write(database.writer, { trades: [aTrade()] });
    const before = await epoch();
    for (const active of [false, true]) {
      await registerPair(database.writer, WETH, DAI, active);
      const { rows } = await database.reader.query(
        "select active, last from dex_market where pair = 'WETH/DAI'",
      );
      expect(rows).toEqual([{ active, last: "100.000000000000000000" }]);
    }
    expect(await epoch()).toBe(before);
  });

  it("reverses its trades, book and figures if it is registered in the other direction", async () => {
    await registerMarkets(database.writer);
    await write(database.writer, {
      offers: [
        anOffer({ id: 1, base: "2", quote: "8" }),
        anOffer({ id: 2, side: "buy", base: "5", quote: "10" }),
      ],
      trades: [aTrade({ hour: 1, offer_id: 3, base: "2", quote: "5" })],
    });
    const before = await epoch();
    await registerPair(database.writer, DAI, WETH);

    const { rows } = await database.reader.query(
      `select
        pair,
        trim_scale(last)::text as last,
        trim_scale(vol)::text as vol,
        trim_scale(bid)::text as bid,
        trim_scale(ask)::text as ask
      from dex_market
      where base = 'DAI'`,
    );
    // 2 ÷ 5; a volume of 5 DAI; a sale of WETH at 8 ÷ 2 is a purchase of DAI at 2 ÷ 8, and a purchase at
    // 10 ÷ 5 a sale of DAI at 5 ÷ 10.
    expect(rows).toEqual([{ pair: "DAI/WETH", last: "0.4", vol: "5", bid: "0.25", ask: "0.5" }]);
    const trades = await database.reader.query("select market, act from dex_trade");
    expect(trades.rows).toEqual([{ market: "DAIWETH", act: "buy" }]);
    expect(await epoch()).toBe(before + 1);
  });
});

describe("a token", () => {
  it("has no name where it is registered with an empty one", async () => {
    const args = [addressOf("E"), "E", 1, ""];
    await database.writer.query("select ingest.register_token($1, $2, $3, $4)", args);
    const { rows } = await database.reader.query("select name from dex_token where symbol = 'E'");
    expect(rows).toEqual([{ name: null }]);
    const before = await epoch();
    await database.writer.query("select ingest.register_token($1, $2, $3, $4)", args);
    expect(await epoch()).toBe(before);
  });

  it.each([
    ["no address", [null, "X", 1, null], "address is null: it must be 0x and 40 hex digits"],
    ["a bad address", ["0x12", "X", 1, null], "address is 0x12: it must be 0x and 40 hex digits"],
    [
      "another spelling of a registered address",
      [WETH.toUpperCase().replace("0X", "0x"), "X", 1, null],
      `address is ${WETH.toUpperCase().replace("0X", "0x")}: the token is registered as ${WETH}`,
    ],
    [
      "an empty symbol",
      [addressOf("X"), "", 1, null],
      `symbol of ${addressOf("X")} is '': it must be a text of 1 to 100 characters, or null`,
    ],
    ...[
      "\u0001",
      " ",
      "WETH ",
      "\u00a0WETH",
      "WE\nTH",
      "WETH\u2028",
      "\u202eHTEW",
      "WETH\u200e",
      "\u200bWETH",
    ].map((symbol): [string, unknown[], string] => [
      `the symbol ${JSON.stringify(symbol)}`,
      [addressOf("X"), symbol, 1, null],
      `symbol of ${addressOf("X")} is ${JSON.stringify(symbol)}: it may have no control character, line end or direction mark, and no blank before or after it`,
    ]),
    [
      "a symbol of 1 MB",
      [addressOf("X"), "x".repeat(1_000_000), 1, null],
      `symbol of ${addressOf("X")} is '${"x".repeat(90)}': it must be a text of 1 to 100 characters, or null`,
    ],
    [
      "no decimals",
      [addressOf("X"), "X", null, null],
      `decimals of ${addressOf("X")} is null: it must be an integer from 0 to 255`,
    ],
    [
      "256 decimals",
      [addressOf("X"), "X", 256, null],
      `decimals of ${addressOf("X")} is 256: it must be an integer from 0 to 255`,
    ],
    [
      "a name of 1 MB",
      [addressOf("X"), "X", 1, "x".repeat(1_000_000)],
      `name of ${addressOf("X")} has 1000000 characters: it may have at most 1000`,
    ],
    ...["\u0001", " ", "Dai\n", "\u202eiaD"].map((name): [string, unknown[], string] => [
      `the name ${JSON.stringify(name)}`,
      [addressOf("X"), "X", 1, name],
      `name of ${addressOf("X")} is ${JSON.stringify(name)}: it may have no control character, line end or direction mark, and no blank before or after it`,
    ]),
    [
      "no symbol, if the token has a pair",
      [WETH, null, 18, null],
      `symbol of ${WETH} is null: a token of a registered pair needs a symbol`,
    ],
  ])("with %s is rejected", async (_name, values, message) => {
    await registerMarkets(database.writer);
    const before = await registered();
    await expect(
      database.writer.query("select ingest.register_token($1, $2, $3, $4)", values),
    ).rejects.toMatchObject({ message, code: "22023" });
    expect(await registered()).toEqual(before);
  });

  it("renames its pairs, trades and offers when it is renamed", async () => {
    await registerMarkets(database.writer);
    await write(database.writer, {
      offers: [anOffer({ id: 1, base: "2", quote: "5" })],
      trades: [aTrade({ offer_id: 9, base: "2", quote: "5" })],
    });
    const before = await epoch();

    await registerTokens(database.writer, { address: DAI, symbol: "sai", name: "Dai Stablecoin" });

    for (const table of ["dex_trade", "dex_offer"]) {
      const { rows } = await database.reader.query(
        `select market, bid_tkn, price, (select quote from dex_pair where base = 'WETH') from ${table}`,
      );
      expect(rows).toEqual([
        { market: "WETHSAI", bid_tkn: "sai", price: "2.500000000000000000", quote: "SAI" },
      ]);
    }
    const figures = await database.reader.query(
      "select pair, last, ask from dex_market where base = 'WETH'",
    );
    expect(figures.rows).toEqual([
      { pair: "WETH/SAI", last: "2.500000000000000000", ask: "2.500000000000000000" },
    ]);
    expect(await epoch()).toBe(before + 1);
  });

  it("cannot be renamed if two pairs would have the same name", async () => {
    const { writer } = database;
    await registerTokens(writer, ...["A", "BC", "AB", "X"].map((symbol) => token(symbol)));
    await registerPair(writer, addressOf("A"), addressOf("BC"));
    await registerPair(writer, addressOf("AB"), addressOf("X"));
    await expect(registerTokens(writer, token("X", { symbol: "C" }))).rejects.toMatchObject({
      message:
        "the pair AB and C would have the same market name as the pair A and BC: a market name is both symbols joined",
      code: "23505",
    });
    const { rows } = await database.reader.query("select market from dex_pair order by market");
    expect(rows).toEqual([{ market: "ABC" }, { market: "ABX" }]);
  });

  it("is renamed where its pairs take over one another's names", async () => {
    const { writer } = database;
    const symbols = ["X", "XA", "A"] as const;
    await registerTokens(writer, ...symbols.map((symbol) => token(symbol)));
    await registerPair(writer, addressOf("X"), addressOf("XA"));
    await registerPair(writer, addressOf("X"), addressOf("A"));
    // X/A becomes XX/A, and has the name that X/XA had.
    await registerTokens(writer, token("X", { symbol: "XX" }));
    const { rows } = await database.reader.query("select market from dex_pair order by market");
    expect(rows).toEqual([{ market: "XXA" }, { market: "XXXA" }]);
  });

  it("updates each of its pairs once, however many it has", async () => {
    const { writer } = database;
    const others = Array.from({ length: 20 }, (_, n) => `T${n}`);
    await registerTokens(writer, ...["X", ...others].map((symbol) => token(symbol)));
    for (const other of others) await registerPair(writer, addressOf(other), addressOf("X"));
    await owner.query("begin");
    await registerTokens(owner, token("X", { symbol: "Y" }));
    const { rows } = await owner.query(
      "select n_tup_upd as updates from pg_stat_xact_user_tables where relname = 'dex_pair'",
    );
    await owner.query("commit");
    expect(rows).toEqual([{ updates: "20" }]);
  });

  it("cannot be renamed if two of its pairs would have the same name", async () => {
    const { writer } = database;
    await registerTokens(writer, ...["X", "CAB", "ABC"].map((symbol) => token(symbol)));
    await registerPair(writer, addressOf("X"), addressOf("CAB"));
    await registerPair(writer, addressOf("ABC"), addressOf("X"));
    const before = await registered();
    await expect(registerTokens(writer, token("X", { symbol: "AB" }))).rejects.toMatchObject({
      message:
        "the pair ABC and AB would have the same market name as the pair AB and CAB: a market name is both symbols joined",
      code: "23505",
    });
    expect(await registered()).toEqual(before);
  });

  it("labels the rows that have its address in another letter case, and corrects them", async () => {
    const inCapitals = (address: string): string => `0x${address.slice(2).toUpperCase()}`;
    const gems = { lot_gem: inCapitals(WETH), bid_gem: inCapitals(DAI) };
    await write(database.writer, {
      offers: [{ ...anOffer({ id: 1 }), ...gems }],
      trades: [{ ...aTrade({ base: "2", quote: "5" }), ...gems }],
    });
    await registerMarkets(database.writer);
    for (const table of ["dex_trade", "dex_offer"]) {
      const { rows } = await database.reader.query(
        `select lot_gem, bid_gem, lot_tkn, bid_tkn, market from ${table}`,
      );
      expect(rows).toEqual([
        { lot_gem: WETH, bid_gem: DAI, lot_tkn: "WETH", bid_tkn: "DAI", market: "WETHDAI" },
      ]);
    }
    const { rows } = await database.reader.query("select last from dex_market where base = 'WETH'");
    expect(rows).toEqual([{ last: "2.500000000000000000" }]);
  });

  it("updates its pairs and no trade when its decimals are corrected", async () => {
    await registerMarkets(database.writer);
    await write(database.writer, { trades: [aTrade({ base: "2", quote: "5" })] });
    const rowsOf = async (): Promise<unknown[]> =>
      (await owner.query("select xmin, * from dex_trade")).rows;
    const before = [await rowsOf(), await epoch()];

    await registerTokens(database.writer, { address: DAI, symbol: "DAI", decimals: 17 });

    expect([await rowsOf(), await epoch()]).toEqual(before);
    const { rows } = await database.reader.query(
      "select quote_precision from dex_pair where quote = 'DAI'",
    );
    expect(rows).toEqual([{ quote_precision: 17 }]);
  });

  it("changes nothing when it is registered again", async () => {
    await registerMarkets(database.writer);
    const before = [await registered(), await epoch()];
    await registerTokens(database.writer, {
      address: DAI,
      symbol: "DAI",
      name: "Dai Stablecoin",
    });
    expect([await registered(), await epoch()]).toEqual(before);
  });
});

it("a trade of unregistered tokens has neither market, act nor price", async () => {
  await write(database.writer, { trades: [aTrade()] });
  const { rows } = await database.reader.query(
    "select lot_tkn, bid_tkn, market, act, price from dex_trade",
  );
  expect(rows).toEqual([{ lot_tkn: null, bid_tkn: null, market: null, act: null, price: null }]);
});

it("both directions of each pair follow registrations, renames and reversals", async () => {
  const { writer } = database;
  const directions = async (): Promise<number> => {
    // The labels, and the same computed from the registry.
    const { rows } = await owner.query<{ labels: string; derived: string }>(
      `select
        row(labels.*)::text as labels,
        row(lot.address, bid.address, pair.id, pair.market, side.act, lot.symbol, bid.symbol, null)::text as derived
      from dex_pair as pair
      cross join lateral (
        values ('sell', base_gem, quote_gem), ('buy', quote_gem, base_gem)
      ) as side (act, lot_gem, bid_gem)
      join dex_token as lot on lot.address = side.lot_gem
      join dex_token as bid on bid.address = side.bid_gem
      cross join lateral dex_private.labels_of(lower(side.lot_gem), side.bid_gem, null, null) as labels`,
    );
    for (const { labels, derived } of rows) expect(labels).toBe(derived);
    return rows.length;
  };
  expect(await directions()).toBe(0);
  // Two pairs in two directions each.
  await registerMarkets(writer);
  expect(await directions()).toBe(4);
  await registerTokens(writer, { address: DAI, symbol: "SAI" });
  expect(await directions()).toBe(4);
  await registerTokens(writer, token("ONE"), token("TWO"));
  await registerPair(writer, addressOf("ONE"), addressOf("TWO"));
  expect(await directions()).toBe(6);
  await registerPair(writer, addressOf("TWO"), addressOf("ONE"));
  expect(await directions()).toBe(6);
});
