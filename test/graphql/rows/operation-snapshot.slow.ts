// All fields of an operation come from one snapshot while a writer is at work, and the operation
// returns its connection however it ends.
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { makeApp } from "../../../server/compose.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  setHead,
  WETH,
  write,
} from "../../factories.ts";
import { makeTestApp } from "../../app.ts";
import { ask, dataOf, type Trades, type TradesPage } from "../../graphql.ts";
import { useApp, useClient, useDatabase } from "../../served.ts";
import { interceptStatements } from "../../statements.ts";

const database = useDatabase();
// Only a superuser sees the locks that other sessions wait for.
const locker = useClient(database);
/** The statements sent to the database. */
const sent: string[] = [];
/** `act` runs once, before the next statement that contains this text. */
let meanwhile: { statement: string; act: () => Promise<unknown> } | undefined;
const COUNT = "count(*)";

beforeAll(() => {
  interceptStatements(database.reader, (text, send) => {
    sent.push(text);
    if (meanwhile === undefined || !text.includes(meanwhile.statement)) return send();
    const { act } = meanwhile;
    meanwhile = undefined;
    return act().then(send);
  });
});
// A response from the cache would send no statement.
const app = useApp(database, { cache: "off" });
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
  await setHead(database.writer, 1);
  await dataOf(app, "{ __typename }");
  sent.length = 0;
  meanwhile = undefined;
});

const headBlock = async (): Promise<number> => {
  const { rows } = await database.writer.query<{ block: number }>("select block from dex_head");
  return rows[0]!.block;
};

/** Writes a block of trades, half of them in MKRWETH, one second after the head. */
async function addTrades(count: number): Promise<void> {
  const hour = ((await headBlock()) + 1) / 3600;
  const trades = Array.from({ length: count }, (_, n) =>
    n % 2 === 0 ? aTrade({ hour }) : aTrade({ hour, baseGem: MKR, quoteGem: WETH }),
  );
  await write(database.writer, { trades });
}

/** Removes the newest blocks, but never the first one. */
async function takeBack(blocks: number): Promise<void> {
  await database.writer.query("select ingest.take_back($1)", [
    Math.max(blockAt(1), (await headBlock()) - blocks),
  ]);
}

/** The number of the service's connections that are in a transaction or not back in the pool. */
async function connectionsInUse(): Promise<number> {
  const { rows } = await locker.query<{ count: number }>(
    `select count(*)::integer as count
    from pg_stat_activity
    where datname = current_database()
      and state like 'idle in transaction%'`,
  );
  const { totalCount, idleCount } = database.reader;
  return rows[0]!.count + totalCount - idleCount;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(5);
}

/** An operation of several statements; a lock on dex_block blocks the first one. */
const BLOCKABLE = "{ dexHead { block } allDexTrades(first: 1000) { nodes { id } totalCount } }";

/** Blocks the operation after it took its snapshot, runs `act`, and unblocks the operation. */
async function whileBlocked<T>(operation: () => Promise<T>, act: () => Promise<unknown>) {
  await locker.query("begin");
  await locker.query("lock table dex_block in access exclusive mode");
  const answer = operation();
  try {
    await until(async () => (await waitingPids()).length > 0);
    await act();
  } finally {
    await locker.query("rollback");
  }
  return answer;
}

/** Resolves when an operation has its snapshot: its first statement is answered, and the next is not sent. */
const untilRead = (): Promise<void> =>
  until(async () => {
    const { rowCount } = await locker.query(
      "select from pg_stat_activity where datname = current_database() and state = 'idle in transaction' and query ~ '^select'",
    );
    return rowCount === 1;
  });

/** Runs `act` between the two statements of the operation. */
async function betweenStatements(act: () => Promise<unknown>): Promise<Trades> {
  meanwhile = { statement: '"dex_trade"', act: () => untilRead().then(act) };
  return dataOf(app, BLOCKABLE);
}

