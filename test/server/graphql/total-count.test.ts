// totalCount of trades is SQL's count, for every shape of question and whatever a writer does.
import fc from "fast-check";
import { makePool } from "../../../db/connect.ts";
import { makeTestApp, type TestApp } from "../../app.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  insert,
  MKR,
  registerMarkets,
  WETH,
  type TradeRow,
} from "../../factories.ts";
import { ask, dataOf, type TradesPage } from "../../graphql.ts";
import { failStatements } from "../../statements.ts";

let database: TestDatabase;
let app: TestApp;
/** Asked more rarely: what it has kept is old. */
let idle: TestApp;

beforeAll(async () => {
  database = await makeDatabase();
  app = await makeTestApp(database.reader, { cache: "off" });
  idle = await makeTestApp(database.reader, { cache: "off" });
});
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});
afterAll(async () => {
  await app.close();
  await idle.close();
  await database.drop();
});

const SHRIMP = anAddress("a token of no market");
const taker = anAddress("taker 1");
const maker = anAddress("maker 1");

/** What clients ask, and the same in SQL. */
const SHAPES: [args: string, where: string][] = [
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
  [
    `filter: { or: [
      { lotGem: { equalTo: "${WETH}" }, bidGem: { equalTo: "${DAI}" } }
      { lotGem: { equalTo: "${DAI}" }, bidGem: { equalTo: "${WETH}" } }
    ] }`,
    `lot_gem = '${WETH}' and bid_gem = '${DAI}' or lot_gem = '${DAI}' and bid_gem = '${WETH}'`,
  ],
  [
    `condition: { market: "WETHDAI" }
    filter: { time: { greaterThanOrEqualTo: "${hours(2)}", lessThan: "${hours(4)}" } }`,
    `market = 'WETHDAI' and time >= '${hours(2)}' and time < '${hours(4)}'`,
  ],
  ['filter: { act: { equalTo: "sell" } }', "act = 'sell'"],
  ['filter: { price: { greaterThan: "3.5" } }', "price > 3.5"],
  ["filter: { market: { isNull: true } }", "market is null"],
  [
    'filter: { not: { market: { in: ["WETHDAI", "MKRWETH"] } } }',
    "not market in ('WETHDAI', 'MKRWETH')",
  ],
  ["condition: { offerId: 1 }", "offer_id = 1"],
  ['filter: { id: { lessThanOrEqualTo: "5" } }', "id <= 5"],
];

const ALL_SHAPES = `{ ${SHAPES.map(
  ([args], n) => `shape${n}: allDexTrades${args && `(${args})`} { totalCount }`,
).join("\n")} }`;

/** Asks every shape at once, and SQL for the same. */
async function expectAllRight(asked: TestApp): Promise<void> {
  const data = await dataOf<Record<string, TradesPage>>(asked, ALL_SHAPES);
  const { rows } = await database.owner.query<Record<string, number>>(
    `select ${SHAPES.map(
      ([, where], n) => `count(*) filter (where ${where})::integer as shape${n}`,
    ).join(", ")} from dex_trade`,
  );
  const answered = Object.fromEntries(
    Object.entries(data).map(([name, { totalCount }]) => [name, totalCount]),
  );
  expect(answered).toEqual(rows[0]);
}

/** Trades of every kind: two markets and none, both sides, three takers, two makers, hours 0 to 5. */
const trade = (n: number, columns: Partial<TradeRow> & { hour?: number } = {}): TradeRow =>
  aTrade({
    hour: n % 6,
    side: n % 2 === 0 ? "sell" : "buy",
    baseGem: [WETH, MKR, SHRIMP][n % 3] ?? WETH,
    quoteGem: n % 3 === 1 ? WETH : DAI,
    base: "2",
    quote: String(n + 1),
    taker: anAddress(`taker ${n % 4}`),
    maker: anAddress(`maker ${n % 2}`),
    offer_id: (n % 5) + 1,
    ...columns,
  });
const trades = (count: number): TradeRow[] => Array.from({ length: count }, (_, n) => trade(n));

async function registerShrimp(): Promise<void> {
  await insert(database.writer, "dex_token", [
    { address: SHRIMP, symbol: "SHRIMP", decimals: 18, name: "Shrimp" },
  ]);
  await insert(database.writer, "dex_pair", { base: "SHRIMP", quote: "DAI", active: true });
}

const takeBack = (hour: number) =>
  database.writer.query("select dex_private.take_back($1)", [blockAt(hour)]);

it("is right for every shape, of nothing and of something, asked twice", async () => {
  await expectAllRight(app);
  await insert(database.writer, "dex_trade", trades(30));
  await expectAllRight(app);
  await expectAllRight(app);
});

