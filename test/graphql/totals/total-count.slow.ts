// totalCount of trades equals SQL's count(*), for every kind of filter and after every kind of write.
import fc from "fast-check";
import type { Database } from "../../../db/connect.ts";
import { makeTestApp, type TestApp } from "../../app.ts";
import { openPool } from "../../database.ts";
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
  type TradeRow,
} from "../../factories.ts";
import { ask, dataOf, type TradesPage } from "../../graphql.ts";
import { useApp, useDatabase } from "../../served.ts";
import { failStatements } from "../../statements.ts";

const database = useDatabase();

const app = useApp(database, { cache: "off" });
/** Gets fewer requests than `app`: its cached counts are older. */
const idle = useApp(database, { cache: "off" });
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

const SHRIMP = anAddress("a token of no market");
const taker = anAddress("taker 1");
const maker = anAddress("maker 1");
const pool = anAddress("a pool");

const eitherWayFilter = (one: string, other: string): string => `or: [
  { lotGem: { equalTo: "${one}" }, bidGem: { equalTo: "${other}" } }
  { lotGem: { equalTo: "${other}" }, bidGem: { equalTo: "${one}" } }
]`;
const eitherWay = (one: string, other: string): [args: string, where: string] => [
  `filter: { ${eitherWayFilter(one, other)} }`,
  `lot_gem = '${one}' and bid_gem = '${other}' or lot_gem = '${other}' and bid_gem = '${one}'`,
];

/** Arguments, and the same condition in SQL. */
const CASES: [args: string, where: string][] = [
  ["", "true"],
  ["condition: {}", "true"],
  ['condition: { market: "WETHDAI" }', "market = 'WETHDAI'"],
  ['condition: { market: "SHRIMPDAI" }', "market = 'SHRIMPDAI'"],
  ["condition: { market: null }", "market is null"],
  [`condition: { taker: "${taker}" }`, `taker = '${taker}'`],
  [`condition: { maker: "${maker}" }`, `maker = '${maker}'`],
  [
    `condition: { market: "WETHDAI", taker: "${taker}" }`,
    `market = 'WETHDAI' and taker = '${taker}'`,
  ],
  eitherWay(WETH, DAI),
  eitherWay(DAI, WETH),
  eitherWay(SHRIMP, DAI),
  eitherWay(WETH, WETH),
  // The interface finds an address as it is spelled.
  eitherWay(WETH.toUpperCase(), DAI),
  [
    `filter: { ${eitherWayFilter(WETH, DAI)}, act: { equalTo: "sell" } }`,
    "'{WETH,DAI}' @> array[lot_tkn, bid_tkn] and act = 'sell'",
  ],
  [
    `condition: { taker: "${taker}" }, filter: { ${eitherWayFilter(WETH, DAI)} }`,
    `'{WETH,DAI}' @> array[lot_tkn, bid_tkn] and taker = '${taker}'`,
  ],
  [
    `condition: { market: "WETHDAI" }
    filter: { time: { greaterThanOrEqualTo: "${hours(2)}", lessThan: "${hours(4)}" } }`,
    `market = 'WETHDAI' and time >= '${hours(2)}' and time < '${hours(4)}'`,
  ],
  ['filter: { act: { equalTo: "sell" } }', "act = 'sell'"],
  ['filter: { price: { greaterThan: "3.5" } }', "price > 3.5"],
  ["filter: { venue: { isNull: true } }", "venue is null"],
  [
    'filter: { not: { market: { in: ["WETHDAI", "MKRWETH"] } } }',
    "not market in ('WETHDAI', 'MKRWETH')",
  ],
  ["condition: { offerId: 1 }", "offer_id = 1"],
  ["condition: { offerId: null }", "offer_id is null"],
  ['filter: { id: { lessThanOrEqualTo: "5" } }', "id <= 5"],
];

const ALL_CASES = `{ ${CASES.map(
  ([args], n) => `case${n}: allDexTrades${args && `(${args})`} { totalCount }`,
).join("\n")} }`;

/** Compares the totals of all cases with SQL's, in one query. */
async function expectAllCorrect(service: TestApp): Promise<void> {
  const data = await dataOf<Record<string, TradesPage>>(service, ALL_CASES);
  const { rows } = await database.owner.query<Record<string, number>>(
    `select ${CASES.map(
      ([, where], n) => `count(*) filter (where ${where})::integer as case${n}`,
    ).join(", ")} from dex_trade`,
  );
  const answered = Object.fromEntries(
    Object.entries(data).map(([name, { totalCount }]) => [name, totalCount]),
  );
  expect(answered).toEqual(rows[0]);
}

