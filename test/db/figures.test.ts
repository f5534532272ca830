// The market figures at every edge. The market is WETH/DAI by default.
import { checksumAddress, pairHash } from "../../db/load/checksum.ts";
import { loadRows, type OfferRow, type TradeRow } from "../../db/load/write-rows.ts";
import { bruteForce, decimal, quotient, type Row } from "../brute-force.ts";
import { openClient } from "../database.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  registerTokens,
  WETH,
  write,
  type Written,
} from "../factories.ts";
import { useDatabase } from "../served.ts";

const database = useDatabase();
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

/** Writes trades, and then the head at this hour after genesis. */
const tradesAt = (head: number, ...trades: NonNullable<Written["trades"]>): Promise<void> =>
  write(database.writer, { trades, head });

type Line = Record<string, string | boolean | null>;

/** A pair's figures of all three views, without trailing zeros. */
async function figures(pair = "WETH/DAI"): Promise<Line> {
  const line: Line = {};
  for (const view of ["dex_volume", "dex_price", "dex_market"]) {
    const { rows } = await database.reader.query<Line>(`select * from ${view} where pair = $1`, [
      pair,
    ]);
    for (const [name, value] of Object.entries(rows[0]!)) {
      line[name] =
        typeof value === "string"
          ? value.replace(/^(\d+\.\d*?)0+$/, "$1").replace(/\.$/, "")
          : value;
    }
  }
  return line;
}

describe("a window of W hours", () => {
  // Trades one second on either side of each edge, with the head 100 hours after genesis.
  const second = 1 / 3600;

  it("excludes a trade exactly W hours old, and includes one a second younger", async () => {
    await tradesAt(
      100,
      ...[24, 12, 6, 1].flatMap((age) => [
        aTrade({ hour: 100 - age, base: "1", quote: String(1000 + age) }),
        aTrade({ hour: 100 - age + second, base: "1", quote: String(age) }),
      ]),
    );

    const found = await figures();

    // 24 h: 24, 1012, 12, 1006, 6, 1001 and 1, that is 3062 ÷ 7; the trade of 1024 is excluded.
    // 12 h: 12, 1006, 6, 1001 and 1, 2026 ÷ 5. 6 h: 6, 1001 and 1, 1008 ÷ 3. 1 h: 1.
    expect(found).toMatchObject({
      vol: "7",
      vwap24h: "437.428571428571428571",
      vwap12h: "405.2",
      vwap6h: "336",
      vwap1h: "1",
      price: "336",
      low: "1",
      high: "1012",
    });
  });

  it("includes a trade at the head", async () => {
    await tradesAt(100, aTrade({ hour: 100, base: "2", quote: "10" }));

    expect(await figures()).toMatchObject({
      vol: "2",
      vwap24h: "5",
      vwap12h: "5",
      vwap6h: "5",
      vwap1h: "5",
      price: "5",
      last: "5",
      low: "5",
      high: "5",
    });
  });

  it("weights prices by volume in both directions of trade", async () => {
    await tradesAt(
      2,
      aTrade({ side: "sell", base: "1", quote: "100" }),
      aTrade({ side: "buy", base: "3", quote: "600" }),
    );

    // (100 + 600) ÷ (1 + 3)
    expect(await figures()).toMatchObject({ vol: "4", vwap24h: "175", low: "100", high: "200" });
  });
});

describe("last", () => {
  it("is the newest price of any age", async () => {
    await tradesAt(
      1000,
      aTrade({ hour: 1, base: "1", quote: "7" }),
      aTrade({ hour: 2, base: "1", quote: "8" }),
    );

    expect(await figures()).toMatchObject({
      last: "8",
      vol: null,
      price: null,
      vwap24h: null,
      vwap12h: null,
      vwap6h: null,
      vwap1h: null,
      low: null,
      high: null,
    });
  });

  it("orders the trades of a block by idx", async () => {
    await tradesAt(
      2,
      aTrade({ idx: 9, base: "1", quote: "9" }),
      aTrade({ idx: 10, base: "1", quote: "10" }),
      aTrade({ idx: 3, base: "1", quote: "3" }),
    );

    expect(await figures()).toMatchObject({ last: "10" });
  });

  it("skips a trade without base, which has no price, but counts its quote", async () => {
    await tradesAt(
      2,
      aTrade({ hour: 1, base: "2", quote: "10" }),
      aTrade({ hour: 2, base: "0", quote: "4" }),
    );

    // (10 + 4) ÷ (2 + 0)
    expect(await figures()).toMatchObject({
      last: "5",
      low: "5",
      high: "5",
      vol: "2",
      vwap24h: "7",
    });
  });

  it("is null with only a trade without base", async () => {
    await tradesAt(2, aTrade({ base: "0", quote: "4" }));

    expect(await figures()).toMatchObject({ last: null, vwap24h: null, low: null, high: null });
  });
});

