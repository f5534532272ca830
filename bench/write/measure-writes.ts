// Measures writes on one PostgreSQL: through ingest and by plain inserts, after a long and a short history.
import { connect, urlForDatabase, type Client } from "../../db/connect.ts";
import { addressOf } from "../../db/simulate/identity.ts";
import { BUSIEST, EMPTY, Exchange, FULL, MARKETS } from "../data/constant-exchange.ts";
import type { Block, Shape } from "../data/constant-exchange.ts";
import { callFor, fill, register, type Call } from "../data/fill.ts";
import { loadHistory } from "../data/make.ts";
import { copyDatabase, makeDatabase, withAdmin, type BenchServer } from "../data/server.ts";
import { log, whole } from "../harness.ts";
import { median } from "../load/statistics.ts";
import { bareOn, type Bare } from "./bare-inserts.ts";
import { bareName, fewName, TURNS, type Growth, type Pages } from "./results.ts";
import type { Server, TakenBack, Times, Wal } from "./results.ts";

export interface Sizes {
  trades: number;
  few: number;
  rounds: number;
  quietPairs: number;
}

const TRADES_ALONE: Shape = { trades: 20, offers: 0, cancellations: 0, seconds: 60 };

/** An exchange with its database connections. */
interface Side {
  exchange: Exchange;
  writer: Client;
  owner: Client;
  close: () => Promise<void>;
}

export async function measureWriting(server: BenchServer, sizes: Sizes): Promise<Server> {
  log(`Writing ${whole(sizes.few)} trades block by block`);
  await using stack = new AsyncDisposableStack();
  const open = async (name: string, exchange = new Exchange(1)): Promise<Side> => {
    const side = await openSide(urlForDatabase(server.url, name), exchange);
    stack.defer(() => side.close());
    return side;
  };
  for (const name of ["few", "many"]) await makeDatabase(server, name);
  const few = await open("few");
  await register(few.writer);
  await write(few, FULL, sizes.few / FULL.trades);
  const writtenLive = await sizePer(few.owner, sizes.few);

  log(`Loading ${whole(sizes.trades)} trades`);
  const filled = await open("many");
  const began = performance.now();
  const exchange = await loadHistory(filled.writer, sizes.trades);
  log(`  ${((performance.now() - began) / 1000).toFixed(0)} s`);
  for (const side of [few, filled]) await side.owner.query("vacuum (analyze)");
  await filled.close();
  await copyDatabase(server, "many", "bare");
  const many = await open("many", exchange);
  const bareSide = await open("bare");
  const bare = await bareOn(bareSide.owner);

  log("In turns");
  const times = await takeTurns({ many, few, bare }, sizes.rounds);
  const pages = await pagesOf({ many, few });
  log("Growth and write-ahead log");
  const growth = await measureGrowth(many);
  const wal = await measureWal(server, many);
  log("Taking back");
  const takenBack: TakenBack[] = [];
  for (const trades of [20, 1000, 10_000]) takenBack.push(await takeBack(many, trades));
  log("Registering");
  const renamed = await rename(many);
  const registered = await registerQuietPairs(many, sizes.quietPairs);
  const timesBesideQuiet = await takeTurns({ many, few, bare }, sizes.rounds);
  const pagesBesideQuiet = await pagesOf({ many, few });

  const version = await many.owner.query<{ server_version: string }>("show server_version");
  return {
    ...{ postgresql: version.rows[0]?.server_version ?? "unknown", writtenLive, growth, wal },
    ...{ times, pages, takenBack, renamed, registered, timesBesideQuiet, pagesBesideQuiet },
  };
}

async function openSide(url: string, exchange: Exchange): Promise<Side> {
  const writer = await connect(url, { role: "dex_writer" });
  const owner = await connect(url, { role: "dex_owner" });
  const close = async (): Promise<void> => {
    await writer.end();
    await owner.end();
  };
  return { exchange, writer, owner, close };
}