async function waitingPids(): Promise<number[]> {
  const { rows } = await locker.query<{ pid: number }>(
    `select pid
    from pg_stat_activity
    where datname = current_database()
      and wait_event_type = 'Lock'`,
  );
  return rows.map(({ pid }) => pid);
}

it("returns as many nodes as totalCount while a writer is at work", async () => {
  await addTrades(50);
  const work = new AbortController();
  const writing = (async () => {
    for (let turn = 1; !work.signal.aborted; turn += 1) {
      await addTrades(1 + (turn % 7));
      if (turn % 5 === 0) await takeBack(1);
      if (turn % 11 === 0) await takeBack(20);
    }
  })();

  const query = `query ($condition: DexTradeCondition) {
    allDexTrades(first: 1000, condition: $condition) { ...page }
    other: allDexTrades(last: 1000, filter: { act: { equalTo: "sell" } }) { edges { cursor } totalCount }
  }
  fragment page on DexTradesConnection { totalCount nodes { id } }`;
  const seen: number[] = [];
  const queryTotals = async (condition: unknown): Promise<void> => {
    for (let request = 0; request < 100; request += 1) {
      const { allDexTrades, other } = await dataOf<Trades & { other: TradesPage }>(app, query, {
        condition,
      });
      expect(allDexTrades.nodes).toHaveLength(allDexTrades.totalCount);
      expect(other.edges).toHaveLength(other.totalCount);
      seen.push(allDexTrades.totalCount);
    }
  };
  const onePage = `query ($condition: DexTradeCondition) {
    allDexTrades(first: 1000, condition: $condition) {
      nodes { id market } totalCount pageInfo { hasNextPage }
    }
  }`;
  const twoPages = `query ($condition: DexTradeCondition) {
    allDexTrades(first: 1000, condition: $condition) { nodes { id } totalCount }
    other: allDexTrades(first: 1000) { edges: nodes { id } totalCount }
  }`;
  const queryPages = async (condition: unknown): Promise<void> => {
    for (let request = 0; request < 60; request += 1) {
      const one = (await dataOf(app, onePage, { condition })).allDexTrades;
      expect(one.nodes).toHaveLength(one.totalCount);
      const { allDexTrades, other } = await dataOf<Trades & { other: TradesPage }>(app, twoPages, {
        condition,
      });
      expect(allDexTrades.nodes).toHaveLength(allDexTrades.totalCount);
      expect(other.edges).toHaveLength(other.totalCount);
      expect(allDexTrades.totalCount).toBeLessThanOrEqual(other.totalCount);
    }
  };
  try {
    await Promise.all([
      queryTotals({}),
      queryTotals({}),
      queryTotals({ market: "WETHDAI" }),
      queryTotals(null),
      queryPages({}),
      queryPages({ market: "MKRWETH" }),
    ]);
  } finally {
    work.abort();
    await writing;
  }
  // The totals show that trades were added and removed during the test.
  const steps = seen.slice(1).map((count, n) => count - seen[n]!);
  expect(steps.some((step) => step > 0)).toBe(true);
  expect(steps.some((step) => step < 0)).toBe(true);
  expect(new Set(seen).size).toBeGreaterThan(20);
});

it("counts in its own snapshot after the cache got a newer count", async () => {
  await addTrades(10);
  const count = "{ allDexTrades { totalCount } }";
  await dataOf(app, count);
  const waited = await betweenStatements(async () => {
    await addTrades(5);
    expect((await dataOf(app, count)).allDexTrades.totalCount).toBe(15);
  });
  expect(meanwhile).toBeUndefined();
  expect(waited.allDexTrades.nodes).toHaveLength(10);
  expect(waited.allDexTrades.totalCount).toBe(10);
  expect((await dataOf(app, count)).allDexTrades.totalCount).toBe(15);
});

