// With 200,000 trades, the statements that the service sends use an index and read about a page of rows,
// not the whole history.
import { Fence } from "../db/fence.ts";
import { makeTestApp, type TestApp } from "./app.ts";
import { makeDatabase, type TestDatabase } from "./database.ts";
import { explain, rowsRead, type Explained, type Statement } from "./explain.ts";
import { aTrade, DAI, registerMarkets, WETH, write } from "./factories.ts";
import { dataOf, type TradesPage } from "./graphql.ts";

const TRADES = 200_000;
const OFFERS = TRADES / 4;
const PAGE = 100;

let database: TestDatabase;
let app: TestApp;
const sent: Statement[] = [];

// A third of the trades are in WETHDAI, the others in 20 unregistered pairs. Blocks of 12 seconds have
// three trades each, of 500 takers and 100 makers. An offer has four trades.
const FILL = `
  insert into dex_block (number, time, first_trade, has_rows, digest)
  select
    block,
    timestamptz '2026-01-01 00:00:00+00' + block * interval '12 seconds',
    greatest(3 * block, 1),
    true,
    -- No plan reads it, and to make the right ones would take longer than all other rows.
    sha256(int4send(block))
  from generate_series(0, ${TRADES} / 3) as block;

  create temporary view made as
  select
    n,
    case when n % 3 = 0 then pair.id end as market_id,
    case when n % 3 = 0 then pair.market end as market,
    case when n % 3 > 0 then null when n % 2 = 0 then 'sell' else 'buy' end as act,
    '0x' || lpad(to_hex(n % 42), 64, '0') as pair,
    '0x' || lpad(to_hex(n * 7919 % 100), 40, '0') as maker,
    '0x' || lpad(to_hex(n * 104729 % 500), 40, '0') as taker,
    case when n % 3 > 0 then '0x' || lpad(to_hex(n % 20), 40, '0')
      when n % 2 = 0 then pair.base_gem else pair.quote_gem end as lot_gem,
    case when n % 3 > 0 then null when n % 2 = 0 then 'WETH' else 'DAI' end as lot_tkn,
    round((1 + n % 10)::numeric, 18) as lot_amt,
    case when n % 3 > 0 then '0x' || lpad(to_hex(20 + n % 20), 40, '0')
      when n % 2 = 0 then pair.quote_gem else pair.base_gem end as bid_gem,
    case when n % 3 > 0 then null when n % 2 = 0 then 'DAI' else 'WETH' end as bid_tkn,
    round((100 + n % 7)::numeric, 18) as bid_amt,
    '0x' || lpad(to_hex(n), 64, '0') as tx
  from generate_series(1, ${TRADES}::bigint) as n
  join dex_pair as pair on pair.market = 'WETHDAI';

  insert into dex_offer (
    id, block, market_id, market, act, pair, maker, lot_gem, lot_tkn, lot_amt,
    bid_gem, bid_tkn, bid_amt, price, time, tx
  )
  select
    n, block.number, market_id, market, act, pair, maker, lot_gem, lot_tkn, 100 * lot_amt,
    bid_gem, bid_tkn, 100 * bid_amt, dex_private.price_of(act, lot_amt, bid_amt), block.time, tx
  from made
  join dex_block as block on block.number = n * 4 / 3
  where n < ${OFFERS};

  insert into dex_trade (
    id, offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
    bid_gem, bid_tkn, bid_amt, price, block, time, tx, idx
  )
  select
    n, n / 4, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
    bid_gem, bid_tkn, bid_amt, dex_private.price_of(act, lot_amt, bid_amt), block.number, block.time,
    tx, n % 3
  from made
  join dex_block as block on block.number = n / 3
  order by n;

  select ingest.rebuild();
`;

/** What is done before the tests of a state, on the data that the state before has left. */
const STATES = {
  "never analyzed": [],
  // The visibility map is set, so that PostgreSQL can use index-only scans.
  analyzed: ["vacuum analyze"],
};
const NEVER_ANALYZED = ["dex_block", "dex_offer", "dex_trade"]
  .map((table) => `alter table ${table} set (autovacuum_enabled = false)`)
  .join(";\n");