const write = ({ exchange, writer }: Side, shape: Shape, blocks: number): Promise<void> =>
  fill(writer, exchange, shape, blocks);

const blocksOf = ({ exchange }: Side, shape: Shape, count: number): Block[] =>
  Array.from({ length: count }, () => exchange.next(shape));

/** Milliseconds per block of each turn, by kind of block and database. The first round is a warm-up. */
async function takeTurns(
  { many, few, bare }: { many: Side; few: Side; bare: Bare },
  rounds: number,
): Promise<Times> {
  const times: Times = {};
  const timed = async (
    name: string,
    works: (() => Promise<unknown>)[],
    counts: boolean,
  ): Promise<void> => {
    const began = performance.now();
    for (const work of works) await work();
    if (counts) (times[name] ??= []).push((performance.now() - began) / works.length);
  };
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, shape, blocks } of TURNS) {
      const writing = blocksOf(many, shape, blocks);
      const calls = writing.map(callFor);
      const plain = writing.map((block) => bare.callsFor(block));
      const fewCalls = blocksOf(few, shape, blocks).map(callFor);
      const sides = [
        { name, works: calls.map((call) => () => many.writer.query(call)) },
        { name: bareName(name), works: plain.map((call) => () => bare.write(call)) },
        { name: fewName(name), works: fewCalls.map((call) => () => few.writer.query(call)) },
      ].filter((side) => shape !== EMPTY || side.name !== bareName(name));
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        await timed(side.name, side.works, round > 0);
      }
    }
  }
  for (const [name, all] of Object.entries(times)) {
    log(`  ${name}: ${median(all).toFixed(2)} ms`);
  }
  return times;
}

interface Explained {
  Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number };
}

