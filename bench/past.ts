// `npm run bench -- past`: measures what is asked as of random past blocks beside the same as of the head.
import { connect } from "../db/connect.ts";
import { post } from "./cases.ts";
import { startService } from "./contenders.ts";
import { makeData } from "./data/make.ts";
import { openServer } from "./data/server.ts";
import { goal, goalsTable, publish, readOptions, runLines, runOf, whole } from "./harness.ts";
import { askOnce } from "./load/client.ts";
import { median } from "./load/statistics.ts";
import type { BenchRequest } from "./load/wire-request.ts";
import { processorTimeOf, type RunningServer } from "./servers/start.ts";

const { trades, few, blocks, out } = readOptions(
  "bench -- past",
  "bench/results/past",
  "Measures SQL, by the processor time of its connection, prepared and sent as text, and the service without its cache, as of past blocks.",
  {
    trades: ["trades of the long history, a multiple of 20", 1_000_000, 60_000],
    few: ["trades of the short one", 100_000, 60_000],
    blocks: ["how many random blocks", 200, 2],
  },
);

const WETH = "base = 'WETH' and quote = 'DAI'";
const TRADES = `select trade.* from dex_private.as_of cross join lateral (
  select * from dex_trade as trade where trade.market = 'WETHDAI' and trade.id < as_of.beyond
  order by trade.market desc, trade.id desc limit 100) as trade`;
const SIXTEEN = ["WETH", ...Array.from({ length: 15 }, (_, n) => `BASE${n + 1}`)];
const CANDLES = "select * from dex_candles('WETH', 'DAI', ";
const HOURS = "/v2/candles/weth/dai?interval=1h&";

type AskedAt = (block: number | undefined) => BenchRequest;

const rest =
  (path: string): AskedAt =>
  (block) => ({ method: "GET", path: `${path}${block === undefined ? "" : `block=${block}`}` });

/** REST has one market or all. */
const sixteen: AskedAt = (block) => {
  const asOf = block === undefined ? "" : "($block: Int!) @asOf(block: $block)";
  const markets = `allDexMarkets(first: 16, filter: { base: { in: ["${SIXTEEN.join('", "')}"] } })`;
  const columns = "pair base quote price last vol ask bid low high active";
  return post({
    query: `query ${asOf} { ${markets} { nodes { ${columns} } } }`,
    variables: { block },
  });
};

/** What is asked, the bound of its ratio to the head, if it has one, in SQL and by the service. */
const CASES: [name: string, atMost: number | undefined, sql: string, asked: AskedAt][] = [
  ["one market", 1.5, `select * from dex_market where ${WETH}`, rest("/v1/markets/weth/dai?")],
  ["one price", 1.5, `select * from dex_price where ${WETH}`, rest("/v2/prices/weth/dai?")],
  ["one volume", 1.5, `select * from dex_volume where ${WETH}`, rest("/v2/volumes/weth/dai?")],
  ["100 trades", 1.5, TRADES, rest("/v2/trades/weth/dai?")],
  ["16 markets", 5, `select * from dex_market where base in ('${SIXTEEN.join("','")}')`, sixteen],
  ["50 levels", 3, "select * from dex_book('WETH', 'DAI')", rest("/v2/book/weth/dai?depth=50&")],
  ["100 hours", 1.2, `${CANDLES}'1h')`, rest(HOURS)],
  ["24 hours", undefined, `${CANDLES}'1h', "limit" => 24)`, rest(`${HOURS}limit=24&`)],
  ["100 minutes", 1.2, `${CANDLES}'1m')`, rest("/v2/candles/weth/dai?interval=1m&")],
];

/** Earlier, the books and the windows fill up. */
const FIRST = 1500;

/** The medians as of the head, and of random blocks of the older and the newer half, in turns. */
async function inTurns(last: number, ask: (block: number | undefined) => Promise<number>) {
  const times: number[][] = [[], [], []];
  const asked = Array.from({ length: Math.ceil(blocks / 2) }, () =>
    [0, 1].map((half) => {
      const share = (half + Math.random()) / 2;
      return Math.floor(FIRST + share * (last - FIRST));
    }),
  );
  // Once before: a long history is larger than the memory, and a page that is read first costs more than what it has.
  for (const block of asked.flat()) await ask(block);
  for (const pair of asked) {
    for (const [side, block] of [undefined, ...pair].entries()) times[side]?.push(await ask(block));
  }
  const [head = NaN, older = NaN, newer = NaN] = times.map(median);
  return { head, older, newer, past: (older + newer) / 2 };
}