/** Explains the one statement that `act` sends for the table. */
async function explained(act: () => Promise<unknown>, table = "dex_trade"): Promise<Explained> {
  sent.length = 0;
  await act();
  const reading = sent.filter(({ text }) => new RegExp(`\\b${table}\\b`).test(text));
  expect(reading).toHaveLength(1);
  return explain(database.reader, reading[0]!, table);
}

const pageOf = (args: string): Promise<Explained> =>
  explained(() => dataOf(app, `{ allDexTrades(first: ${PAGE}${args}) { nodes { id price tx } } }`));

/** Explains the statements of a page, and those that say whether rows come before and after it. */
async function besidePage(args: string, fields: string): Promise<Explained[]> {
  sent.length = 0;
  await dataOf(app, `{ allDexTrades(${args}) { nodes { id } pageInfo { ${fields} } } }`);
  const reading = sent.filter(({ text }) => /\bdex_trade\b/.test(text));
  expect(reading).toHaveLength(1 + fields.split(" ").length);
  return Promise.all(reading.map((one) => explain(database.reader, one, "dex_trade")));
}

/** The plan reads the page and at most as many rows beside it, by an index. */
function expectPageOnly({ rowsRead, wholeTable, indexes }: Explained): void {
  expect(indexes).not.toHaveLength(0);
  expect(wholeTable).toBe(false);
  expect(rowsRead).toBeLessThanOrEqual(2 * PAGE);
}

const address = (n: number): string => `0x${n.toString(16).padStart(40, "0")}`;
const taker = address(7);

beforeAll(async () => {
  database = await makeDatabase();
  await registerMarkets(database.writer);
  const owner = await database.owner.connect();
  await owner.query(NEVER_ANALYZED);
  await owner.query(FILL);
  // An analyze fails beside a session whose end drops its view.
  await owner.query("discard temp");
  owner.release(true);
  database.reader.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const recording = (...args: unknown[]): unknown => {
      const [first, values] = args;
      if (typeof first === "string") sent.push({ text: first, values: values as unknown[] });
      else if (typeof first === "object" && first !== null) sent.push(first as Statement);
      return query(...args);
    };
    client.query = recording as typeof client.query;
  });
  // One for all states: it plans each document once, and PostgreSQL plans each statement anew.
  app = await makeTestApp(database.reader, { cache: "off" });
  await dataOf(app, "{ __typename }");
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

