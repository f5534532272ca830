// The registry of tokens and pairs: what is derived, what is refused, and that trades follow it.
import { makeDatabase, type TestDatabase } from "../database.ts";
import { anAddress, aTrade, DAI, insert, registerMarkets, WETH } from "../factories.ts";

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

const token = (symbol: string | null, address = anAddress(`token ${String(symbol)}`)) => ({
  address,
  symbol,
  decimals: 6,
});
const register = (rows: object | object[]): Promise<void> =>
  insert(database.writer, "dex_pair", rows);

describe("a pair", () => {
  it("has its tokens, symbols in upper case, precisions and market from its symbols", async () => {
    await insert(database.writer, "dex_token", [
      token("wstETH"),
      { ...token("Dai"), decimals: 18 },
    ]);
    await register({ base: "WSTeth", quote: "dai" });

    const { rows } = await database.reader.query(
      `select base, quote, base_gem, quote_gem, base_precision, quote_precision, market, active
      from dex_pair`,
    );

    expect(rows).toEqual([
      {
        base: "WSTETH",
        quote: "DAI",
        base_gem: anAddress("token wstETH"),
        quote_gem: anAddress("token Dai"),
        base_precision: 6,
        quote_precision: 18,
        market: "WSTETHDAI",
        active: true,
      },
    ]);
  });

  it("is refused by a symbol that names two tokens, and taken by their addresses", async () => {
    await insert(database.writer, "dex_token", [
      token("DAI"),
      token("dai", anAddress("a second dai")),
      token("WETH"),
    ]);
    await expect(register({ base: "WETH", quote: "DAI" })).rejects.toThrow(
      /^the symbol 'DAI' names 2 tokens: 0x[0-9a-f]{40} and 0x[0-9a-f]{40}$/,
    );
    await register({ base_gem: anAddress("token WETH"), quote_gem: anAddress("a second dai") });
  });

  it.each([
    ["of an unknown symbol", { base: "WETH", quote: "NOPE" }, "no token has the symbol 'NOPE'"],
    [
      "of an unknown token",
      { base: "WETH", quote: "X", quote_gem: anAddress("nobody") },
      `the pair WETH/X is of a token that is not registered: ${anAddress("nobody")}`,
    ],
    [
      "whose symbols are not its tokens'",
      { base: "WETH", quote: "MKR", base_gem: WETH, quote_gem: DAI },
      "the pair WETH/MKR is given the tokens of WETH/DAI",
    ],
    [
      "of a token with itself",
      { base: "MKR", quote: "MKR" },
      'new row for relation "dex_pair" violates check constraint "dex_pair_two_tokens_check"',
    ],
    [
      "that is registered the other way round",
      { base: "DAI", quote: "WETH" },
      'duplicate key value violates unique constraint "dex_pair_gems_key"',
    ],
  ])("%s is refused", async (_name, pair, message) => {
    await registerMarkets(database.writer);
    await expect(register(pair)).rejects.toThrow(message);
  });

  it("is refused where another's text is the same", async () => {
    await insert(
      database.writer,
      "dex_token",
      ["A", "BC", "AB", "C"].map((name) => token(name)),
    );
    await register({ base: "A", quote: "BC" });
    await expect(register({ base: "AB", quote: "C" })).rejects.toThrow(/dex_pair_market_key/);
  });
});

it("a token that is renamed takes its pairs, trades and offers along", async () => {
  await registerMarkets(database.writer);
  await insert(database.writer, "dex_trade", aTrade({ base: "2", quote: "5" }));

  await database.writer.query("update dex_token set symbol = 'SAI' where address = $1", [DAI]);

  const { rows } = await database.reader.query(
    "select market, bid_tkn, price, (select quote from dex_pair where base = 'WETH') from dex_trade",
  );
  expect(rows).toEqual([
    { market: "WETHSAI", bid_tkn: "SAI", price: "2.500000000000000000", quote: "SAI" },
  ]);
  const figures = await database.reader.query(
    "select pair, last from dex_market where base = 'WETH'",
  );
  expect(figures.rows).toEqual([{ pair: "WETH/SAI", last: "2.500000000000000000" }]);
});

it("a trade of unregistered tokens has neither market, act nor price", async () => {
  await insert(database.writer, "dex_trade", aTrade());
  const { rows } = await database.reader.query(
    "select lot_tkn, bid_tkn, market, act, price from dex_trade",
  );
  expect(rows).toEqual([{ lot_tkn: null, bid_tkn: null, market: null, act: null, price: null }]);
});

describe("the two directions of each pair", () => {
  // As the triggers keep them, and as they follow from the registry.
  const directions = async (): Promise<unknown[]> => {
    const { rows } = await database.owner.query(
      `select row(kept.*)::text as kept, row(given.*)::text as given
      from dex_private.market_direction as kept
      full join dex_private.registered_direction as given using (lot_gem, bid_gem)`,
    );
    for (const { kept, given } of rows as { kept: string; given: string }[]) {
      expect(kept).toBe(given);
    }
    return rows;
  };

  it("follow what is registered, renamed, given other tokens, swapped, and removed", async () => {
    await registerMarkets(database.writer);
    const { rows: pairs } = await database.reader.query("select from dex_pair");
    expect(await directions()).toHaveLength(2 * pairs.length);

    await database.writer.query("update dex_token set symbol = 'SAI' where address = $1", [DAI]);
    expect(await directions()).toHaveLength(2 * pairs.length);

    await insert(database.writer, "dex_token", [token("ONE"), token("TWO")]);
    await register({ base: "ONE", quote: "TWO" });
    await database.owner.query(
      "update dex_pair set base_gem = quote_gem, quote_gem = base_gem where base = 'ONE'",
    );
    expect(await directions()).toHaveLength(2 * pairs.length + 2);
    await database.owner.query("update dex_pair set quote_gem = $1 where base = 'TWO'", [WETH]);
    expect(await directions()).toHaveLength(2 * pairs.length + 2);

    await database.owner.query("delete from dex_pair where base = 'TWO'");
    expect(await directions()).toHaveLength(2 * pairs.length);
    await database.owner.query("truncate dex_pair");
    expect(await directions()).toEqual([]);
  });
});

it("a pair that is registered while its trade is being written labels it all the same", async () => {
  await registerMarkets(database.writer);
  await database.owner.query("delete from dex_pair where base = 'WETH'");
  const client = await database.writer.connect();
  await client.query("begin");
  await insert(client, "dex_trade", aTrade());
  const registered = register({ base: "WETH", quote: "DAI" });
  // It waits for its turn, which is when the trade is there.
  for (;;) {
    const { rows } = await database.reader.query<{ waiting: boolean }>(
      "select exists (select from pg_locks where locktype = 'advisory' and not granted) as waiting",
    );
    if (rows[0]!.waiting) break;
  }
  await client.query("commit");
  client.release();
  await registered;

  const { rows } = await database.reader.query("select market from dex_trade");
  expect(rows).toEqual([{ market: "WETHDAI" }]);
});
