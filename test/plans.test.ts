// On 200,000 trades: what clients ask is answered by an index that reads about the page, not the
// history. The statements are those that the service really sends.
import { makeTestApp, type TestApp } from "./app.ts";
import { makeDatabase, type TestDatabase } from "./database.ts";
import { explain, rowsRead, type Explained, type Statement } from "./explain.ts";
import { aTrade, DAI, insert, registerMarkets, WETH } from "./factories.ts";
import { dataOf } from "./graphql.ts";

const TRADES = 200_000;
const PAGE = 100;

let database: TestDatabase;
let app: TestApp;
const sent: Statement[] = [];

beforeAll(async () => {
  database = await makeDatabase();
  await registerMarkets(database.writer);
  // A third of all trades are in WETHDAI, the rest in 20 pairs of tokens of no market; three to a
  // block of 12 seconds, by 500 takers and 100 makers. No trigger: this is about reading.
  await database.owner.query("alter table dex_trade disable trigger user");
  await database.owner.query(
    `insert into dex_trade (
      offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
      bid_gem, bid_tkn, bid_amt, price, block, time, tx, idx
    )
    select
      n / 4,
      case when n % 3 = 0 then (select id from dex_pair where market = 'WETHDAI') end,
      case when n % 3 = 0 then 'WETHDAI' end,
      case when n % 2 = 0 then 'sell' else 'buy' end,
      '0x' || lpad(to_hex(n % 42), 64, '0'),
      '0x' || lpad(to_hex(n * 7919 % 100), 40, '0'),
      '0x' || lpad(to_hex(n * 104729 % 500), 40, '0'),
      case when n % 3 > 0 then '0x' || lpad(to_hex(n % 20), 40, '0')
        when n % 2 = 0 then $2 else $3 end,
      case when n % 2 = 0 then 'WETH' else 'DAI' end,
      round((1 + n % 10)::numeric, 18),
      case when n % 3 > 0 then '0x' || lpad(to_hex(20 + n % 20), 40, '0')
        when n % 2 = 0 then $3 else $2 end,
      case when n % 2 = 0 then 'DAI' else 'WETH' end,
      round((100 + n % 7)::numeric, 18),
      100,
      n / 3,
      timestamptz '2026-01-01 00:00:00+00' + n / 3 * interval '12 seconds',
      '0x' || lpad(to_hex(n), 64, '0'),
      n % 3
    from generate_series(1, $1::bigint) as n`,
    [TRADES, WETH, DAI],
  );
  await database.owner.query("alter table dex_trade enable trigger user");
  await database.owner.query(
    `select dex_private.recompute_figures(array_agg(market_id), array_agg(minute))
    from (
      select distinct
        market_id,
        dex_private.minute_of(time) as minute
      from dex_trade
      where market_id is not null
    ) as minutes`,
  );
  await database.owner.query("insert into dex_head select max(block), max(time) from dex_trade");
  // All pages are known to be visible, so that an index may be read without its table.
  await database.owner.query("vacuum analyze");

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
  app = await makeTestApp(database.reader, { cache: "off" });
  await dataOf(app, "{ __typename }");
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

/** What the statements sent by this did to read trades. */
async function explained(act: () => Promise<unknown>): Promise<Explained> {
  sent.length = 0;
  await act();
  const reading = sent.filter(({ text }) => /\b(dex_trade|market_trade)\b/.test(text));
  expect(reading).toHaveLength(1);
  return explain(database.reader, reading[0]!, "dex_trade");
}

const pageOf = (args: string): Promise<Explained> =>
  explained(() => dataOf(app, `{ allDexTrades(first: ${PAGE}${args}) { nodes { id price tx } } }`));

/** Reads no more than the page and the few rows beside it in its last block. */
function expectPageOnly({ rowsRead, wholeTable, indexes }: Explained): void {
  expect(indexes).not.toHaveLength(0);
  expect(wholeTable).toBe(false);
  expect(rowsRead).toBeLessThanOrEqual(2 * PAGE);
}

const address = (n: number): string => `0x${n.toString(16).padStart(40, "0")}`;
const taker = address(7);

it.each([
  ["the newest of all", ", orderBy: BLOCK_DESC"],
  ["the newest of all by time", ", orderBy: [TIME_DESC, IDX_DESC]"],
  ["the newest by id", ", orderBy: PRIMARY_KEY_DESC"],
  ["a page by market", ', condition: { market: "WETHDAI" }, orderBy: BLOCK_DESC'],
  ["a page by market in order of time", ', condition: { market: "WETHDAI" }, orderBy: TIME_DESC'],
  [
    "a page by market and taker",
    `, condition: { market: "WETHDAI", taker: "${taker}" }, orderBy: BLOCK_DESC`,
  ],
  ["a page by taker", `, condition: { taker: "${taker}" }, orderBy: BLOCK_DESC`],
  ["a page by maker", `, condition: { maker: "${taker}" }, orderBy: BLOCK_DESC`],
  ["a page by maker in order of time", `, condition: { maker: "${taker}" }, orderBy: TIME_ASC`],
  ["a page by offer", ", condition: { offerId: 7 }, orderBy: BLOCK_DESC"],
  ["a filter by market", ', filter: { market: { equalTo: "WETHDAI" } }, orderBy: BLOCK_DESC'],
])("%s reads the page", async (_name, args) => {
  expectPageOnly(await pageOf(args));
});

const SERVED = [
  ...["ID", "BLOCK", "TIME", "OFFER_ID", "MARKET", "MAKER", "TAKER"],
  ...["TIME IDX", "BLOCK IDX", "MARKET BLOCK", "MAKER BLOCK", "TAKER BLOCK", "OFFER_ID BLOCK"],
  ...["MARKET TIME", "MAKER TIME", "TAKER TIME", "OFFER_ID TIME"],
];

it.each(SERVED.flatMap((columns) => [`${columns}|ASC`, `${columns}|DESC`]))(
  "the order %s is read from an index, the first page and the next by cursor",
  async (served) => {
    const [columns, direction] = served.split("|");
    const order = columns!.split(" ").map((column) => `${column}_${direction!}`);
    const orderBy = `, orderBy: [${order.join(", ")}]`;
    expectPageOnly(await pageOf(orderBy));
    // Deep in the set: the cursor of the row at half of it.
    const { allDexTrades } = await dataOf(
      app,
      `{ allDexTrades(first: 1, offset: ${TRADES / 2}${orderBy}) { pageInfo { endCursor } } }`,
    );
    expectPageOnly(await pageOf(`${orderBy}, after: "${allDexTrades.pageInfo.endCursor!}"`));
  },
);

const TOKENS_EITHER_WAY = `or: [
  { lotGem: { equalTo: "${WETH}" }, bidGem: { equalTo: "${DAI}" } }
  { lotGem: { equalTo: "${DAI}" }, bidGem: { equalTo: "${WETH}" } }
]`;
/** The tokens of one trade in 30, of no market. */
const RARE_EITHER_WAY = `or: [
  { lotGem: { equalTo: "${address(7)}" }, bidGem: { equalTo: "${address(27)}" } }
  { lotGem: { equalTo: "${address(27)}" }, bidGem: { equalTo: "${address(7)}" } }
]`;

describe.each([
  ["of a market", TOKENS_EITHER_WAY],
  ["of no market", RARE_EITHER_WAY],
])("both tokens %s either way", (_whose, either) => {
  it.each(
    ["ID", "BLOCK", "TIME", "BLOCK IDX", "TIME IDX"].flatMap((columns) => [
      `${columns}|ASC`,
      `${columns}|DESC`,
    ]),
  )("read the page in the order %s", async (order) => {
    const [columns, direction] = order.split("|");
    const orderBy = columns!.split(" ").map((column) => `${column}_${direction!}`);
    expectPageOnly(await pageOf(`, orderBy: [${orderBy.join(", ")}], filter: { ${either} }`));
  });
});

it("both tokens either way in a time range, in the order of time, read the page", async () => {
  expectPageOnly(
    await pageOf(`, orderBy: TIME_DESC, filter: {
      time: { greaterThanOrEqualTo: "2026-01-03T00:00:00Z", lessThan: "2026-01-13T00:00:00Z" }
      ${TOKENS_EITHER_WAY}
    }`),
  );
});

it("both tokens either way in a time range read at most the range", async () => {
  const { rowsRead, wholeTable, indexes } = await pageOf(`, orderBy: BLOCK_DESC, filter: {
    time: { greaterThanOrEqualTo: "2026-01-03T00:00:00Z", lessThan: "2026-01-03T06:00:00Z" }
    ${TOKENS_EITHER_WAY}
  }`);
  expect(indexes).not.toHaveLength(0);
  expect(wholeTable).toBe(false);
  // 6 hours are 1,800 blocks of 12 seconds, with one trade each between these.
  expect(rowsRead).toBeLessThanOrEqual(1800);
});

const NEWER = 30;

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
    "both tokens either way",
    `filter: { ${TOKENS_EITHER_WAY} }`,
    `lot_gem = '${WETH}' and bid_gem = '${DAI}' or lot_gem = '${DAI}' and bid_gem = '${WETH}'`,
  ],
  [
    "a market's time range",
    'condition: { market: "WETHDAI" }, filter: { time: { lessThan: "2026-01-05T00:00:00Z" } }',
    "market = 'WETHDAI' and time < '2026-01-05'",
  ],
])(
  "a page with totalCount of %s, asked again, reads only newer trades",
  async (_name, args, where) => {
    const query = `{ allDexTrades(first: ${PAGE}, orderBy: BLOCK_DESC, ${args}) { totalCount nodes { id } } }`;
    await dataOf(app, query);
    await insert(
      database.writer,
      "dex_trade",
      Array.from({ length: NEWER }, () => aTrade({ taker, maker: taker })),
    );
    sent.length = 0;
    const { allDexTrades } = await dataOf(app, query);
    const { rows } = await database.owner.query<{ count: number }>(
      `select count(*)::integer as count from dex_trade where ${where}`,
    );
    expect(allDexTrades.totalCount).toBe(rows[0]!.count);

    const counting = sent.filter(({ text }) => text.includes("count(*)"));
    expect(counting).toHaveLength(1);
    const { rowsRead, wholeTable, indexes } = await explain(
      database.reader,
      counting[0]!,
      "dex_trade",
    );
    expect(wholeTable).toBe(false);
    // By their ids alone: another index would be gone through for the whole history of what is asked.
    expect(new Set(indexes)).toEqual(new Set(["dex_trade_pkey"]));
    // The newer ones, and the newest for its id.
    expect(rowsRead).toBeGreaterThanOrEqual(NEWER);
    expect(rowsRead).toBeLessThanOrEqual(NEWER + 1);
  },
);

