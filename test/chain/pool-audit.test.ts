// What shows that a log of a pool is missing where the logs that are read at once do not: what the pool had, and what it returns.
import { setTimeout as sleep } from "node:timers/promises";
import { concatHex, numberToHex, toEventSelector, toFunctionSelector, type Hex } from "viem";
import { uniswapV2 } from "../../chain/exchanges/uniswap-v2.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Act,
  type Call,
  type InventedNode,
  type Log,
} from "./invented-chain.ts";
import { act, made, mint, poolOf, swap, sync, type Event } from "./pair-events.ts";

const SYNC = toEventSelector("Sync(uint112,uint112)");
const GET_RESERVES = toFunctionSelector("function getReserves()");
const POOL = poolOf(1n);
const NAME = "0x00000000000000000000000000000000aAAa0001";

const BEGUN = [sync(1000n, 2000n), mint(1000n, 2000n)];
/** 100 of the first token for 180 of the second, and 50 for 60. */
const FIRST_SWAP = [sync(1100n, 1820n), swap(100n, 0n, 0n, 180n)];
const SECOND_SWAP = [sync(1150n, 1760n), swap(50n, 0n, 0n, 60n)];

let database: TestDatabase;
let node: InventedNode;
let indexing: Indexing;
/** How often each pool was asked for its reserves. */
let asked: Map<string, number>;

/** A chain of so many blocks with these events of pools, which the factory makes in block 1. */
const blocksWith = (length: number, events: Record<number, Event[]>, pool = POOL): Act[][] => {
  const acts = Array.from({ length }, (): Act[] => []);
  acts[1] = [act([made(1n)], EXCHANGE), act([made(2n)], EXCHANGE)];
  for (const [block, some] of Object.entries(events)) acts[Number(block)]!.push(act(some, pool));
  return acts;
};

/** Answers what a pool has by the last Sync of the whole chain up to the block. */
function answerReserves({ method, params }: Call, truth: unknown): unknown {
  const [call, block] = params as unknown as [{ to: Hex; data: Hex }, { blockHash: Hex }];
  if (method !== "eth_call" || call.data !== GET_RESERVES) return truth;
  // At a start the factory is asked what it is.
  if (call.to.toLowerCase() === EXCHANGE) return truth;
  asked.set(call.to, (asked.get(call.to) ?? 0) + 1);
  const end = node.blocks.findIndex(({ header }) => header.hash === block.blockHash);
  const last = node.blocks
    .slice(0, end + 1)
    .flatMap(({ logs }) => logs)
    .findLast(({ address, topics }) => address === call.to.toLowerCase() && topics[0] === SYNC);
  const time = numberToHex(0, { size: 32 });
  return concatHex([last?.data ?? concatHex([time, time]), time]);
}

/** Ranges of four blocks are the longest. */
function refuseLongRanges(call: Call, truth: unknown): unknown {
  const [{ fromBlock, toBlock } = {}] = call.params as { fromBlock?: Hex; toBlock?: Hex }[];
  const isLong = call.method === "eth_getLogs" && Number(toBlock) - Number(fromBlock) > 3;
  return isLong ? new Error("too many blocks") : answerReserves(call, truth);
}

async function serve(acts: Act[][], finalized = acts.length - 1): Promise<void> {
  node = await startInventedNode(chainOf(acts), finalized);
  node.lie = answerReserves;
}

/** The node leaves out all logs of the pool in this block. */
const leaveOut = (block: number): void => {
  node.logs = (all) =>
    all
      .flatMap(({ logs }) => logs)
      .filter(({ address, blockNumber }: Log) => address !== POOL || Number(blockNumber) !== block);
};
const leaveOutNothing = (): void => {
  node.logs = (all) => all.flatMap(({ logs }) => logs);
};

function start(): Indexing {
  indexing = startIndexing({
    ...{ databaseUrl: database.url, url: node.url, exchange: EXCHANGE, decoder: uniswapV2 },
    ...{ finality: undefined, taker: "event" },
  });
  return indexing;
}

/** Resolves once this block is audited; rejects where the indexer ends before. */
async function audited(block: number): Promise<void> {
  const ended = indexing.ended.then(() => {
    throw new Error("the indexer has ended");
  });
  const isAudited = async (): Promise<boolean> => {
    const { rows } = await database.owner.query(
      "select from dex_private.index_source where audited_to >= $1",
      [block],
    );
    return rows.length > 0;
  };
  while (!(await isAudited())) {
    await Promise.race([ended, sleep(20)]);
  }
}

const states = async (): Promise<string[]> => {
  const { rows } = await database.owner.query<{ row: string }>(
    `select concat_ws(' ', block, (reserve0 * 1e18)::integer, (reserve1 * 1e18)::integer) as row
    from dex_pool_state
    order by venue, block`,
  );
  return rows.map(({ row }) => row);
};

beforeEach(async () => {
  asked = new Map();
  database = await makeDatabase();
});
afterEach(async () => {
  await indexing.stop().catch(() => undefined);
  await Promise.all([node.stop(), database.drop()]);
});

it("keeps what each pool has after each block, and compares it with the pool", async () => {
  await serve(blocksWith(40, { 2: BEGUN, 4: [...FIRST_SWAP, ...SECOND_SWAP] }));
  start();
  await audited(39);
  expect(await states()).toEqual(["2 1000 2000", "4 1150 1760"]);
  const { rows } = await database.owner.query(
    "select venue, fee, block from dex_pool order by block",
  );
  expect(rows).toEqual([{ venue: NAME, fee: 3000, block: 2 }]);
  expect(await verify(await database.connect("dex_owner"))).toEqual([]);
});