it.each<[string, () => Promise<unknown>]>([
  ["trades were added", () => insert(database.writer, "dex_trade", trades(7))],
  ["blocks were taken back", () => takeBack(3)],
  [
    "blocks were taken back and others came in their place",
    async () => {
      await takeBack(3);
      await insert(database.writer, "dex_trade", trades(40));
    },
  ],
  ["one trade was deleted", () => database.writer.query("delete from dex_trade where id = 4")],
  ["all trades were deleted", () => database.writer.query("delete from dex_trade")],
  ["a pair was registered after its trades", registerShrimp],
  ["a pair was removed", () => database.owner.query("delete from dex_pair where base = 'WETH'")],
  [
    "trades with older ids were added",
    async () => {
      // 101 to 103 come before 1,000, which a source gave.
      await insert(database.writer, "dex_trade", trade(1, { id: 1000 }));
      await expectAllRight(app);
      await insert(
        database.writer,
        "dex_trade",
        [101, 102, 103].map((id) => trade(id, { id })),
      );
    },
  ],
  [
    "a transaction did several of these",
    async () => {
      const client = await database.writer.connect();
      await client.query("begin");
      await insert(client, "dex_trade", trades(5));
      await client.query("select dex_private.take_back($1)", [blockAt(4)]);
      await insert(client, "dex_trade", trades(5));
      await client.query("commit");
      client.release();
    },
  ],
  [
    "a transaction was rolled back, and left a gap",
    async () => {
      const client = await database.writer.connect();
      await client.query("begin");
      await insert(client, "dex_trade", trades(5));
      await client.query("rollback");
      client.release();
      await insert(database.writer, "dex_trade", trades(3));
    },
  ],
])("is right after %s", async (_name, change) => {
  await insert(database.writer, "dex_trade", trades(30));
  await expectAllRight(app);
  await change();
  await expectAllRight(app);
  await insert(database.writer, "dex_trade", trades(3));
  await expectAllRight(app);
});

it("is right for one who has not asked for long", async () => {
  await insert(database.writer, "dex_trade", trades(30));
  await expectAllRight(idle);
  await insert(database.writer, "dex_trade", trades(10));
  await takeBack(2);
  await expectAllRight(app);
  await insert(database.writer, "dex_trade", trades(50));
  await expectAllRight(app);
  await expectAllRight(idle);
});

/** Asks every shape beside a page, and SQL for the same. */
async function expectSame(): Promise<void> {
  for (const [args, where] of SHAPES) {
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
  ["alone", expectAllRight],
  ["beside a page", expectSame],
])("is right %s where the newer ids are many and far apart", async (_where, expectRight) => {
  await insert(database.writer, "dex_trade", trades(30));
  await expectRight(app);
  // The 10,000th id behind what was counted, the one after it, and one far behind both.
  for (const ahead of [10_000, 10_001, 1_000_000]) {
    await database.writer.query(
      "select setval('dex_trade_id_seq', (select max(id) + $1 - 6 from dex_trade))",
      [ahead],
    );
    await insert(database.writer, "dex_trade", trades(6));
    await expectRight(app);
  }
});

it("is the same beside a page, for every shape", async () => {
  await insert(database.writer, "dex_trade", trades(30));
  await expectSame();
  await expectSame();
  await insert(database.writer, "dex_trade", trades(7));
  await expectSame();
  await takeBack(3);
  await expectSame();
  await registerShrimp();
  await expectSame();
  await expectAllRight(app);
});

it("takes the same question for the same, in a literal and in variables", async () => {
  await insert(database.writer, "dex_trade", trades(30));
  const query = `query ($condition: DexTradeCondition, $filter: DexTradeFilter) {
    allDexTrades(condition: $condition, filter: $filter) { totalCount }
  }`;
  const countOf = async (variables: Record<string, unknown>): Promise<number> =>
    (await dataOf(app, query, variables)).allDexTrades.totalCount;
  // Of 30 trades every third is in WETHDAI, and of these every fourth is taker 1's.
  const counts = async (): Promise<number[]> => [
    await countOf({}),
    await countOf({ condition: null }),
    await countOf({ condition: { market: "WETHDAI" } }),
    await countOf({ condition: { market: "WETHDAI" }, filter: { taker: { equalTo: taker } } }),
    await countOf({ condition: { taker, market: "WETHDAI" } }),
  ];
  expect(await counts()).toEqual([30, 30, 10, 2, 2]);
  await insert(database.writer, "dex_trade", trades(12));
  expect(await counts()).toEqual([42, 42, 14, 3, 3]);
});

it("does not depend on the page", async () => {
  await insert(database.writer, "dex_trade", trades(30));
  for (const page of ["first: 3", "last: 2", "offset: 29", "first: 0", "orderBy: [TIME_DESC]"]) {
    const { allDexTrades } = await dataOf(
      app,
      `{ allDexTrades(${page}, condition: { market: "WETHDAI" }) { totalCount } }`,
    );
    expect(allDexTrades.totalCount).toBe(10);
  }
});