describe("the book", () => {
  it("has the lowest price of sell offers and the highest of buy offers", async () => {
    await write(database.writer, {
      offers: [
        anOffer({ side: "sell", base: "1", quote: "120" }),
        anOffer({ side: "sell", base: "1", quote: "110" }),
        anOffer({ side: "buy", base: "1", quote: "90" }),
        anOffer({ side: "buy", base: "1", quote: "95" }),
        anOffer({ side: "sell", base: "1", quote: "1", baseGem: MKR, quoteGem: WETH }),
      ],
      head: 10,
    });

    expect(await figures()).toMatchObject({ ask: "110", bid: "95" });
    expect(await figures("MKR/WETH")).toMatchObject({ ask: "1", bid: null });
  });

  const offered = (options: Parameters<typeof anOffer>[0] = {}) =>
    anOffer({ id: 7, base: "10", quote: "500", ...options });
  const taken = (base: string, quote: string, hour = 1) =>
    aTrade({ offer_id: 7, hour, base, quote });

  // Each case is an ask at 50 beside one at 100: the figure shows whether the offer is open.
  const cases: [string, boolean, Written][] = [
    ["an untouched offer", true, { offers: [offered()] }],
    [
      "a partly taken offer",
      true,
      { offers: [offered()], trades: [taken("9.999999999999999999", "500")] },
    ],
    [
      "a wholly taken offer",
      false,
      { offers: [offered()], trades: [taken("4", "200"), taken("6", "300")] },
    ],
    [
      "an offer wholly taken in two blocks",
      false,
      { offers: [offered()], trades: [taken("4", "200"), taken("6", "300", 9)] },
    ],
    [
      "an offer recorded after its trades",
      false,
      { offers: [offered({ hour: 2 })], trades: [taken("10", "500")] },
    ],
    [
      "an offer taken in its own block",
      false,
      { offers: [offered({ hour: 1 })], trades: [taken("10", "500")] },
    ],
    [
      "an offer partly taken before it is recorded, and partly after",
      false,
      { offers: [offered({ hour: 2 })], trades: [taken("4", "200"), taken("6", "300", 3)] },
    ],
    ["an offer declared filled", false, { offers: [offered({ filled: true })] }],
    ["an offer killed at the head", false, { offers: [offered({ killed: blockAt(10) })] }],
    ["an offer killed before the head", false, { offers: [offered({ killed: blockAt(3) })] }],
    [
      "an offer killed in its own block",
      false,
      { offers: [offered({ hour: 2, killed: blockAt(2) })] },
    ],
    ["an offer made at the head", true, { offers: [offered({ hour: 10 })] }],
    ["an unknown offer with a trade", false, { trades: [taken("1", "50")] }],
    ["an offer with an empty lot", false, { offers: [anOffer({ id: 7, base: "0", quote: "50" })] }],
  ];
  it.each(cases)("shows whether %s is open: %s", async (_name, open, { offers, trades }) => {
    const plain = anOffer({ id: 1_000_000, side: "sell", base: "1", quote: "100" });
    await write(database.writer, {
      offers: [plain, ...(offers ?? [])],
      trades: trades ?? [],
      head: 10,
    });

    expect(await figures()).toMatchObject({ ask: open ? "50" : "100" });
  });

  it("closes an offer in the block that kills or fills it, and reopens it when that block is removed", async () => {
    await write(database.writer, { offers: [offered()], head: 10 });
    const ends: (() => Promise<unknown>)[] = [
      () => write(database.writer, { trades: [taken("10", "500", 11)] }),
      () =>
        database.writer.query("select ingest.write_block($1, $2, killed => '{7}')", [
          blockAt(11),
          hours(11),
        ]),
    ];
    for (const end of ends) {
      expect(await figures()).toMatchObject({ ask: "50" });
      await end();
      expect(await figures()).toMatchObject({ ask: null });
      await database.writer.query("select ingest.take_back($1)", [blockAt(10)]);
    }
    expect(await figures()).toMatchObject({ ask: "50" });
  });
});