it("counts in its own snapshot after the cache got a count without removed trades", async () => {
  await addTrades(7);
  await addTrades(3);
  const count = "{ allDexTrades { totalCount } }";
  await dataOf(app, count);
  const waited = await betweenStatements(async () => {
    await takeBack(1);
    await addTrades(1);
    expect((await dataOf(app, count)).allDexTrades.totalCount).toBe(8);
  });
  expect(meanwhile).toBeUndefined();
  expect(waited.allDexTrades.nodes).toHaveLength(10);
  expect(waited.allDexTrades.totalCount).toBe(10);
  expect((await dataOf(app, count)).allDexTrades.totalCount).toBe(8);
});

const isTransaction = (text: string): boolean => /^(begin|commit)/.test(text);

it.each([
  ["{ allDexTrades { nodes { id offer { filled } } totalCount } }"],
  ["{ allDexTrades(first: 0) { nodes { id } totalCount } }"],
  ['{ allDexTrades(condition: { market: "none" }) { nodes { id } totalCount } }'],
  ["{ allDexTrades { nodes { id } totalCount } dexHead { block } }"],
  [
    "{ a: allDexTrades { nodes { id } totalCount } b: allDexTrades(first: 1) { nodes { id } totalCount } }",
  ],
  ["{ allDexOffers { nodes { id } totalCount } }"],
  ["{ allDexTrades { edges { cursor } all: totalCount } }"],
  ["{ allDexTrades { pageInfo { hasNextPage } totalCount } }"],
  [
    "{ allDexTrades { ...page } } fragment page on DexTradesConnection { nodes { id } ... { totalCount } }",
  ],
  ["{ a: allDexTrades { totalCount } b: allDexOffers { totalCount } }"],
  ["{ allDexOffers { nodes { id trades { totalCount } } } }"],
  ["{ dexHead { block } allDexMarkets { nodes { pair } } }"],
  ["{ dexHead { block } ...rest } fragment rest on Query { allDexPrices { nodes { pair } } }"],
  ["{ ... on Query { ... { a: dexHead { block } } b: dexHead { time } } }"],
  [
    '{ node(nodeId: "query") { ... on Query { dexHead { block } allDexMarkets { nodes { pair } } } } }',
  ],
])("begins one transaction for %s", async (query) => {
  await addTrades(3);
  await dataOf(app, query);
  await until(async () => (await connectionsInUse()) === 0);
  expect(sent.filter(isTransaction)).toEqual([
    "begin isolation level repeatable read read only; savepoint begun",
    "commit",
  ]);
});

it("sends the statements of an operation without waiting for the answer to the first", async () => {
  await addTrades(3);
  // A connection that opens later is not in pg_stat_activity, as the locker's transaction sees it.
  await dataOf(app, BLOCKABLE);
  sent.length = 0;
  let before: string[] = [];
  const { data } = await whileBlocked(
    () => ask(app, BLOCKABLE),
    () => Promise.resolve((before = [...sent])),
  );
  expect(before.join("\n")).toMatch(/^begin .*"dex_latest_head".*"dex_trade"/s);
  expect(data).toMatchObject({ allDexTrades: { totalCount: 3 } });
});

it("sends again what PostgreSQL refuses behind a statement that fails", async () => {
  await addTrades(3);
  const bad = 'dexBook(base: "weth", quote: "dai", depth: 5000) { nodes { price } }';
  const { data, errors } = await ask(
    app,
    `{ a: ${bad} b: allDexTrades { totalCount } c: ${bad} dexHead { block } }`,
  );
  expect(errors?.map(({ path }) => path)).toEqual([["a"], ["c"]]);
  expect(data).toMatchObject({ b: { totalCount: 3 }, dexHead: { block: await headBlock() } });
});