it("asks only the pools that have changed since the last audit, also after another start", async () => {
  const acts = blocksWith(40, { 2: BEGUN });
  acts[3]!.push(act(BEGUN, poolOf(2n)));
  await serve(acts);
  start();
  await audited(39);
  await indexing.stop();
  asked.clear();
  const more = Array.from({ length: 40 }, (_, n) => (n === 1 ? [act(FIRST_SWAP, POOL)] : []));
  node.blocks = chainOf([...acts, ...more], "", node.blocks);
  node.finalized = 79;
  start();
  await audited(79);
  expect([...asked.keys()].map((address) => address.toLowerCase())).toEqual([POOL]);
});

it("halts where a pool returns another amount than its last log has, and keeps nothing that is not certain", async () => {
  await serve(blocksWith(40, { 2: BEGUN, 4: FIRST_SWAP }));
  leaveOut(4);
  await expect(start().ended).rejects.toThrow(
    `A log is missing or wrong: the reserves of the pool ${NAME} are 1000 and 2000 by its logs up to block 39, the last one of block 2, and 1100 and 1820 by the contract. The database has what is certain, the blocks up to none.`,
  );
  expect(await states()).toEqual([]);
});

it("halts where the first log of a pool is missing", async () => {
  await serve(blocksWith(40, { 2: BEGUN }));
  leaveOut(2);
  await expect(start().ended).rejects.toThrow(
    `the reserves of the pool ${NAME} are 0 and 0 by its logs up to block 39, the last one of block 1, and 1000 and 2000 by the contract`,
  );
});

it("reads again what may lack a log, and goes on where a node then has it", async () => {
  await serve(blocksWith(40, { 2: BEGUN, 4: FIRST_SWAP }));
  leaveOut(4);
  start();
  await indexing.heard((event) => event.event === "failure");
  leaveOutNothing();
  await audited(39);
  expect(await states()).toEqual(["2 1000 2000", "4 1100 1820"]);
  const { rows } = await database.owner.query("select block from dex_trade");
  expect(rows).toEqual([{ block: 4 }]);
});

it("halts where a swap does not follow what the pool had in an earlier range", async () => {
  await serve(blocksWith(40, { 2: BEGUN, 9: FIRST_SWAP, 17: SECOND_SWAP }));
  node.lie = refuseLongRanges;
  leaveOut(9);
  await expect(start().ended).rejects.toThrow(
    `A log is missing or wrong: the logs of the pool ${NAME} in block 17, after which it has 1150 and 1760, do not follow the reserves of block 2, 1000 and 2000`,
  );
});

it("halts where a swap does not follow what the pool had before an earlier start", async () => {
  const acts = blocksWith(40, { 2: BEGUN });
  await serve(acts);
  start();
  await audited(39);
  await indexing.stop();
  const more = Array.from({ length: 40 }, (): Act[] => []);
  more[10] = [act(FIRST_SWAP, POOL)];
  more[20] = [act(SECOND_SWAP, POOL)];
  node.blocks = chainOf([...acts, ...more], "", node.blocks);
  node.finalized = 79;
  node.lie = refuseLongRanges;
  leaveOut(50);
  await expect(start().ended).rejects.toThrow(
    "do not follow the reserves of block 2, 1000 and 2000",
  );
  // What was audited stays.
  expect(await states()).toEqual(["2 1000 2000"]);
  const { rows } = await database.owner.query("select number from dex_block where number = 39");
  expect(rows).toHaveLength(1);
});

it("follows a pool to another branch", async () => {
  await serve(blocksWith(44, { 2: BEGUN, 42: FIRST_SWAP }), 36);
  start();
  await indexing.wrote(43);
  expect(await states()).toEqual(["2 1000 2000", "42 1100 1820"]);
  const other = blocksWith(45, { 2: BEGUN, 43: [sync(1050n, 1940n), swap(50n, 0n, 0n, 60n)] });
  node.blocks = chainOf(other, "b", node.blocks.slice(0, 41));
  await indexing.heard((event) => event.event === "reorganisation");
  expect(await states()).toEqual(["2 1000 2000", "43 1050 1940"]);
  expect(indexing.events.filter(({ event }) => event === "failure")).toEqual([]);
});

it("leaves out a pool that does not return what it has, and says so", async () => {
  const acts = blocksWith(40, { 2: BEGUN });
  acts[3]!.push(act(BEGUN, poolOf(2n)));
  await serve(acts);
  node.lie = (call, truth) => {
    const [{ to } = {}] = call.params as { to?: Hex }[];
    const answer = answerReserves(call, truth);
    return to?.toLowerCase() === POOL && answer !== truth ? "0x" : answer;
  };
  start();
  await audited(39);
  expect(indexing.events).toContainEqual({
    event: "doubt",
    reason: `The pool ${NAME} does not return getReserves() in block 39: its logs are not compared with its state`,
  });
  expect(asked.size).toBe(2);
});

it("asks again what a node refuses, and waits for an answer", async () => {
  await serve(blocksWith(40, { 2: BEGUN }));
  let refusals = 0;
  node.lie = (call, truth) => {
    const answer = answerReserves(call, truth);
    if (answer === truth || refusals === 8) return answer;
    refusals += 1;
    return new Error("missing trie node");
  };
  start();
  await audited(39);
  expect(indexing.events).toContainEqual({
    event: "doubt",
    reason: expect.stringContaining(
      "The states of pools are not compared with the contract's state yet",
    ),
  });
});