type Times = Awaited<ReturnType<typeof inTurns>>;

/** Microseconds of processor time of a connection. Programs prepare statements; what people type is planned each time. */
async function inSql(url: string, size: number, sql: string, isPrepared = true) {
  const client = await connect(url, { role: "dex_reader" });
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const used = async () => processorTimeOf(rows[0]?.pid ?? 0);
  const found = await inTurns(size / 20, async (block) => {
    await client.query("begin");
    await client.query("select set_config('dex.as_of_block', $1, true)", [block ?? ""]);
    const before = await used();
    await client.query(isPrepared ? { name: "asked", text: sql } : sql);
    const time = (await used()) - before;
    await client.query("commit");
    return time;
  });
  await client.end();
  return found;
}

/** Microseconds until an answer is there. */
const byService = ({ url }: RunningServer, size: number, asked: AskedAt) =>
  inTurns(size / 20, async (block) => {
    const request = asked(block);
    const began = performance.now();
    const { status, body } = await askOnce(url, request);
    const time = 1000 * (performance.now() - began);
    if (status === 200 && !body.startsWith('{"errors"')) return time;
    throw new Error(`${request.path} as of block ${block} is ${status}: ${body}`);
  });

/** What a past block is read from comes into PostgreSQL's own memory: else the first look at a page costs more than what it finds. */
async function readIntoMemory(url: string): Promise<void> {
  const client = await connect(url);
  await client.query("create extension if not exists pg_prewarm");
  await client.query(`
    select pg_prewarm(listed.oid)
    from pg_class as listed
    where listed.relkind in ('r', 'i')
      and (
        listed.relnamespace = 'dex_private'::regnamespace
        or listed.relname ~ '^dex_(block|offer|pair|token|trade(_pkey|_known_market|_market_id)?$)'
      )`);
  await client.end();
}

const server = await openServer();
try {
  const [url, fewUrl] = [await makeData(server, trades), await makeData(server, few)];
  for (const one of [url, fewUrl]) await readIntoMemory(one);
  const run = await runOf("past", url);
  const service = await startService(url, "off");
  const serviceOfFew = await startService(fewUrl, "off");
  const most = (name: string, value: number, atMost: number) =>
    goal(name, value, { atMost }, (shown) => `${shown.toFixed(2)} ×`);
  const goals = [];
  for (const [name, atMost, sql, asked] of CASES) {
    const interfaceName = asked === sixteen ? "GraphQL" : "REST";
    const served = await byService(service, trades, asked);
    const ways: [name: string, times: Times, ofFew?: Times][] = [
      [interfaceName, served, await byService(serviceOfFew, few, asked)],
      ["SQL, prepared", await inSql(url, trades, sql), await inSql(fewUrl, few, sql)],
      ["SQL, as text", await inSql(url, trades, sql, false)],
    ];
    for (const [way, { head, past, older, newer }, ofFew] of ways) {
      const by = `${name}, ${way}:`;
      const us = `${whole(past)} µs, as of the head ${whole(head)}`;
      if (atMost !== undefined) goals.push(most(`${by} ${us}`, past / head, atMost));
      if (ofFew === undefined) continue;
      goals.push(most(`${by} older blocks against newer`, older / newer, 1.2));
      // The short history has fewer, but 24 hours before the first block that is asked for.
      if (name === "100 hours") continue;
      goals.push(most(`${by} the long history against the short`, past / ofFew.past, 1.2));
    }
  }
  await service.stop();
  await serviceOfFew.stop();
  const size = `${blocks} random blocks of ${whole(trades)} trades and of ${whole(few)}, each in turns with the head`;
  await publish(out, ["# As of past blocks", runLines(run, size), goalsTable(goals)]);
} finally {
  await server.stop();
}