describe.each(Object.entries(STATES))("%s", (_state, statements) => {
  beforeAll(async () => {
    for (const statement of statements) await database.owner.query(statement);
  });

  it("what every service asks of its server twice a second reads no trade and few blocks", async () => {
    sent.length = 0;
    await new Fence({ info: () => undefined, warn: () => undefined }).check(database.reader);
    const asked = sent.find(({ text }) => text.includes("final_block"))!;
    for (const table of ["dex_trade", "dex_block"]) {
      const { rowsRead, wholeTable } = await explain(database.reader, asked, table);
      expect(wholeTable).toBe(false);
      expect(rowsRead).toBeLessThan(10);
    }
  });

  it.each([
    ["the newest trades", ", orderBy: BLOCK_DESC"],
    ["the newest trades by time", ", orderBy: [TIME_DESC, IDX_DESC]"],
    ["the newest trades by id", ", orderBy: PRIMARY_KEY_DESC"],
    ["a page by market", ', condition: { market: "WETHDAI" }, orderBy: BLOCK_DESC'],
    ["a page by market ordered by time", ', condition: { market: "WETHDAI" }, orderBy: TIME_DESC'],
    [
      "a page by market and taker",
      `, condition: { market: "WETHDAI", taker: "${taker}" }, orderBy: BLOCK_DESC`,
    ],
    ["a page by taker", `, condition: { taker: "${taker}" }, orderBy: BLOCK_DESC`],
    ["a page by maker", `, condition: { maker: "${taker}" }, orderBy: BLOCK_DESC`],
    ["a page by maker ordered by time", `, condition: { maker: "${taker}" }, orderBy: TIME_ASC`],
    ["a page by offer", ", condition: { offerId: 7 }, orderBy: BLOCK_DESC"],
    ["a filter by market", ', filter: { market: { equalTo: "WETHDAI" } }, orderBy: BLOCK_DESC'],
  ])("%s reads only the page", async (_name, args) => {
    expectPageOnly(await pageOf(args));
  });

  it("the page of an account reads a page of its trades, and none of its offers twice", async () => {
    const page = () => app.request.get(`/accounts/${taker}`).accept("text/html").expect(200);
    expectPageOnly(await explained(page));
    // The maker's 500 offers, of which each list finds its page.
    for (const statement of sent.filter(({ text }) => text.includes("dex_offer"))) {
      const { rowsRead, wholeTable } = await explain(database.reader, statement, "dex_offer");
      expect(wholeTable).toBe(false);
      expect(rowsRead).toBeLessThanOrEqual(OFFERS / 100 + PAGE);
    }
  });

  const SERVED = [
    ...["ID", "BLOCK", "TIME", "OFFER_ID", "MARKET", "MAKER", "TAKER"],
    ...["TIME IDX", "BLOCK IDX", "MARKET BLOCK", "MAKER BLOCK", "TAKER BLOCK", "OFFER_ID BLOCK"],
    ...["MARKET TIME", "MAKER TIME", "TAKER TIME", "OFFER_ID TIME"],
  ];

  it.each(SERVED.flatMap((columns) => [`${columns}|ASC`, `${columns}|DESC`]))(
    "the order %s reads only the page from an index, at the start and after a cursor",
    async (served) => {
      const [columns, direction] = served.split("|");
      const order = columns!.split(" ").map((column) => `${column}_${direction!}`);
      const orderBy = `, orderBy: [${order.join(", ")}]`;
      expectPageOnly(await pageOf(orderBy));
      // The cursor of the row in the middle of the set.
      const { allDexTrades } = await dataOf(
        app,
        `{ allDexTrades(first: 1, offset: ${TRADES / 2}${orderBy}) { pageInfo { endCursor } } }`,
      );
      const cursor = allDexTrades.pageInfo.endCursor!;
      expectPageOnly(await pageOf(`${orderBy}, after: "${cursor}"`));
      const [before, after] = [
        await besidePage(`first: 1, after: "${cursor}"${orderBy}`, "hasPreviousPage"),
        await besidePage(`last: 1, before: "${cursor}"${orderBy}`, "hasNextPage"),
      ];
      for (const one of [...before, ...after]) {
        expectPageOnly(one);
        expect(one.rowsRead).toBeLessThanOrEqual(3);
      }
    },
  );

  it.each(["ID", "MARKET", "TAKER"])(
    "a page between cursors of %s, of a filter that no index serves, reads no row twice to say what is beside it",
    async (column) => {
      const orderBy = `orderBy: ${column}_ASC`;
      // Other tests add some.
      const counted = await dataOf(app, "{ allDexTrades { totalCount } }");
      const all = counted.allDexTrades.totalCount;
      const cursorAt = async (offset: number): Promise<string> => {
        const query = `{ allDexTrades(first: 1, offset: ${offset}, ${orderBy}) { pageInfo { endCursor } } }`;
        return (await dataOf(app, query)).allDexTrades.pageInfo.endCursor!;
      };
      for (const [from, to] of [
        [10, TRADES - 10],
        [TRADES / 4, TRADES / 2],
      ] as const) {
        const [after, before] = [await cursorAt(from), await cursorAt(to)];
        const bounds = `after: "${after}", before: "${before}", ${orderBy}`;
        for (const filter of ["idx: { greaterThan: 2 }", 'lotAmt: { equalTo: "3.5" }']) {
          const args = `first: 1, ${bounds}, filter: { ${filter} }`;
          const read = await besidePage(args, "hasPreviousPage hasNextPage");
          expect(read.reduce((sum, one) => sum + one.rowsRead, 0)).toBeLessThanOrEqual(all);
        }
      }
    },
  );

  const TOKENS_EITHER_WAY = `or: [
  { lotGem: { equalTo: "${WETH}" }, bidGem: { equalTo: "${DAI}" } }
  { lotGem: { equalTo: "${DAI}" }, bidGem: { equalTo: "${WETH}" } }
]`;
  /** An unregistered pair with one trade in 30. */
  const RARE_EITHER_WAY = `or: [
  { lotGem: { equalTo: "${address(7)}" }, bidGem: { equalTo: "${address(27)}" } }
  { lotGem: { equalTo: "${address(27)}" }, bidGem: { equalTo: "${address(7)}" } }
]`;

  describe.each([
    ["of a market", TOKENS_EITHER_WAY],
    ["of no market", RARE_EITHER_WAY],
  ])("an unordered pair of tokens %s", (_market, either) => {
    it.each(
      ["ID", "BLOCK", "TIME", "BLOCK IDX", "TIME IDX"].flatMap((columns) => [
        `${columns}|ASC`,
        `${columns}|DESC`,
      ]),
    )("reads only the page in the order %s", async (order) => {
      const [columns, direction] = order.split("|");
      const orderBy = columns!.split(" ").map((column) => `${column}_${direction!}`);
      expectPageOnly(await pageOf(`, orderBy: [${orderBy.join(", ")}], filter: { ${either} }`));
    });
  });

  const ONE_WAY = `lotGem: { equalTo: "${WETH}" }, bidGem: { equalTo: "${DAI}" }`;
  const DAYS =
    'time: { greaterThanOrEqualTo: "2026-01-03T00:00:00Z", lessThan: "2026-01-09T00:00:00Z" }';
  const HOURS =
    'time: { greaterThan: "2026-01-03T00:00:00Z", lessThanOrEqualTo: "2026-01-03T06:00:00Z" }';

  it.each([
    ["a range of time", `filter: { ${DAYS} }`],
    ["a range of time of a market", `condition: { market: "WETHDAI" }, filter: { ${DAYS} }`],
    ["a range of time of a taker", `condition: { taker: "${taker}" }, filter: { ${DAYS} }`],
    ["a range of time inside an or", `filter: { or: [{ ${DAYS} }] }`],
    ["a range of blocks", "filter: { block: { greaterThan: 20000, lessThanOrEqualTo: 40000 } }"],
    [
      "a range of blocks of a market",
      'condition: { market: "WETHDAI" }, filter: { block: { greaterThanOrEqualTo: 20000, lessThan: 40000 } }',
    ],
    ["rows before a time", 'filter: { time: { lessThan: "2026-01-03T00:00:00Z" } }'],
    [
      "rows of a market before a time",
      'filter: { market: { equalTo: "WETHDAI" }, time: { lessThanOrEqualTo: "2026-01-03T00:00:00Z" } }',
    ],
    ["rows from a block on", "filter: { block: { greaterThanOrEqualTo: 40000 } }"],
    ["a block", "condition: { block: 40000 }"],
    ["a time", 'condition: { time: "2026-01-03T00:00:00Z" }'],
    ["a list of adjacent blocks", "filter: { block: { in: [40001, 40000, 40002] } }"],
    ["an unordered pair of tokens in a range of time", `filter: { ${DAYS}, ${TOKENS_EITHER_WAY} }`],
    ["no market", "condition: { market: null }"],
    ["no market with a filter", "filter: { market: { isNull: true } }"],
    ["a list of one market", 'filter: { market: { in: ["WETHDAI"] } }'],
  ])("%s reads only the page, ordered by block or time in both directions", async (_name, args) => {
    for (const orderBy of ["BLOCK_ASC", "BLOCK_DESC", "TIME_ASC", "[TIME_DESC, IDX_DESC]"]) {
      expectPageOnly(await pageOf(`, orderBy: ${orderBy}, ${args}`));
    }
  });

  it.each([
    ["filter", `filter: { ${ONE_WAY} }`],
    ["condition", `condition: { lotGem: "${WETH}", bidGem: "${DAI}" }`],
  ])(
    "an ordered pair of tokens reads at most the rows of both orders, with a %s",
    async (_name, args) => {
      for (const orderBy of ["BLOCK_DESC", "TIME_ASC"]) {
        expectPageOnly(await pageOf(`, orderBy: ${orderBy}, ${args}`));
      }
    },
  );

  it.each([
    ["an unordered pair of tokens", TOKENS_EITHER_WAY],
    ["an ordered pair of tokens", ONE_WAY],
  ])("%s in a range of time reads at most the range", async (_name, tokens) => {
    const { rowsRead, wholeTable, indexes } = await pageOf(
      `, orderBy: BLOCK_DESC, filter: { ${HOURS} ${tokens} }`,
    );
    expect(indexes).not.toHaveLength(0);
    expect(wholeTable).toBe(false);
    // 6 hours are 1,800 blocks of 12 seconds, each with one trade of this pair.
    expect(rowsRead).toBeLessThanOrEqual(1800);
  });

  describe("offers", () => {
    const offersOf = (args: string): Promise<Explained> =>
      explained(
        () => dataOf(app, `{ allDexOffers(first: ${PAGE}, ${args}) { nodes { id price tx } } }`),
        "dex_offer",
      );

    it.each(
      [
        ...["ID", "BLOCK", "TIME", "MARKET", "MAKER"],
        ...["MARKET BLOCK", "MARKET TIME", "MAKER BLOCK", "MAKER TIME"],
      ].flatMap((columns) => [`${columns}|ASC`, `${columns}|DESC`]),
    )(
      "in the order %s read only the page from an index, at the start and after a cursor",
      async (order) => {
        const [columns, direction] = order.split("|");
        const names = columns!.split(" ").map((column) => `${column}_${direction!}`);
        const orderBy = `orderBy: [${names.join(", ")}]`;
        expectPageOnly(await offersOf(orderBy));
        const { allDexOffers } = await dataOf<{ allDexOffers: TradesPage }>(
          app,
          `{ allDexOffers(first: 1, offset: ${OFFERS / 2}, ${orderBy}) { pageInfo { endCursor } } }`,
        );
        expectPageOnly(await offersOf(`${orderBy}, after: "${allDexOffers.pageInfo.endCursor!}"`));
      },
    );

    // A maker has 500 of 50,000 offers; the ranges are 6 of 9.26 days and 40,000 of 66,667 blocks.
    it.each([
      ["a range of time", DAYS, 324],
      ["a range of blocks", "block: { lessThan: 40000 }", 300],
    ])("of a maker in %s read at most the range", async (_name, range, most) => {
      const { rowsRead, wholeTable, indexes } = await offersOf(
        `orderBy: BLOCK_DESC, condition: { maker: "${taker}" }, filter: { ${range} }`,
      );
      expect(indexes).not.toHaveLength(0);
      expect(wholeTable).toBe(false);
      expect(rowsRead).toBeLessThanOrEqual(most);
    });

    it.each([
      ["a market", 'condition: { market: "WETHDAI" }'],
      ["a maker", `condition: { maker: "${taker}" }`],
      ["a range of time", `filter: { ${DAYS} }`],
      ["a market in a range of time", `condition: { market: "WETHDAI" }, filter: { ${DAYS} }`],
      ["an unordered pair of tokens", `filter: { ${TOKENS_EITHER_WAY} }`],
      ["an ordered pair of tokens", `filter: { ${ONE_WAY} }`],
    ])("of %s read only the page, ordered by block or time", async (_name, args) => {
      for (const orderBy of ["BLOCK_ASC", "BLOCK_DESC", "TIME_ASC", "TIME_DESC"]) {
        expectPageOnly(await offersOf(`orderBy: ${orderBy}, ${args}`));
      }
    });
  });

  const NEWER = 30;

  /** Writes a block of trades of the taker, one hour after the head. */
  async function addNewer(): Promise<void> {
    const { rows } = await database.writer.query<{ block: number; time: string }>(
      "select block + 1 as block, (time + interval '1 hour')::text as time from dex_head",
    );
    const trades = Array.from({ length: NEWER }, (_, idx) =>
      aTrade({ ...rows[0]!, offer_id: TRADES, idx, taker, maker: taker }),
    );
    await write(database.writer, { trades });
  }

  /** A count also reads up to three checkpoints, twice, and the newest trade. */
  const CHECKPOINT_ROWS = 2 * 3 + 1;

  async function countingRead(): Promise<Explained> {
    const counting = sent.filter(({ text }) => text.includes("count(*)"));
    expect(counting).toHaveLength(1);
    const read = await explain(database.reader, counting[0]!, "dex_trade");
    expect(read.wholeTable).toBe(false);
    return read;
  }

  it.each([
    ["all trades", "", "true"],
    ["a market", 'condition: { market: "WETHDAI" }', "market = 'WETHDAI'"],
    ["a taker", `condition: { taker: "${taker}" }`, `taker = '${taker}'`],
    ["a maker", `condition: { maker: "${taker}" }`, `maker = '${taker}'`],
    [
      "a market and taker",
      `condition: { market: "WETHDAI", taker: "${taker}" }`,
      `market = 'WETHDAI' and taker = '${taker}'`,
    ],
    [
      "an unordered pair of tokens",
      `filter: { ${TOKENS_EITHER_WAY} }`,
      `lot_gem = '${WETH}' and bid_gem = '${DAI}' or lot_gem = '${DAI}' and bid_gem = '${WETH}'`,
    ],
    [
      "a market's time range",
      'condition: { market: "WETHDAI" }, filter: { time: { lessThan: "2026-01-05T00:00:00Z" } }',
      "market = 'WETHDAI' and time < '2026-01-05'",
    ],
  ])(
    "a repeated page with totalCount of %s counts only newer trades",
    async (_name, args, where) => {
      const query = `{ allDexTrades(first: ${PAGE}, orderBy: BLOCK_DESC, ${args}) { totalCount nodes { id } } }`;
      await dataOf(app, query);
      await addNewer();
      sent.length = 0;
      const { allDexTrades } = await dataOf(app, query);
      const { rows } = await database.owner.query<{ count: number }>(
        `select count(*)::integer as count from dex_trade where ${where}`,
      );
      expect(allDexTrades.totalCount).toBe(rows[0]!.count);

      expect((await countingRead()).rowsRead).toBeLessThanOrEqual(NEWER + CHECKPOINT_ROWS);

      // The block is replaced: the count continues from an older checkpoint.
      await database.writer.query("select ingest.take_back(block - 1) from dex_head");
      await addNewer();
      sent.length = 0;
      await dataOf(app, query);
      expect((await countingRead()).rowsRead).toBeLessThanOrEqual(10_000 + CHECKPOINT_ROWS);
    },
  );

  it("v2 trades read only the page, with and without fromId", async () => {
    for (const fromId of ["", `&fromId=${TRADES / 2}`, `&fromId=${TRADES / 10}`]) {
      expectPageOnly(
        await explained(() =>
          app.request.get(`/v2/trades/weth/dai?limit=${PAGE}${fromId}`).expect(200),
        ),
      );
    }
  });

  it("the figures of a market read one derived row and no trade", async () => {
    for (const kind of ["v1/markets", "v1/prices", "v2/volumes", "v2/summary"]) {
      sent.length = 0;
      await app.request.get(`/${kind}/weth/dai`).expect(200);
      const [statement] = sent.filter(({ text }) => text.includes("dex_private.as_of"));
      const read = async (table: string): Promise<number> =>
        (await explain(database.reader, statement!, table)).rowsRead;
      // Two markets are registered.
      expect(await read("market_figure")).toBeLessThanOrEqual(2);
      for (const table of ["dex_trade", "period_figure"]) {
        expect(await read(table)).toBe(0);
      }
    }
  });

  it.each([
    ["1h", 3600],
    ["1d", 86_400],
  ])(
    "candles of %s read their hour figures and at most four trades each",
    async (interval, seconds) => {
      // The market has trades for 200,000 / 3 × 12 s, or 222 hours: 9 days and 6 hours.
      const hours = 222;
      const candles = Math.min(100, Math.floor((hours * 3600) / seconds));
      const read = await rowsRead(
        database.owner,
        `select * from dex_candles('WETH', 'DAI', '${interval}', null, null, ${candles})`,
      );

      // The first and the last trade of each candle, each with its neighbour, which has another time; and 5
      // trades of the head's minute, which is not complete.
      expect(read["dex_trade"]).toBeLessThanOrEqual(4 * candles + 2 * 5);
      // Each hour once to find the candles, once for their sums, and once to find the hour that the head
      // divides, of which the minutes are read.
      const each = (candles * seconds) / 3600;
      expect(read["period_figure"]).toBeLessThanOrEqual(3 * (each + 24) + 2 * 60);
    },
  );

  it.each([
    ["1m", 100],
    ["1h", 100 + 60],
  ])("candles of %s as of a past block read no others", async (interval, most) => {
    const read = await rowsRead(
      database.owner,
      `set local dex.as_of_block = '33333'; select * from dex_candles('WETH', 'DAI', '${interval}')`,
    );
    expect(read["period_figure"]).toBeGreaterThan(0);
    expect(read["period_figure"]).toBeLessThanOrEqual(most);
  });
});