/** Trades of two markets and of no market, both sides, four takers and two makers. */
const trade = (n: number, hour: number, id?: number): TradeRow =>
  aTrade({
    hour,
    ...(id !== undefined && { id }),
    side: n % 2 === 0 ? "sell" : "buy",
    baseGem: [WETH, MKR, SHRIMP][n % 3] ?? WETH,
    quoteGem: n % 3 === 1 ? WETH : DAI,
    base: "2",
    quote: String(n + 1),
    taker: anAddress(`taker ${n % 4}`),
    maker: anAddress(`maker ${n % 2}`),
    ...(n % 7 === 6 ? { offer_id: null, venue: pool } : { offer_id: (n % 6) + 1 }),
  });

/** The hour after the head, 0 without a head. */
async function nextHour(db: Database): Promise<number> {
  const { rows } = await db.query<{ hour: number }>(
    "select coalesce((select block / 3600 + 1 from dex_head), 0) as hour",
  );
  return rows[0]!.hour;
}

/** Writes trades of every kind in the six hours after the head. */
async function add(count: number, db: Database = database.writer): Promise<void> {
  const from = await nextHour(db);
  const trades = Array.from({ length: count }, (_, n) => trade(n, from + (n % 6)));
  await write(db, { trades });
}

/** Writes one block of trades whose ids exceed the highest id ever used by `ahead`. */
async function addAhead(...ahead: number[]): Promise<void> {
  const { rows } = await database.writer.query<{ last: string }>(
    "select last_trade as last from dex_private.write_state",
  );
  const hour = await nextHour(database.writer);
  const trades = ahead.map((by, n) => trade(n, hour, Number(rows[0]!.last) + by));
  await write(database.writer, { trades });
}

const registerShrimp = async (symbol = "SHRIMP"): Promise<void> => {
  await registerTokens(database.writer, { address: SHRIMP, symbol });
  await registerPair(database.writer, SHRIMP, DAI);
};

/** Removes the blocks after that hour. */
const takeBack = (hour: number, db: Database = database.writer) =>
  db.query("select ingest.take_back(least($1, block)) from dex_head", [blockAt(hour)]);

it("is correct for every case, with and without trades, also from the cache", async () => {
  await expectAllCorrect(app);
  await add(30);
  await expectAllCorrect(app);
  await expectAllCorrect(app);
});

it.each<[string, () => Promise<unknown>]>([
  ["trades were added", () => add(7)],
  ["a block without trades was added", async () => write(database.writer, { head: 7 })],
  ["blocks were removed", () => takeBack(3)],
  [
    "blocks were replaced",
    async () => {
      await takeBack(3);
      await add(40);
    },
  ],
  [
    "blocks were removed twice",
    async () => {
      await takeBack(4);
      await add(6);
      await expectAllCorrect(app);
      await takeBack(2);
      await add(2);
    },
  ],
  ["the newest block was removed and written again", () => takeBack(4).then(() => add(5))],
  ["all blocks but the first were removed", () => takeBack(0)],
  ["a pair was registered after its trades", () => registerShrimp()],
  ["a pair was registered in the other direction", () => registerPair(database.writer, DAI, WETH)],
  ["a token was renamed", () => registerTokens(database.writer, { address: MKR, symbol: "MAKER" })],
  [
    "a transaction added and removed blocks",
    async () => {
      const client = await database.writer.connect();
      await client.query("begin");
      await add(5, client);
      await takeBack(4, client);
      await add(5, client);
      await client.query("commit");
      client.release();
    },
  ],
  [
    "a transaction was rolled back",
    async () => {
      const client = await database.writer.connect();
      await client.query("begin");
      await add(5, client);
      await client.query("rollback");
      client.release();
      await add(3);
    },
  ],
  ["the derived tables were rebuilt", () => database.owner.query("select ingest.rebuild()")],
])("is correct after %s", async (_name, change) => {
  await add(30);
  await expectAllCorrect(app);
  await change();
  await expectAllCorrect(app);
  await add(3);
  await expectAllCorrect(app);
});

it("is correct for a service with an old cache", async () => {
  await add(30);
  await expectAllCorrect(idle);
  await add(10);
  await takeBack(2);
  await expectAllCorrect(app);
  await add(50);
  await expectAllCorrect(app);
  await expectAllCorrect(idle);
});