it("counts an offer's trades, alone and in a list", async () => {
  await insert(database.writer, "dex_offer", [anOffer({ id: 1 }), anOffer({ id: 2 })]);
  const query = `{
    dexOffer(id: 1) { trades { totalCount } }
    allDexOffers(orderBy: ID_ASC) {
      totalCount
      nodes { id trades { totalCount } sold: trades(condition: { act: "sell" }) { totalCount } }
    }
    allDexTrades { totalCount }
  }`;
  const expectRight = async (all: number): Promise<void> => {
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
  await insert(database.writer, "dex_trade", trades(30));
  await expectRight(30);
  await insert(database.writer, "dex_trade", trades(9));
  await expectRight(39);
  await database.writer.query("delete from dex_trade where id > 20");
  await expectRight(20);
});

it("is refused with the arguments that are wrong", async () => {
  const { errors } = await ask(app, "{ allDexTrades(first: -1) { totalCount } }");
  expect(errors?.[0]?.message).toContain('Argument "first"');
});

describe("a count that PostgreSQL ends", () => {
  it.each([
    ["alone", "{ allDexTrades { totalCount } }"],
    ["beside a page", "{ allDexTrades(first: 1) { totalCount nodes { id } } }"],
    [
      "beside another list",
      "{ allDexTrades(first: 1) { totalCount nodes { id } } dexHead { block } }",
    ],
  ])("is told as such %s", async (_where, query) => {
    await insert(database.writer, "dex_trade", trades(3));
    const pool = makePool(database.url, { role: "dex_reader" });
    failStatements(pool, "count(*)", { code: "57014", message: "canceling statement" });
    const failing = await makeTestApp(pool, { cache: "off" });
    try {
      const { errors } = await ask(failing, query);

      expect(errors).toEqual([
        expect.objectContaining({
          message: "The database took too long to answer this",
          path: ["allDexTrades", "totalCount"],
          extensions: { code: "TIMEOUT" },
        }),
      ]);
    } finally {
      await failing.close();
      await pool.end();
    }
  });
});

type Act =
  | { do: "ask" | "ask the idle" | "register" | "remove" }
  | { do: "add"; trades: number[] }
  | { do: "add with id"; id: number; n: number }
  | { do: "delete"; id: number }
  | { do: "take back"; hour: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.constantFrom<Act>({ do: "ask" }, { do: "ask" }, { do: "ask the idle" }),
  fc.constantFrom<Act>({ do: "register" }, { do: "remove" }),
  fc.record({
    do: fc.constant("add" as const),
    trades: fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 8 }),
  }),
  fc.record({
    do: fc.constant("add with id" as const),
    id: fc.integer({ min: 1, max: 60 }),
    n: fc.nat({ max: 60 }),
  }),
  fc.record({ do: fc.constant("delete" as const), id: fc.integer({ min: 1, max: 60 }) }),
  fc.record({ do: fc.constant("take back" as const), hour: fc.nat({ max: 5 }) }),
);

async function perform(step: Act): Promise<void> {
  const { writer, owner } = database;
  if (step.do === "ask") await expectAllRight(app);
  if (step.do === "ask the idle") await expectAllRight(idle);
  if (step.do === "add") {
    // After ids that were given, the series goes on behind them.
    await writer.query(
      "select setval('dex_trade_id_seq', greatest((select max(id) from dex_trade), 1))",
    );
    await insert(
      writer,
      "dex_trade",
      step.trades.map((n) => trade(n)),
    );
  }
  if (step.do === "add with id") {
    await writer.query("delete from dex_trade where id = $1", [step.id]);
    await insert(writer, "dex_trade", trade(step.n, { id: step.id }));
  }
  if (step.do === "delete") await writer.query("delete from dex_trade where id = $1", [step.id]);
  if (step.do === "take back") await takeBack(step.hour);
  if (step.do === "remove") await owner.query("delete from dex_pair where base = 'SHRIMP'");
  if (step.do === "register") {
    await writer.query(
      `insert into dex_token (address, symbol, decimals, name)
      values ($1, 'SHRIMP', 18, 'Shrimp')
      on conflict do nothing`,
      [SHRIMP],
    );
    await writer.query(
      `insert into dex_pair (base, quote, active)
      select 'SHRIMP', 'DAI', true
      where not exists (select from dex_pair where base = 'SHRIMP')`,
    );
  }
}

it("is right all along random histories", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 25 }), async (steps) => {
      await database.empty();
      await registerMarkets(database.writer);
      for (const step of steps) await perform(step);
      await expectAllRight(app);
      await expectAllRight(idle);
    }),
    { numRuns: 20 },
  );
});