it("sends no statement more than twice, however many fields fail", async () => {
  const fields = Array.from(
    { length: 30 },
    (_, n) => `f${n}: dexBook(base: "weth", quote: "dai", depth: ${5000 + n}) { nodes { price } }`,
  );
  const { errors } = await ask(app, `{ ${fields.join(" ")} }`);
  expect(errors?.map(({ path }) => path)).toEqual(fields.map((_, n) => [`f${n}`]));
  const asked = sent.filter((text) => text.includes("dex_book"));
  expect(asked.length).toBeGreaterThanOrEqual(fields.length);
  expect(asked.length).toBeLessThanOrEqual(2 * fields.length);
});

it.each([
  ["{ allDexTrades { nodes { id } pageInfo { hasNextPage } } }"],
  ["{ allDexTrades { totalCount } }"],
  ["{ allDexTrades { nodes { id } totalCount } }"],
  [
    "{ allDexTrades(last: 2) { pageInfo { startCursor hasNextPage } total: totalCount nodes { id } } }",
  ],
  ["{ __typename }"],
])("begins no transaction for %s", async (query) => {
  await addTrades(3);
  await dataOf(app, query);
  expect(sent.filter(isTransaction)).toEqual([]);
});

it.each([
  ["{ allDexTrades { nodes { id } pageInfo { hasNextPage } } }"],
  ["{ __typename dexHead { block time } }"],
  ["{ allDexMarkets { edges { cursor node { pair } } pageInfo { hasNextPage endCursor } } }"],
  [
    `{
      allDexOffers(first: 2) {
        nodes { id trades(last: 2) { nodes { id offer { trades(first: 1) { edges { cursor } } } } } }
      }
    }`,
  ],
  ["{ allDexPairs { nodes { baseToken { symbol } quoteToken { symbol } } } }"],
])("sends one statement without a transaction for %s", async (query) => {
  const offer = anOffer();
  await write(database.writer, {
    offers: [{ ...offer, block: blockAt(2), time: hours(2) }],
    trades: [aTrade({ hour: 2, offer_id: offer.id })],
  });
  await dataOf(app, query);
  expect(sent).toEqual([expect.stringContaining("select")]);
});

interface Figures {
  dexHead: { block: number };
  dexCandles: { nodes: { trades: number }[] };
}

it("reads all fields at one head although a block is written between them", async () => {
  await addTrades(3);
  meanwhile = { statement: "dex_candles", act: () => untilRead().then(() => addTrades(2)) };
  const figures = `{
    dexHead { block }
    dexCandles(base: "weth", quote: "dai", interval: "1d") { nodes { trades } }
  }`;
  const before = await dataOf<Figures>(app, figures);
  expect(meanwhile).toBeUndefined();
  expect(before.dexCandles.nodes).toEqual([{ trades: 2 }]);
  const after = await dataOf<Figures>(app, figures);
  expect(after.dexCandles.nodes).toEqual([{ trades: 3 }]);
  expect(after.dexHead.block).toBeGreaterThan(before.dexHead.block);
});

const PAGE = `query ($condition: DexTradeCondition) {
  allDexTrades(first: 1000, condition: $condition) { nodes { id } totalCount }
}`;
const pageOf = async (condition = {}): Promise<TradesPage> =>
  (await dataOf(app, PAGE, { condition })).allDexTrades;
const isCount = (text: string): boolean => text.includes(COUNT);

