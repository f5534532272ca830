// The best prices and the book of markets with pools, as of every block, by integers of the tokens' smallest units.
import { verify } from "../../db/verify/verify-database.ts";
import { decimal, quotient, units } from "../brute-force.ts";
import {
  anAddress,
  anOffer,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  WETH,
  type OfferRow,
} from "../factories.ts";
import { useClient, useDatabase } from "../served.ts";

interface Pool {
  venue: string;
  gem0: string;
  gem1: string;
  fee: number;
  /** In units of 10^-18. */
  reserve0: bigint;
  reserve1: bigint;
}

const database = useDatabase();
const reader = useClient(database, "dex_reader");
beforeEach(async () => {
  await database.empty();
});

const POOLS: Omit<Pool, "reserve0" | "reserve1">[] = [
  { venue: anAddress("one"), gem0: DAI, gem1: WETH, fee: 3000 },
  { venue: anAddress("two"), gem0: WETH, gem1: DAI, fee: 500 },
];

/** The largest integer whose square is at most this. */
function root(square: bigint): bigint {
  let [low, high] = [0n, 1n << 400n];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (middle * middle <= square) low = middle;
    else high = middle - 1n;
  }
  return low;
}

/** As the contract computes it, with its fee in millionths. */
function getAmountOut(
  amountIn: bigint,
  reserveIn: bigint,
  reserveOut: bigint,
  fee: number,
): bigint {
  const counted = amountIn * BigInt(1_000_000 - fee);
  return (counted * reserveOut) / (reserveIn * 1_000_000n + counted);
}

const MILLION = 1_000_000n;

const hasOf = (pool: Pool) => {
  const [base, quote] =
    pool.gem0 === WETH ? [pool.reserve0, pool.reserve1] : [pool.reserve1, pool.reserve0];
  return { base, quote, counted: BigInt(1_000_000 - pool.fee) };
};

interface Level {
  act: "buy" | "sell";
  price: bigint;
  vol: bigint;
  quote: bigint;
}

function levelsOf(pool: Pool): Level[] {
  const { base, quote, counted } = hasOf(pool);
  const ONE = 10n ** 100n;
  const levels: Level[] = [];
  for (const act of ["buy", "sell"] as const) {
    const [into, out] = act === "buy" ? [base, quote] : [quote, base];
    let [taken, given] = [0n, 0n];
    for (let n = 1n; n <= 10n; n += 1n) {
      const ratio =
        act === "buy"
          ? (1000n * ONE * ONE) / (1000n - 2n * n)
          : ((1000n + 2n * n) * ONE * ONE) / 1000n;
      const amount = (into * (root(ratio) - ONE) * MILLION) / (ONE * counted);
      const got = getAmountOut(amount, into, out, pool.fee);
      const price =
        act === "buy"
          ? quotient(quote * counted * (1000n - 2n * n), base * MILLION * 1000n)!
          : quotient(quote * MILLION * (1000n + 2n * n), base * counted * 1000n)!;
      // A band that gives nothing more is part of the next one that does.
      if (got === given) continue;
      const [took, gave] = [amount - taken, got - given];
      [taken, given] = [amount, got];
      levels.push(
        act === "buy"
          ? { act, price, vol: took, quote: gave }
          : { act, price, vol: gave, quote: took },
      );
    }
  }
  return levels;
}

const best = (prices: bigint[], isBid: boolean): string | null => {
  const sorted = prices.toSorted((one, other) => (one < other ? -1 : 1));
  const found = isBid ? sorted.at(-1) : sorted[0];
  return found === undefined ? null : decimal(found);
};

interface Seen {
  bid: string | null;
  ask: string | null;
  book: { act: string; price: string; vol: string; quote_vol: string; offers: number }[];
}