/** The page accesses of a call, including those of the statements in the function. */
async function pagesOfCall(client: Client, { text, values }: Omit<Call, "name">): Promise<number> {
  const { rows } = await client.query<{ "QUERY PLAN": [Explained] }>(
    `explain (analyze, buffers, format json) ${text}`,
    values,
  );
  const plan = rows[0]?.["QUERY PLAN"][0].Plan;
  if (plan === undefined) throw new Error(`no plan of ${text}`);
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

const EXPLAINED = 40;

/** Mean page accesses per block, by kind of block and database. */
async function pagesOf(sides: { many: Side; few: Side }): Promise<Pages> {
  const pages: Pages = {};
  for (const { name, shape } of TURNS) {
    for (const [side, key] of [
      [sides.many, name],
      [sides.few, fewName(name)],
    ] as const) {
      let sum = 0;
      for (const block of blocksOf(side, shape, EXPLAINED)) {
        sum += await pagesOfCall(side.writer, callFor(block));
      }
      pages[key] = sum / EXPLAINED;
    }
  }
  return pages;
}

interface Bytes {
  heap: number;
  indexes: number;
}

async function bytesOf(owner: Client): Promise<Bytes> {
  const { rows } = await owner.query<{ heap: string; indexes: string }>(
    "select pg_table_size('dex_trade') as heap, pg_indexes_size('dex_trade') as indexes",
  );
  return { heap: Number(rows[0]?.heap), indexes: Number(rows[0]?.indexes) };
}

const grown = (before: Bytes, after: Bytes, trades: number): Growth => ({
  trades,
  indexes: (after.indexes - before.indexes) / trades,
  all: (after.heap + after.indexes - before.heap - before.indexes) / trades,
});

const sizePer = async (owner: Client, trades: number): Promise<Growth> =>
  grown({ heap: 0, indexes: 0 }, await bytesOf(owner), trades);

const GROWN_BLOCKS = 1000;

async function measureGrowth(side: Side): Promise<Growth> {
  const before = await bytesOf(side.owner);
  await write(side, FULL, GROWN_BLOCKS);
  return grown(before, await bytesOf(side.owner), GROWN_BLOCKS * FULL.trades);
}

const WAL_BLOCKS = 250;

/** Bytes of write-ahead log per trade: right after a checkpoint with full page images, and without them. */
const measureWal = (server: BenchServer, side: Side): Promise<Wal> =>
  withAdmin(server, async (admin) => {
    const lsn = async (): Promise<number> => {
      const { rows } = await admin.query<{ at: string }>(
        "select pg_current_wal_insert_lsn() - '0/0' as at",
      );
      return Number(rows[0]?.at);
    };
    const logged = async (shape: Shape): Promise<number> => {
      const before = await lsn();
      await write(side, shape, WAL_BLOCKS);
      return ((await lsn()) - before) / (WAL_BLOCKS * shape.trades);
    };
    await admin.query("checkpoint");
    const behindCheckpoint = await logged(FULL);
    await admin.query("alter system set full_page_writes = off");
    await admin.query("select pg_reload_conf()");
    await admin.query("checkpoint");
    const block = await logged(FULL);
    const tradesAlone = await logged(TRADES_ALONE);
    await admin.query("alter system reset full_page_writes");
    await admin.query("select pg_reload_conf()");
    return { trades: WAL_BLOCKS * FULL.trades, behindCheckpoint, block, tradesAlone };
  });

/** Writes trades in blocks of 20 and takes them back, once for the time and once for the page accesses. */
async function takeBack(side: Side, trades: number): Promise<TakenBack> {
  const { rows } = await side.writer.query<{ block: number }>("select block from dex_head");
  const call = (): Omit<Call, "name"> => ({
    text: "select ingest.take_back($1)",
    values: [rows[0]?.block],
  });
  const goBack = side.exchange.save();
  await write(side, FULL, trades / FULL.trades);
  const began = performance.now();
  await side.writer.query(call());
  const milliseconds = performance.now() - began;
  goBack();
  await write(side, FULL, trades / FULL.trades);
  const pages = await pagesOfCall(side.writer, call());
  goBack();
  return { trades, milliseconds: milliseconds / trades, pages: pages / trades };
}

/** Changes the symbol of a token with many trades, in a transaction that is rolled back. */
async function rename({ writer, owner }: Side): Promise<Server["renamed"]> {
  const market = MARKETS[1];
  const { rows } = await owner.query<{ count: number }>(
    "select count(*)::integer from dex_trade where market = $1",
    [`${market?.base}${market?.quote}`],
  );
  const trades = rows[0]?.count ?? 0;
  await writer.query("begin");
  const began = performance.now();
  await writer.query("select ingest.register_token($1, 'RENAMED', 18)", [market?.baseGem]);
  const milliseconds = performance.now() - began;
  const { rows: updated } = await writer.query<{ count: number }>(
    "select n_tup_upd::integer as count from pg_stat_xact_user_tables where relname = 'dex_trade'",
  );
  await writer.query("rollback");
  return { trades, touched: updated[0]?.count ?? 0, milliseconds: milliseconds / trades };
}

const EVERY = 100;

/** Registers pairs that are never traded. Returns milliseconds and pages per pair, of the last ones. */
async function registerQuietPairs({ writer }: Side, pairs: number): Promise<Server["registered"]> {
  let milliseconds = 0;
  let pages = 0;
  await writer.query("set synchronous_commit = off");
  for (let n = 0; n < pairs; n += 1) {
    const token = addressOf(`quiet ${n}`);
    await writer.query("select ingest.register_token($1, $2, 18)", [token, `QUIET${n}`]);
    const call = { text: PAIR_CALL, values: [token, addressOf(BUSIEST.quote)] };
    if (n >= pairs - EVERY) {
      pages += await pagesOfCall(writer, call);
    } else {
      const began = performance.now();
      await writer.query(call);
      if (n >= pairs - 2 * EVERY) milliseconds += performance.now() - began;
    }
  }
  await writer.query("set synchronous_commit = on");
  return { pairs, milliseconds: milliseconds / EVERY, pages: pages / EVERY };
}

const PAIR_CALL = "select ingest.register_pair($1, $2)";