it.each([
  ["an offset", "allDexTrades(first: 1, offset: 1)", '"dex_trade"'],
  ["a cursor", "allDexTrades(first: 1, after: $cursor)", "/* id */) <= "],
])("reads what comes before a page with %s in its snapshot", async (_with, list, statement) => {
  await addTrades(2);
  const first = await dataOf(app, "{ allDexTrades(first: 1) { pageInfo { endCursor } } }");
  const cursor = first.allDexTrades.pageInfo.endCursor;
  const declared = list.includes("$") ? "query ($cursor: Cursor)" : "";
  const page = `${list} { nodes { id } totalCount pageInfo { hasPreviousPage } }`;
  const { rows } = await locker.query<{ now: Date }>("select clock_timestamp() as now");
  const untilOneAnswered = (): Promise<void> =>
    until(async () => {
      const { rowCount } = await locker.query(
        `select from pg_stat_activity where query_start >= $1 and state like 'idle%' and query like '%"dex_trade"%'`,
        [rows[0]!.now],
      );
      return rowCount === 1;
    });
  // Two trades are taken back between the statements: both are there, or neither.
  meanwhile = { statement, act: () => untilOneAnswered().then(() => takeBack(1)) };
  const variables = declared === "" ? {} : { cursor };
  const { both } = await dataOf<Record<"both", Trades>>(
    app,
    `${declared} { both: ${page} }`,
    variables,
  );
  expect(both).toMatchObject({ nodes: [{}], pageInfo: { hasPreviousPage: true } });
  expect(meanwhile).toBeUndefined();
});

const BOTH = "hasPreviousPage hasNextPage";

it.each([
  ["", BOTH, 1],
  ["(offset: 3)", "hasNextPage", 1],
  ["(first: 1, after: $cursor)", "hasNextPage endCursor", 1],
  ["(last: 1, before: $cursor)", "hasPreviousPage startCursor", 1],
  ["(first: 1, after: $none, before: $none)", BOTH, 1],
  // In a transaction.
  ["(first: 1, after: $cursor)", BOTH, 4],
  ["(last: 1, before: $cursor)", BOTH, 4],
])("for %s with %s sends %i statements", async (args, fields, count) => {
  await addTrades(2);
  const { allDexTrades } = await dataOf(
    app,
    "{ allDexTrades(first: 1) { pageInfo { endCursor } } }",
  );
  const given = { cursor: allDexTrades.pageInfo.endCursor, none: null };
  const used = Object.entries(given).filter(([name]) => args.includes(`$${name}`));
  const declared =
    used.length === 0 ? "" : `query (${used.map(([name]) => `$${name}: Cursor`).join()})`;
  const query = `${declared} { allDexTrades${args} { nodes { id } pageInfo { ${fields} } } }`;
  for (let request = 0; request < 2; request += 1) {
    sent.length = 0;
    await dataOf(app, query, Object.fromEntries(used));
    expect(sent).toHaveLength(count);
  }
});

it("sends one statement for a page whose total is cached", async () => {
  await addTrades(10);
  await pageOf();
  await pageOf({ market: "WETHDAI" });
  sent.length = 0;
  expect(await pageOf()).toMatchObject({ totalCount: 10 });
  expect(await pageOf({ market: "WETHDAI" })).toMatchObject({ totalCount: 5 });
  expect(sent).toHaveLength(2);
  expect(sent.filter(isCount)).toEqual([]);
});

it("counts newer rows beside a page in a second statement", async () => {
  await addTrades(10);
  await pageOf();
  await addTrades(3);
  sent.length = 0;
  const { nodes, totalCount } = await pageOf();
  expect(nodes).toHaveLength(13);
  expect(totalCount).toBe(13);
  expect(sent).toHaveLength(2);
  expect(sent[1]).toContain(COUNT);
});

const reverseMkr = (): Promise<void> => registerPair(database.writer, WETH, MKR);