it("v2 trades read the page, the newest and at any fromId", async () => {
  for (const fromId of ["", `&fromId=${TRADES / 2}`, `&fromId=${TRADES / 10}`]) {
    expectPageOnly(
      await explained(() =>
        app.request.get(`/v2/trades/weth/dai?limit=${PAGE}${fromId}`).expect(200),
      ),
    );
  }
});

it("the figures of a market read hours and minutes, and not the trades of its last day", async () => {
  // In the middle of a minute, so that each window cuts one. A day has 7,200 trades of the market.
  await database.owner.query("update dex_head set time = time - interval '17 seconds'");
  for (const kind of ["v1/markets", "v1/prices", "v2/volumes", "v2/summary"]) {
    sent.length = 0;
    await app.request.get(`/${kind}/weth/dai`).expect(200);
    const [statement] = sent.filter(({ text }) => text.includes("dex_private.as_of"));
    const read = async (table: string): Promise<number> =>
      (await explain(database.reader, statement!, table)).rowsRead;
    // The minutes of the 4 hours that windows start in and of the head's own; the minutes that windows
    // start in, and whether minutes are late.
    expect(await read("minute_figure")).toBeLessThanOrEqual(7 * 60 + 4);
    // 5 trades a minute, of the 4 minutes that windows start in and of the head's own; the last one,
    // and for its time once more; the one that stood 24 hours ago, and the block before it.
    expect(await read("dex_trade")).toBeLessThanOrEqual(5 * 5 + 2 + 2 + 2);
  }
});

it.each([
  ["1h", 3600],
  ["1d", 86_400],
])("candles of %s read their hours and two trades each", async (interval, seconds) => {
  // The market has trades for 200,000 / 3 × 12 s, or 222 hours: 9 days and 6 hours.
  const hours = 222;
  const candles = Math.min(100, Math.floor((hours * 3600) / seconds));
  const read = await rowsRead(
    database.owner,
    `select * from dex_candles('WETH', 'DAI', '${interval}', null, null, ${candles})`,
  );

  // The first and the last of each, each with the one behind it, which has another time; and those of
  // the head's minute, which is not over: 5 a minute.
  expect(read["dex_trade"]).toBeLessThanOrEqual(4 * candles + 2 * 5);
  // Each hour once to find the candles, once for their sums, and once more to see whether the head
  // cuts it, of days that begin and end within; the minutes of the one that it does.
  const each = (candles * seconds) / 3600;
  expect(read["hour_figure"]).toBeLessThanOrEqual(3 * (each + 24));
  expect(read["minute_figure"]).toBeLessThanOrEqual(2 * 60);
});