it("puts a token with the same symbol in no market", async () => {
  const impostor = anAddress("another DAI");
  await registerTokens(database.writer, { address: impostor, symbol: "DAI" });
  await write(database.writer, {
    trades: [
      aTrade({ base: "1", quote: "5" }),
      aTrade({ base: "1", quote: "9999", quoteGem: impostor }),
    ],
    offers: [anOffer({ base: "1", quote: "1", quoteGem: impostor })],
    head: 2,
  });

  expect(await figures()).toMatchObject({ vol: "1", high: "5", last: "5", ask: null });
  const { rows } = await database.reader.query(
    "select lot_tkn, bid_tkn, market, act, price from dex_trade where bid_gem = $1",
    [impostor],
  );
  expect(rows).toEqual([{ lot_tkn: "WETH", bid_tkn: "DAI", market: null, act: null, price: null }]);
});

it("has null figures as of the clock without any block", async () => {
  expect(await figures()).toMatchObject({
    active: true,
    price: null,
    last: null,
    vol: null,
    ask: null,
    bid: null,
    low: null,
    high: null,
    vwap24h: null,
    vwap12h: null,
    vwap6h: null,
    vwap1h: null,
  });
  const { rows } = await database.reader.query(
    "select block, time = now() as is_now, (select count(*) from dex_head) as heads from dex_private.as_of",
  );
  expect(rows).toEqual([{ block: null, is_now: true, heads: "0" }]);
});

it("has the figures of an inactive pair, with active false", async () => {
  await registerPair(database.writer, WETH, DAI, false);
  await tradesAt(2, aTrade({ base: "1", quote: "5" }));

  expect(await figures()).toMatchObject({ active: false, vol: "1", last: "5" });
});

describe("extreme decimals", () => {
  it("keep every digit of 10^-18 and of 10^20", async () => {
    await tradesAt(
      2,
      aTrade({ base: "0.000000000000000001", quote: "0.000000000000000001" }),
      aTrade({ hour: 2, base: "1", quote: "100000000000000000000.000000000000000001" }),
    );

    expect(await figures()).toMatchObject({
      vol: "1.000000000000000001",
      low: "1",
      high: "100000000000000000000.000000000000000001",
      last: "100000000000000000000.000000000000000001",
      // (10^38 + 2) ÷ (10^18 + 1), in units of 10^-18: 99999999999999999900.0000000000000001
      vwap24h: decimal(quotient(10n ** 38n + 2n, 10n ** 18n + 1n)!).replace(/0+$/, ""),
    });
  });

  it("round a price half away from zero at the 18th digit", async () => {
    await tradesAt(
      2,
      // 10^-18 ÷ 2 is half a unit, 10^-18 ÷ 3 less than half.
      aTrade({ hour: 1, base: "2", quote: "0.000000000000000001" }),
      aTrade({ hour: 2, base: "3", quote: "0.000000000000000001" }),
    );

    expect(await figures()).toMatchObject({ high: "0.000000000000000001", low: "0" });
  });
});