/** What a market with these pools, and offers that sell one base at a price each, shows. */
function expected(pools: Pool[], asks: bigint[]): Seen {
  const alive = pools.filter(({ reserve0, reserve1 }) => reserve0 > 0n && reserve1 > 0n);
  const bids = alive
    .map(hasOf)
    .map(({ base, quote, counted }) => quotient(quote * counted, base * MILLION)!);
  const sells = alive
    .map(hasOf)
    .map(({ base, quote, counted }) => quotient(quote * MILLION, base * counted)!);
  const offers = asks.map((price) => ({
    act: "sell" as const,
    price,
    vol: units("1"),
    quote: price,
    offers: 1,
  }));
  const all = [...alive.flatMap(levelsOf).map((level) => ({ ...level, offers: 0 })), ...offers];
  const byPrice = new Map<string, (typeof all)[number]>();
  for (const level of all) {
    const key = `${level.act} ${level.price}`;
    const { vol = 0n, quote = 0n, offers: count = 0 } = byPrice.get(key) ?? {};
    byPrice.set(key, {
      ...level,
      vol: vol + level.vol,
      quote: quote + level.quote,
      offers: count + level.offers,
    });
  }
  const side = (act: string, sign: 1 | -1) =>
    [...byPrice.values()]
      .filter((level) => level.act === act)
      .sort((one, other) => (one.price < other.price ? -sign : sign));
  return {
    bid: best(bids, true),
    ask: best([...sells, ...asks], false),
    book: [...side("buy", -1), ...side("sell", 1)].map(
      ({ act, price, vol, quote, offers: count }) => ({
        ...{
          act,
          price: decimal(price),
          vol: decimal(vol),
          quote_vol: decimal(quote),
          offers: count,
        },
      }),
    ),
  };
}

async function seen(asOf = ""): Promise<Seen> {
  await reader.query("begin");
  await reader.query("select set_config('dex.as_of_block', $1, true)", [asOf]);
  const { rows } = await reader.query<Seen>(
    "select bid, ask from dex_market where pair = 'WETH/DAI'",
  );
  const { rows: book } = await reader.query<Seen["book"][number]>(
    "select * from dex_book('WETH', 'DAI', 100)",
  );
  await reader.query("rollback");
  return { ...rows[0]!, book };
}

const rowOf = ({ reserve0, reserve1, ...pool }: Pool) => ({
  ...pool,
  ...{ reserve0: decimal(reserve0), reserve1: decimal(reserve1) },
});

const writeBlock = (
  hour: number,
  { pools = [], offers = [] }: { pools?: Pool[]; offers?: OfferRow[] },
) =>
  database.writer.query("select ingest.write_block($1, $2, offers => $3, pools => $4)", [
    ...[blockAt(hour), hours(hour)],
    ...[
      JSON.stringify(offers.map((offer) => ({ ...offer, killed: undefined }))),
      JSON.stringify(pools.map(rowOf)),
    ],
  ]);

it("shows a pool as what it trades from its best price on", async () => {
  await registerMarkets(database.writer);
  // 10 WETH and 25,000 DAI: 2,500 with a fee of 0.3 % is a bid of 2,492.5, and an ask of 2,507.52…
  const pool = { ...POOLS[0]!, reserve0: units("25000"), reserve1: units("10") };
  await writeBlock(1, { pools: [pool] });
  const { bid, ask, book } = await seen();
  expect([bid, ask]).toEqual(["2492.500000000000000000", "2507.522567703109327984"]);
  expect(book).toHaveLength(20);
  expect(book[0]).toMatchObject({ act: "buy", price: "2487.515000000000000000", offers: 0 });
  // What all levels of a side have is what one swap of it gives.
  const sum = (act: string, of: "vol" | "quote_vol"): bigint =>
    book
      .filter((level) => level.act === act)
      .reduce((total, level) => total + units(level[of]), 0n);
  expect(sum("buy", "quote_vol")).toBe(
    getAmountOut(sum("buy", "vol"), pool.reserve1, pool.reserve0, 3000),
  );
  expect(sum("sell", "vol")).toBe(
    getAmountOut(sum("sell", "quote_vol"), pool.reserve0, pool.reserve1, 3000),
  );
});