describe.each<[string, () => Promise<unknown>]>([
  ["without a cached count", () => Promise.resolve()],
  ["with an older cached count", () => pageOf().then(() => addTrades(4))],
  [
    "with a cached count whose newest trade was removed",
    async () => {
      await addTrades(6);
      await pageOf({ market: "MKRWETH" });
      await takeBack(1);
      await addTrades(5);
    },
  ],
  [
    "with a cached count of an older epoch",
    async () => {
      await pageOf({ market: "MKRWETH" });
      await reverseMkr();
      await registerPair(database.writer, MKR, WETH);
      await addTrades(5);
    },
  ],
])("%s", (_name, prepare) => {
  it.each<[string, () => Promise<unknown>, "of the page" | "after the change"]>([
    ["trades are added", () => addTrades(6), "of the page"],
    ["an empty block is added", () => addTrades(0), "of the page"],
    ["trades are removed", () => takeBack(1), "after the change"],
    ["trades are replaced", () => takeBack(1).then(() => addTrades(9)), "after the change"],
    ["a pair is registered in the other direction", reverseMkr, "after the change"],
  ])("reads one snapshot although %s between page and count", async (_change, change, snapshot) => {
    await addTrades(5);
    await addTrades(10);
    await prepare();
    const inSql = async (): Promise<number> => {
      const { rows } = await database.owner.query<{ count: number }>(
        "select count(*)::integer as count from dex_trade where market = 'MKRWETH'",
      );
      return rows[0]?.count ?? 0;
    };
    const before = await inSql();
    sent.length = 0;
    meanwhile = { statement: COUNT, act: change };
    const { nodes, totalCount } = await pageOf({ market: "MKRWETH" });
    expect(meanwhile).toBeUndefined();
    expect(nodes).toHaveLength(totalCount);
    expect(totalCount).toBe(snapshot === "of the page" ? before : await inSql());
    expect(sent.filter(isTransaction)).toHaveLength(snapshot === "of the page" ? 0 : 2);
    // The cached count is correct too.
    expect((await pageOf({ market: "MKRWETH" })).totalCount).toBe(await inSql());
  });
});

it("reads what a function's rows refer to in their snapshot", async () => {
  await locker.query(`
    create schema site;
    grant usage on schema site to dex_reader;
    create function site.newest()
    returns setof public.dex_trade
    language sql
    stable
    as $$ select * from public.dex_trade order by id desc limit 1 $$;
  `);
  await using exposed = await makeTestApp(database.reader, {
    cache: "off",
    exposedSchemas: ["site"],
  });
  const offer = anOffer();
  const trade = () => aTrade({ hour: 2, offer_id: offer.id });
  await write(database.writer, {
    offers: [{ ...offer, block: blockAt(2), time: hours(2) }],
    trades: [trade()],
  });
  const query = "{ newest { nodes { id offer { trades { nodes { id } } } } } }";
  // The second statement reads the offer: a block comes before it.
  meanwhile = {
    statement: "dex_offer",
    act: () => write(database.writer, { trades: [{ ...trade(), block: blockAt(2) + 1 }] }),
  };
  const { newest } = await dataOf<Newest>(exposed, query);
  expect(meanwhile).toBeUndefined();
  const [{ id, offer: of }] = newest.nodes as [Newest["newest"]["nodes"][number]];
  expect(of.trades.nodes.map((one) => one.id)).toContain(id);
  expect(of.trades.nodes.every((one) => BigInt(one.id) <= BigInt(id))).toBe(true);
  // What it has sent is known.
  sent.length = 0;
  await dataOf(exposed, query);
  expect(sent[0]).toMatch(/^begin/);
});

interface Newest {
  newest: { nodes: { id: string; offer: { trades: { nodes: { id: string }[] } } }[] };
}

it("does not retry in a transaction if the page's statement fails", async () => {
  await addTrades(10);
  await locker.query("begin");
  await locker.query("lock table dex_trade in access exclusive mode");
  try {
    const answer = ask(app, PAGE);
    await until(async () => (await waitingPids()).length > 0);
    for (const pid of await waitingPids()) {
      await locker.query("select pg_cancel_backend($1)", [pid]);
    }
    expect((await answer).errors).not.toHaveLength(0);
  } finally {
    await locker.query("rollback");
  }
  expect(sent).toHaveLength(1);
  expect(await pageOf()).toMatchObject({ totalCount: 10 });
});