/** Compares the total of each case beside a page with SQL's. */
async function expectCorrectBesidePage(): Promise<void> {
  for (const [args, where] of CASES) {
    const { allDexTrades } = await dataOf(
      app,
      `{ allDexTrades(${args} first: 1) { nodes { id } totalCount } }`,
    );
    const { rows } = await database.owner.query<{ count: number }>(
      `select count(*)::integer as count from dex_trade where ${where}`,
    );
    expect([args, allDexTrades.totalCount]).toEqual([args, rows[0]?.count]);
  }
}

it.each([
  ["alone", expectAllCorrect],
  ["beside a page", expectCorrectBesidePage],
])(
  "is correct %s with gaps between ids, also after blocks were removed",
  async (_where, expectCorrect) => {
    await add(30);
    await expectCorrect(app);
    for (const ahead of [1, 9_999, 10_000, 10_001, 25_000, 1_000_000]) {
      await addAhead(ahead, ahead + 1);
      await expectCorrect(app);
    }
    // Each removal starts at a block with two trades.
    for (const depth of [1, 2, 4]) {
      const { rows } = await database.writer.query<{ number: number }>(
        "select number from dex_block order by number desc limit 1 offset $1",
        [depth],
      );
      await database.writer.query("select ingest.take_back($1)", [rows[0]!.number]);
      if (depth !== 2) await addAhead(1);
      await expectCorrect(app);
      await addAhead(2, 10_000);
      await expectCorrect(app);
    }
  },
);

it("is correct beside a page for every case", async () => {
  await add(30);
  await expectCorrectBesidePage();
  await expectCorrectBesidePage();
  await add(7);
  await expectCorrectBesidePage();
  await takeBack(3);
  await expectCorrectBesidePage();
  await registerShrimp();
  await expectCorrectBesidePage();
  await expectAllCorrect(app);
});

it("is correct with literals and with variables", async () => {
  await add(30);
  const query = `query ($condition: DexTradeCondition, $filter: DexTradeFilter) {
    allDexTrades(condition: $condition, filter: $filter) { totalCount }
  }`;
  const countOf = async (variables: Record<string, unknown>): Promise<number> =>
    (await dataOf(app, query, variables)).allDexTrades.totalCount;
  // Every third of the 30 trades is in WETHDAI, and every fourth of these is of taker 1.
  const counts = async (): Promise<number[]> => [
    await countOf({}),
    await countOf({ condition: null }),
    await countOf({ condition: { market: "WETHDAI" } }),
    await countOf({ condition: { market: "WETHDAI" }, filter: { taker: { equalTo: taker } } }),
    await countOf({ condition: { taker, market: "WETHDAI" } }),
  ];
  expect(await counts()).toEqual([30, 30, 10, 2, 2]);
  await add(12);
  expect(await counts()).toEqual([42, 42, 14, 3, 3]);
});

it.each([
  ["all trades", "", 12],
  // Every third trade, n = 0, 3, 6 and 9, is of WETH and DAI.
  ["a market", 'condition: { market: "WETHDAI" }', 4],
  ["a market's tokens, either way", eitherWay(DAI, WETH)[0], 4],
])("takes the first count of %s from what the database keeps", async (_, args, total) => {
  await add(12);
  // Nothing writes so: it shows that the trade is not read.
  await database.owner.query("delete from dex_trade where market = 'WETHDAI' and id < 5");
  await using service = await makeTestApp(database.reader, { cache: "off" });
  const query = `{ allDexTrades(first: 1${args && `, ${args}`}) { totalCount nodes { id } } }`;
  const { allDexTrades } = await dataOf<{ allDexTrades: TradesPage }>(service, query);

  expect(allDexTrades.totalCount).toBe(total);
});

it("does not depend on the paging arguments", async () => {
  await add(30);
  for (const page of ["first: 3", "last: 2", "offset: 29", "first: 0", "orderBy: [TIME_DESC]"]) {
    const { allDexTrades } = await dataOf(
      app,
      `{ allDexTrades(${page}, condition: { market: "WETHDAI" }) { totalCount } }`,
    );
    expect(allDexTrades.totalCount).toBe(10);
  }
});