it("is right to the unit also of the largest reserves that a pool can have", async () => {
  await registerMarkets(database.writer);
  // 78 digits in the smallest units.
  const pool = { ...POOLS[0]!, reserve0: 713_926n * 10n ** 71n + 19n, reserve1: 10n ** 76n + 3n };
  await writeBlock(1, { pools: [pool] });
  expect(await seen()).toEqual(expected([pool], []));
});

it("counts what a band takes and gives nothing for in the next one", async () => {
  await registerMarkets(database.writer);
  // 1 WETH and 500 of the smallest units of DAI: the first 0.1 % of them is no whole unit.
  const pool = { ...POOLS[0]!, reserve0: 500n, reserve1: units("1") };
  await writeBlock(1, { pools: [pool] });
  const { book } = await seen();
  expect(book).toEqual(expected([pool], []).book);
  const bids = book.filter(({ act }) => act === "buy");
  expect(bids.length).toBeLessThan(10);
  const sold = bids.reduce((sum, { vol }) => sum + units(vol), 0n);
  const paid = bids.reduce((sum, { quote_vol }) => sum + units(quote_vol), 0n);
  expect(getAmountOut(sold, pool.reserve1, pool.reserve0, 3000)).toBe(paid);
});

it("has no prices of a pool without one of its tokens, and none of other tokens", async () => {
  await registerMarkets(database.writer);
  await writeBlock(1, { pools: [{ ...POOLS[0]!, reserve0: 0n, reserve1: units("1") }] });
  await writeBlock(2, {
    pools: [{ ...POOLS[1]!, gem1: anAddress("other"), reserve0: 5n, reserve1: 5n }],
  });
  expect(await seen()).toEqual({ bid: null, ask: null, book: [] });
});

it("has no prices of a pool with less than the smallest unit of a token", async () => {
  await registerMarkets(database.writer);
  // DAI has 8 decimals here, and the pool 3 units of 10^-9 of it.
  await database.writer.query("select ingest.register_token($1, 'DAI', 8)", [DAI]);
  const pool = { ...POOLS[0]!, reserve0: 3_000_000_000n, reserve1: units("5") };
  await writeBlock(1, { pools: [pool] });
  expect(await seen()).toEqual({ bid: null, ask: null, book: [] });
  // With 9 decimals they are 3 units.
  await database.writer.query("select ingest.register_token($1, 'DAI', 9)", [DAI]);
  // 3 × 10^-9 × 0.997 ÷ 5, of WETH in DAI.
  expect((await seen()).bid).toBe("0.000000000598200000");
  await database.writer.query("select ingest.register_token($1, 'DAI', 8)", [DAI]);
  expect(await seen()).toEqual({ bid: null, ask: null, book: [] });
  const owner = await database.connect("dex_owner");
  expect(await verify(owner)).toEqual([]);
});

it("prices a pool with ranges by the decimals that a token is corrected to", async () => {
  await registerMarkets(database.writer);
  const { venue, gem0, gem1 } = POOLS[0]!;
  // A price of 1 of the smallest units: 2^96.
  const pool = {
    ...{ venue, gem0, gem1, fee: 0, tick_spacing: 60, tick: 0, liquidity: "1000000000000000000" },
    ...{ sqrt_price: String(2n ** 96n), nets: "-60:1000000000000000000 60:-1000000000000000000" },
  };
  await database.writer.query(
    "select ingest.write_block(1, $1, null, null, '[]', '[]', '{}', $2)",
    [hours(1), JSON.stringify([pool])],
  );
  const best = async (): Promise<unknown[]> => {
    const { bid, ask } = await seen();
    return [bid, ask];
  };
  expect(await best()).toEqual(["1.000000000000000000", "1.000000000000000000"]);
  // A unit of DAI is 10^-6, and of WETH 10^-18: one WETH is 10^18 units of either.
  await database.writer.query("select ingest.register_token($1, 'DAI', 6)", [DAI]);
  const corrected = Array<string>(2).fill("1000000000000.000000000000000000");
  expect(await best()).toEqual(corrected);
  const owner = await database.connect("dex_owner");
  expect(await verify(owner)).toEqual([]);
});