it("answers the other fields from the same snapshot if one field fails", async () => {
  await addTrades(5);
  app.logged.length = 0;
  // Trades are added between the failure and the next statement.
  meanwhile = { statement: "rollback to savepoint", act: () => addTrades(3) };
  const { data, errors } = await ask<{ before: Trades; after: Trades }>(
    app,
    `{
      before: allDexTrades(first: 2) { totalCount nodes { id offer { id } } }
      dexBook(base: "weth", quote: "dai", depth: 5000, first: 1) { nodes { price } }
      after: allDexTrades(last: 2) { totalCount nodes { id offer { id } } }
    }`,
  );

  expect(meanwhile).toBeUndefined();
  expect(errors).toEqual([
    expect.objectContaining({ path: ["dexBook"], extensions: { code: "BAD_USER_INPUT" } }),
  ]);
  expect([data?.before, data?.after]).toMatchObject([
    { totalCount: 5, nodes: [{}, {}] },
    { totalCount: 5, nodes: [{}, {}] },
  ]);
  expect(app.logged).toEqual([]);
});

it("logs an error of several fields once", async () => {
  app.logged.length = 0;
  const failure = new Error("cannot begin");
  meanwhile = { statement: "begin isolation", act: () => Promise.reject(failure) };
  const { errors } = await ask(app, "{ dexHead { block } allDexMarkets { nodes { pair } } }");
  expect(errors?.map(({ path }) => path)).toEqual([["dexHead"], ["allDexMarkets"]]);
  expect(app.logged).toEqual([failure]);
});

it("decides for each operation of a document separately", async () => {
  const query = `query count { allDexTrades { totalCount } }
    query edges { allDexTrades { totalCount edges { cursor } } }
    query page { allDexTrades { totalCount nodes { id } } }`;
  await addTrades(1);
  for (const [operationName, transactions] of [
    ["count", 0],
    ["edges", 2],
    ["page", 0],
    ["count", 0],
  ] as const) {
    sent.length = 0;
    await app.request.post("/graphql").send({ query, operationName }).expect(200);
    await until(async () => (await connectionsInUse()) === 0);
    expect(sent.filter(isTransaction)).toHaveLength(transactions);
  }
});

// PostgreSQL says of a statement that is cancelled what it says of one that takes too long.
it.each(["pg_cancel_backend", "pg_terminate_backend"])(
  "returns its connection after %s",
  async (end) => {
    await addTrades(10);
    const { data, errors } = await whileBlocked(
      () => ask<{ allDexTrades: TradesPage | null }>(app, BLOCKABLE),
      async () => {
        for (const pid of await waitingPids()) await locker.query(`select ${end}($1)`, [pid]);
      },
    );
    expect(errors?.map(({ path }) => path)).toEqual([["dexHead"], ["allDexTrades"]]);
    expect(data?.allDexTrades).toBeNull();
    await until(async () => (await connectionsInUse()) === 0);
    const again = await dataOf(app, BLOCKABLE);
    expect(again.allDexTrades.totalCount).toBe(10);
  },
);

it("returns its connection after the client disconnects", async () => {
  await addTrades(10);
  const { server, close } = await makeApp({ pools: { rest: database.reader } });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const request = httpRequest({
    port: (server.address() as AddressInfo).port,
    path: "/graphql",
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  request.on("error", () => undefined);
  const gone = new Promise((resolve) => request.on("close", resolve));
  await whileBlocked(
    () => Promise.resolve(request.end(JSON.stringify({ query: BLOCKABLE }))),
    async () => {
      expect(await connectionsInUse()).toBeGreaterThan(0);
      request.destroy();
      await gone;
    },
  );
  await until(async () => (await connectionsInUse()) === 0);
  await close();
});

it("returns its connections from more operations than the pool has connections", async () => {
  await addTrades(10);
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => dataOf(app, "{ allDexTrades { nodes { id } totalCount } }")),
  );
  expect(answers.map(({ allDexTrades }) => allDexTrades.totalCount)).toEqual(Array(40).fill(10));
  await until(async () => (await connectionsInUse()) === 0);
});