it("counts an offer's trades, alone and in a list", async () => {
  const offers = [0, 1].map((n) => {
    const { pair, lot_gem, bid_gem, maker: by } = trade(n, 0);
    return anOffer({ id: n + 1, pair, lot_gem, bid_gem, maker: by });
  });
  await write(database.writer, { offers });
  const query = `{
    dexOffer(id: 1) { trades { totalCount } }
    allDexOffers(orderBy: ID_ASC) {
      totalCount
      nodes { id trades { totalCount } sold: trades(condition: { act: "sell" }) { totalCount } }
    }
    allDexTrades { totalCount }
  }`;
  const expectTotals = async (all: number): Promise<void> => {
    const { rows } = await database.owner.query<{ id: number; all: number; sold: number }>(
      `select
        id,
        (select count(*)::integer from dex_trade where offer_id = offer.id) as "all",
        (select count(*)::integer from dex_trade where offer_id = offer.id and act = 'sell') as sold
      from dex_offer as offer
      order by id`,
    );
    expect(await dataOf(app, query)).toEqual({
      dexOffer: { trades: { totalCount: rows[0]?.all } },
      allDexOffers: {
        totalCount: 2,
        nodes: rows.map((row) => ({
          id: row.id,
          trades: { totalCount: row.all },
          sold: { totalCount: row.sold },
        })),
      },
      allDexTrades: { totalCount: all },
    });
  };
  await add(30);
  await expectTotals(30);
  await add(9);
  await expectTotals(39);
  // The hours 1 to 6 have five trades each.
  await takeBack(4);
  await expectTotals(20);
});

it("is an error with invalid arguments", async () => {
  const { errors } = await ask(app, "{ allDexTrades(first: -1) { totalCount } }");
  expect(errors?.[0]?.message).toContain('Argument "first"');
});

describe("a count that PostgreSQL cancels", () => {
  it.each([
    ["alone", "{ allDexTrades { totalCount } }"],
    ["beside a page", "{ allDexTrades(first: 1) { totalCount nodes { id } } }"],
    [
      "beside another list",
      "{ allDexTrades(first: 1) { totalCount nodes { id } } dexHead { block } }",
    ],
  ])("is a timeout error %s", async (_where, query) => {
    await add(3);
    await using pool = openPool(database.url, { role: "dex_reader" });
    failStatements(pool, "count(*)", { code: "57014", message: "canceling statement" });
    await using failing = await makeTestApp(pool, { cache: "off" });
    const { errors } = await ask(failing, query);

    expect(errors).toEqual([
      expect.objectContaining({
        message: "The database took too long to answer this",
        path: ["allDexTrades", "totalCount"],
        extensions: { code: "TIMEOUT", retryAfter: 5 },
      }),
    ]);
  });
});

type Action =
  | { do: "query" | "query idle" | "register" | "rename" | "reverse pair" }
  | { do: "add"; trades: number[] }
  | { do: "add ahead"; ahead: number }
  | { do: "take back"; hours: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.constantFrom<Action>({ do: "query" }, { do: "query" }, { do: "query idle" }),
  fc.constantFrom<Action>({ do: "register" }, { do: "rename" }, { do: "reverse pair" }),
  fc.record({
    do: fc.constant("add" as const),
    trades: fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 8 }),
  }),
  fc.record({
    do: fc.constant("add ahead" as const),
    ahead: fc.constantFrom(1, 5, 9_999, 10_000, 12_345, 100_000),
  }),
  fc.record({ do: fc.constant("take back" as const), hours: fc.nat({ max: 8 }) }),
);

async function perform(step: Action): Promise<void> {
  const { writer } = database;
  if (step.do === "query") await expectAllCorrect(app);
  if (step.do === "query idle") await expectAllCorrect(idle);
  if (step.do === "add") {
    const from = await nextHour(writer);
    await write(writer, { trades: step.trades.map((n) => trade(n, from + (n % 3))) });
  }
  if (step.do === "add ahead") await addAhead(step.ahead);
  if (step.do === "take back") {
    await takeBack(Math.max(0, (await nextHour(writer)) - 1 - step.hours));
  }
  if (step.do === "register") await registerShrimp();
  if (step.do === "rename") await registerTokens(writer, { address: MKR, symbol: "MAKER" });
  if (step.do === "reverse pair") await registerPair(writer, DAI, WETH);
}

it("is correct during random histories", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (steps) => {
      await database.empty();
      await registerMarkets(database.writer);
      for (const step of steps) await perform(step);
      await expectAllCorrect(app);
      await expectAllCorrect(idle);
    }),
    { numRuns: 20 },
  );
});