describe("a quotient below 1", () => {
  it("is correct to the last digit for 100,000 pairs of amounts", async () => {
    const random = sequence(20_260_101);
    const dividends: string[] = [];
    const divisors: string[] = [];
    const expected: string[] = [];
    while (expected.length < 100_000) {
      const [one, other] = [random(), random()];
      const [a, b] = one < other ? [one, other] : [other, one];
      if (a === b) continue;
      dividends.push(decimal(a));
      divisors.push(decimal(b));
      expected.push(decimal(quotient(a, b)!));
    }

    const { rows } = await database.reader.query<{ quotients: string[] }>(
      `select array_agg(dex_private.quotient(dividend, divisor)::text order by at) as quotients
      from unnest($1::numeric[], $2::numeric[]) with ordinality as one (dividend, divisor, at)`,
      [dividends, divisors],
    );

    const wrong = rows[0]!.quotients.filter((found, at) => found !== expected[at]);
    expect(rows[0]!.quotients).toHaveLength(100_000);
    expect(wrong).toEqual([]);
  });

  /** Seeded random amounts from 10^-18 to about 10^7, with evenly distributed magnitudes. */
  function sequence(seed: number): () => bigint {
    let state = BigInt(seed);
    const next = (): bigint => {
      state = (state * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;
      return state >> 16n;
    };
    return () => (((next() << 48n) + next()) % 10n ** (1n + (next() % 25n))) + 1n;
  }
});

it("has the same figures for rows written block by block and by the loader", async () => {
  const gems = { WETH: checksumAddress(WETH), DAI: checksumAddress(DAI) };
  const people = {
    maker: checksumAddress(anAddress("maker")),
    taker: checksumAddress(anAddress("taker")),
  };
  const made = Array.from({ length: 60 }, (_, at) =>
    aTrade({
      hour: at / 2,
      side: at % 3 === 0 ? "buy" : "sell",
      base: `${at + 1}.${"7".repeat(1 + (at % 18))}`,
      quote: `${at * 3 + 1}.${"3".repeat(1 + (at % 17))}`,
      baseGem: gems.WETH,
      quoteGem: gems.DAI,
      // Not of offer 5, which is cancelled.
      offer_id: at % 9 === 4 ? 99 : 1 + (at % 9),
      ...people,
    }),
  ).map((row) => ({ ...row, pair: pairHash(row.lot_gem, row.bid_gem) }));
  const offered = Array.from({ length: 9 }, (_, at) => {
    const row = anOffer({
      id: at + 1,
      side: at % 3 === 0 ? "buy" : "sell",
      base: String(60 + at * 40),
      quote: String(100 + at),
      baseGem: gems.WETH,
      quoteGem: gems.DAI,
      killed: at === 4 ? blockAt(3) : 0,
      filled: at === 5,
      maker: people.maker,
    });
    return { ...row, pair: pairHash(row.lot_gem, row.bid_gem) };
  });
  const tokens = [
    { address: gems.WETH, symbol: "WETH", decimals: 18, name: "Wrapped Ether" },
    { address: gems.DAI, symbol: "DAI", decimals: 18, name: "Dai" },
  ];
  const pairs = [{ base: "WETH", quote: "DAI", active: true }];
  const contents = async (): Promise<object> => {
    const found: Record<string, object> = {};
    for (const query of [
      "select * from dex_market",
      "select * from dex_price",
      "select * from dex_volume",
      "select * from dex_trade order by id",
      "select * from dex_offer order by id",
      "select * from dex_token order by address",
      "select * from dex_head",
    ]) {
      found[query] = (await database.reader.query(query)).rows;
    }
    return found;
  };

  await database.empty();
  await registerTokens(database.writer, ...tokens);
  await registerPair(database.writer, gems.WETH, gems.DAI);
  await write(database.writer, { offers: offered, trades: made });
  const byTheDoor = await contents();

  await database.empty();
  await using client = await openClient(database.url, { role: "dex_writer" });
  await loadRows(client, {
    tokens,
    pairs,
    offers: offered as OfferRow[],
    // In reverse order: the loader assigns ids by block.
    trades: [...made].reverse() as TradeRow[],
  });
  const byLoader = await contents();

  expect(byLoader).toEqual(byTheDoor);
  const asText = (row: object): Row =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]));
  const [expected] = bruteForce(
    {
      tokens: tokens.map(asText),
      pairs: pairs.map(asText),
      offers: offered.map(asText),
      trades: made.map(asText),
    },
    { block: blockAt(29.5), time: Date.parse(hours(29.5)) },
  );
  const { rows } = await database.reader.query(
    `select *
    from dex_market
    join dex_price using (pair, base, quote, last)
    join dex_summary using (pair, base, quote, last, vol, low, high)`,
  );
  expect(rows).toEqual([expected]);
});