it("is right after every block of a random history, also when it is past, taken back, or of a later registration", async () => {
  let seed = 11;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  const owner = await database.connect("dex_owner");
  const right = new Map<number, Seen>();
  const current = new Map<string, Pool>();
  const asks: bigint[] = [];
  for (let hour = 1; hour <= 12; hour += 1) {
    const pools = POOLS.filter(() => random(3) > 0).map((pool): Pool => {
      const scale = random(4);
      const [base, quote] = [BigInt(1 + random(1_000_000)), BigInt(1 + random(1_000_000))].map(
        (amount) => (scale === 0 ? amount % 40n : amount * 10n ** BigInt(5 * scale)),
      ) as [bigint, bigint];
      return { ...pool, reserve0: base, reserve1: quote };
    });
    const offers =
      random(3) === 0 ? [anOffer({ hour, id: hour, base: "1", quote: String(1 + random(5)) })] : [];
    for (const pool of pools) current.set(pool.venue, pool);
    asks.push(...offers.map(({ bid_amt }) => units(bid_amt)));
    right.set(hour, expected([...current.values()], asks));
    if (hour < 9) await writeBlock(hour, { pools, offers });
    else {
      const client = await database.connect("dex_writer");
      await client.query("begin");
      for (const [table, rows] of [
        ["pool", pools.map(rowOf)],
        ["offer", offers.map((offer) => ({ line: 1, ...offer }))],
      ] as const) {
        for (const row of rows) {
          const given = { ...row, block: blockAt(hour), time: hours(hour) };
          const columns = Object.keys(given).join(", ");
          await client.query(
            `insert into ingest.staged_${table} (${columns}) select ${columns} from json_populate_record(null::ingest.staged_${table}, $1)`,
            [JSON.stringify(given)],
          );
        }
      }
      await client.query("insert into ingest.staged_block (number, time) values ($1, $2)", [
        blockAt(hour),
        hours(hour),
      ]);
      await client.query("select ingest.write_blocks()");
      await client.query("commit");
    }
    if (hour === 4) await registerMarkets(database.writer);
    if (hour >= 4) expect(await seen()).toEqual(right.get(hour));
  }
  expect(await verify(owner)).toEqual([]);
  for (const [hour, figures] of right) expect(await seen(String(blockAt(hour)))).toEqual(figures);
  for (const hour of [10, 7, 3]) {
    await database.writer.query("select ingest.take_back($1)", [blockAt(hour)]);
    expect(await seen()).toEqual(right.get(hour));
    expect(await verify(owner)).toEqual([]);
  }
  await owner.query("select ingest.rebuild()");
  expect(await seen()).toEqual(right.get(3));
  expect(await seen(String(blockAt(2)))).toEqual(right.get(2));
});

it.each([
  ["update dex_pool set market_id = null", /^dex_pool 0x/],
  ["update dex_pool set act = 'sell'", /^dex_pool 0x/],
  ["update dex_pool set block = block - 1", /^dex_pool 0x/],
  ["update dex_pool_state set reserve0 = 1.000000000000000000", /^dex_private.best_price /],
  ["update dex_pool_state set block = block + 1", /^dex_pool_state 0x/],
  ["update dex_private.market_figure set bid = 1", /^dex_private.market_figure /],
])("db:verify reports the row after: %s", async (damage, row) => {
  await registerMarkets(database.writer);
  await writeBlock(1, {
    pools: [{ ...POOLS[0]!, reserve0: units("25000"), reserve1: units("10") }],
  });
  const owner = await database.connect("dex_owner");
  expect(await verify(owner)).toEqual([]);
  await owner.query(damage);
  expect((await verify(owner)).map((difference) => difference.row)).toContainEqual(
    expect.stringMatching(row),
  );
});
