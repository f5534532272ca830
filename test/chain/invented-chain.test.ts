// The indexer against a node that a stranger controls: no wrong row, whatever it says, and a message that names it.
import { numberToHex, type Hex } from "viem";
import type { IndexerEvent } from "../../chain/indexer.ts";
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
  type MadeBlock,
} from "./invented-chain.ts";

const HEAD = 70;
const FINAL = 60;

/** Offers that stay, are filled by one or two takes, and are cancelled; blocks without logs between them. */
const ACTS: Act[][] = Array.from({ length: HEAD + 1 }, (_, number): Act[] => {
  if (number === 1) return [{ do: "list" }];
  const id = Math.floor(number / 6) * 2 + 1;
  switch (number % 6) {
    case 0:
      return number === 0 ? [] : [{ do: "other" }, { do: "make" }, { do: "make" }];
    case 1:
      return number < 6 ? [] : [{ do: "take", id: id - 2, lot: 3 }];
    case 2:
      return number < 6 ? [] : [{ do: "other" }, { do: "take", id: id - 1, lot: 10 }];
    case 3:
      return number < 18 || number % 12 === 3 ? [] : [{ do: "kill", id: id - 2 }];
    default:
      return [];
  }
});

const truth = chainOf(ACTS);

let node: InventedNode;
let database: TestDatabase;
let indexing: Indexing | undefined;

beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(async () => {
  node = await startInventedNode([...truth], FINAL);
  await database.empty();
});
afterEach(async () => {
  await indexing?.stop().catch(() => undefined);
  await node.stop();
});
afterAll(() => database.drop());

interface Rows {
  offers: object[];
  trades: object[];
  blocks: object[];
}

/** The rows of these blocks, from what their transactions do. */
function rowsOf(blocks: readonly MadeBlock[], acts: readonly Act[][]): Rows {
  const rows: Rows = { offers: [], trades: [], blocks: [] };
  let last = 0;
  const offers = new Map<number, { killed: number }>();
  for (const [number, { header, logs }] of blocks.entries()) {
    let idx = 0;
    for (const act of acts[number] ?? []) {
      const tx = logs[idx]!.transactionHash;
      if (act.do === "make") {
        last += 1;
        const offer = { id: last, block: number, killed: 0, tx };
        offers.set(last, offer);
        rows.offers.push(offer);
      } else if (act.do === "take") {
        const amounts = { lot_amt: String(act.lot), bid_amt: String(200 * act.lot) };
        rows.trades.push({ offer_id: act.id, block: number, idx: idx + 1, ...amounts, tx });
      } else if (act.do === "kill") offers.get(act.id)!.killed = number;
      idx += { list: 1, other: 1, make: 2, take: 3, kill: 2 }[act.do];
    }
    rows.blocks.push({ number, hash: header.hash, time: Number(header.timestamp) });
  }
  return rows;
}

async function recorded(): Promise<Rows> {
  const rows = async (sql: string) => (await database.owner.query<{ number: number }>(sql)).rows;
  return {
    offers: await rows("select id, block, killed, tx from dex_offer order by id"),
    trades: await rows(
      `select offer_id, block, idx, trim_scale(lot_amt)::text as lot_amt, trim_scale(bid_amt)::text as bid_amt, tx
      from dex_trade
      order by block, idx`,
    ),
    blocks: await rows(
      "select number, hash, extract(epoch from time)::integer as time from dex_block order by number",
    ),
  };
}

/** The database has all rows up to its last block, and no other. Resolves to that block. */
async function expectPrefix(blocks = truth, acts = ACTS): Promise<number> {
  const { blocks: kept, ...rows } = await recorded();
  const head = (kept.at(-1) as { number?: number } | undefined)?.number ?? -1;
  const { blocks: all, ...right } = rowsOf(blocks.slice(0, head + 1), acts);
  expect(rows).toEqual(right);
  for (const block of kept) expect(all).toContainEqual(block);
  return head;
}

const start = (options = {}): Indexing => {
  const { url } = database;
  indexing = startIndexing({
    ...{ databaseUrl: url, url: node.url, exchange: EXCHANGE, finality: undefined, ...options },
  });
  return indexing;
};

/** Why it has stopped, or what it has said so often that it waits; "" where it has all blocks. */
async function outcome(running: Indexing, head = HEAD): Promise<string> {
  const stopped = running.ended.then(
    () => "",
    (error: unknown) => `stopped: ${(error as Error).message}`,
  );
  const waits = running
    .heard((event) => event.event === "failure" && !event.reason.startsWith("A log is missing"))
    .then(
      (event) => `waits: ${event.event === "failure" ? event.reason : ""}`,
      () => stopped,
    );
  const written = running.wrote(head).then(
    () => "",
    () => stopped,
  );
  return Promise.race([stopped, waits, written]);
}

const onLogs =
  (change: (logs: Log[], call: Call) => unknown) =>
  (call: Call, right: unknown): unknown =>
    call.method === "eth_getLogs" ? change(right as Log[], call) : right;

const onBlock =
  (number: number, change: (header: MadeBlock["header"]) => unknown) =>
  (call: Call, right: unknown): unknown => {
    const header = right as MadeBlock["header"] | undefined;
    return call.method === "eth_getBlockByNumber" && Number(header?.number) === number
      ? change(header!)
      : right;
  };

it("is believed where it tells the truth", async () => {
  expect(await outcome(start())).toBe("");
  expect(await expectPrefix()).toBe(HEAD);
  expect(rowsOf(truth, ACTS).trades.length).toBeGreaterThan(15);
});

const OTHER: Hex = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const isIn =
  (from: number, to: number) =>
  ({ blockNumber }: Log): boolean =>
    Number(blockNumber) >= from && Number(blockNumber) <= to;

/** The lie, and what is said of it; nothing where all rows come all the same. */
const LIES: [string, InventedNode["lie"], RegExp | undefined][] = [
  [
    "has logs of another address",
    onLogs((logs) => logs.map((log) => ({ ...log, address: OTHER }))),
    /0xdac17f/,
  ],
  [
    "adds a log of another address",
    onLogs((logs) => logs.flatMap((log, n) => (n > 0 ? [log] : [log, { ...log, address: OTHER }]))),
    /0xdac17f|not whole|undefined/,
  ],
  [
    "marks logs as removed",
    onLogs((logs) => logs.map((log) => ({ ...log, removed: true }))),
    /marked as removed/,
  ],
  ["has each log twice", onLogs((logs) => logs.flatMap((log) => [log, log])), /came twice/],
  ["has the logs in another order", onLogs((logs) => logs.toReversed()), undefined],
  [
    "has logs without a block",
    onLogs((logs) => logs.map((log) => ({ ...log, blockNumber: null }))),
    /null is no number/,
  ],
  [
    "has logs of another hash",
    onLogs((logs) => logs.map((log) => ({ ...log, blockHash: `0x${"7".repeat(64)}` }))),
    /is both/,
  ],
  [
    "has logs of another number",
    onLogs((logs) => logs.map((log) => ({ ...log, blockNumber: "0x2" }))),
    /a log of block 2|the blocks 2 to 60/,
  ],
  [
    "has times that go back",
    onBlock(65, (header) => ({ ...header, timestamp: "0x5f5e1000" })),
    /65|time/,
  ],
  [
    "has times of its logs that go back",
    onLogs((logs) => logs.map((log) => ({ ...log, blockTimestamp: "0x5f5e1000" }))),
    /has the timestamp/,
  ],
];

describe.each(LIES)("a node that %s", (_, lie, says) => {
  it.each([
    ["below finality", FINAL],
    ["near the head", 0],
  ])("writes no wrong row %s", async (_place, finalized) => {
    node.finalized = finalized;
    node.lie = lie;
    const said = await outcome(start());

    const head = await expectPrefix();
    if (says === undefined) expect([said, head]).toEqual(["", HEAD]);
    else expect(said).toMatch(says);
  });
});

describe("nodes that agree on a lie below finality", () => {
  it.each<[string, (log: Log) => boolean]>([
    ["an offer", isIn(24, 24)],
    ["a take", isIn(25, 25)],
    ["a whole take", isIn(26, 26)],
    ["a cancellation", isIn(33, 33)],
    ["the last blocks", isIn(50, 60)],
  ])("that there is not %s: stops with the block", async (_, isLeftOut) => {
    node.logs = (blocks) => blocks.flatMap(({ logs }) => logs.filter((log) => !isLeftOut(log)));
    const said = await outcome(start());

    expect(said).toMatch(/^stopped: .* block \d+/);
    await expectPrefix();
  });

  /** As nodes answer with the logs of an orphaned block beside those of the block that replaced it. */
  const movedTo = (number: number, log: Log): Log => {
    const timestamp = truth[number]!.header.timestamp;
    return {
      ...{ ...log, blockNumber: numberToHex(number), blockTimestamp: timestamp },
      blockHash: `0x${"8".repeat(64)}`,
      data: `0x${log.data.slice(2).replace(log.blockTimestamp.slice(2), timestamp.slice(2))}`,
    };
  };

  it.each<[string, (logs: Log[]) => Log[]]>([
    [
      "a whole take twice, in two blocks",
      (logs) =>
        logs.filter(isIn(26, 26)).map((log) => ({
          ...movedTo(28, log),
          transactionHash: `0x${"9".repeat(64)}`,
        })),
    ],
    [
      "a part of a take twice, in two blocks",
      (logs) => logs.filter(isIn(25, 25)).map((log) => movedTo(28, log)),
    ],
  ])("that there is %s: stops with the block", async (_, added) => {
    const all = truth.flatMap(({ logs }) => logs);
    node.logs = () =>
      [...all, ...added(all)].sort(
        (one, other) => Number(one.blockNumber) - Number(other.blockNumber),
      );
    const said = await outcome(start());

    expect(said).toMatch(/^stopped: .*blocks? \d+/);
    const { trades } = await recorded();
    const right = rowsOf(truth, ACTS).trades;
    for (const trade of trades) expect(right).toContainEqual(trade);
  });
});

describe("near the head", () => {
  it("does not believe indexes with a gap, after it has seen whole blocks", async () => {
    node.finalized = 0;
    node.lie = onLogs((logs) =>
      logs.map((log) =>
        Number(log.blockNumber) < 40 ? log : { ...log, logIndex: `0x${log.logIndex.slice(2)}0` },
      ),
    );
    const said = await outcome(start());

    expect(said).toMatch(/^stopped: The logs of block 42 are not whole.* the log 1 is missing/);
    expect(await expectPrefix()).toBe(41);
  });

  it("does not believe a log that the header's bloom does not have", async () => {
    node.finalized = 0;
    // A whole transaction that nobody made.
    const invented = chainOf(ACTS.map((acts, n) => (n === 66 ? [...acts, { do: "make" }] : acts)));
    const added = invented[66]!.logs.slice(truth[66]!.logs.length);
    node.lie = onLogs((logs, { params: [filter] }) =>
      (filter as unknown as { blockHash?: string }).blockHash === truth[66]!.header.hash
        ? [...logs, ...added]
        : logs,
    );
    const said = await outcome(start());

    expect(said).toMatch(/^stopped: The logs of block 66/);
    expect(await expectPrefix()).toBe(65);
  });
});

describe("a token's decimals", () => {
  it("are not believed where two answers differ", async () => {
    let asked = 0;
    node.lie = (call, right) => {
      const [to] = call.params as { data?: string }[];
      if (call.method !== "eth_call" || to?.data !== "0x313ce567") return right;
      asked += 1;
      return asked === 1 ? `0x${"6".padStart(64, "0")}` : right;
    };
    expect(await outcome(start())).toBe("");
    await expectPrefix();
    const { rows } = await database.reader.query("select distinct decimals from dex_token");
    expect(rows).toEqual([{ decimals: 18 }]);
  });
});

describe("a node that changes its mind", () => {
  const branch = (from: number, length = HEAD + 3) =>
    chainOf(
      Array.from({ length }, (_, n) => ACTS[n] ?? []),
      "b",
      truth.slice(0, from),
    );

  it("about a final block: the indexer stops and changes nothing", async () => {
    const running = start();
    await running.wrote(HEAD);
    const before = await recorded();
    node.blocks = branch(FINAL - 5);
    const said = await outcome(running, HEAD + 2);

    expect(said).toMatch(/^stopped: The chain has another branch below block 60, which is final/);
    expect(await recorded()).toEqual(before);
  });

  it("about a final block, while the indexer does not run", async () => {
    const running = start();
    await running.wrote(HEAD);
    await running.stop();
    const before = await recorded();
    node.blocks = branch(5);
    const said = await outcome(start(), HEAD + 2);

    expect(said).toMatch(/^stopped: The chain has another branch below block \d+, which is final/);
    expect(await recorded()).toEqual(before);
  });

  it("about what is final: the highest counts", async () => {
    const running = start();
    await running.wrote(HEAD);
    node.finalized = 3;
    node.blocks = [...chainOf([...ACTS, []])];
    await running.wrote(HEAD + 1);
    node.blocks = branch(FINAL - 5, HEAD + 5);
    const said = await outcome(running, HEAD + 4);

    expect(said).toMatch(/^stopped: The chain has another branch below block 60, which is final/);
  });

  it("about the chain, with the same blocks: no row of the other chain", async () => {
    const running = start();
    await running.wrote(HEAD);
    const before = await recorded();
    node.chainId = 5;
    node.blocks = chainOf(
      Array.from({ length: HEAD + 10 }, (_, n) => ACTS[n] ?? []),
      "other chain",
    );
    const said = await outcome(running, HEAD + 9);

    expect(said).toMatch(/^stopped: The chain has another branch below block/);
    expect(await recorded()).toEqual(before);
  });
});

describe("an indexer that waits says what for, again and again,", () => {
  const waits = async (running: Indexing, reason: RegExp): Promise<void> => {
    const isIt = (event: IndexerEvent) => event.event === "waiting" && reason.test(event.reason);
    await running.heard(isIt);
    const before = running.events.filter(isIt).length;
    await running.heard((event) => isIt(event) && running.events.filter(isIt).length > before);
  };

  it.each<[string, () => void, RegExp]>([
    [
      "for a node that is behind",
      () => (node.blocks = truth.slice(0, -5)),
      /^The node is at block 65, before block 71, which is to be written$/,
    ],
    [
      "for a branch that is longer",
      () => (node.blocks = chainOf(ACTS, "b", truth.slice(0, -3))),
      /^The node has 0x\w+ as block 70, and the database 0x\w+; neither branch is longer$/,
    ],
    [
      "for a block that the node does not have",
      () => {
        node.blocks = chainOf([...ACTS, [], []]);
        node.lie = onBlock(HEAD + 1, () => null);
      },
      /^The node does not have block 71, and named block 72$/,
    ],
    [
      "for the blocks of another branch",
      () => {
        node.blocks = chainOf([...ACTS, [], []], "b", truth.slice(0, -3));
        node.lie = onBlock(HEAD - 1, () => null);
      },
      /^The node has another branch than block 70, 0x\w+, and not all blocks of a longer one$/,
    ],
  ])("%s", async (_, happens, reason) => {
    const running = start({ repeatMs: 1 });
    await running.wrote(HEAD);
    happens();
    await waits(running, reason);
    await expectPrefix();
  });

  it("for the first block", async () => {
    const before = /^The node is at block 70, before block 80, which is to be written$/;
    await waits(start({ repeatMs: 1, fromBlock: 80 }), before);
  });

  it("and does not where it has all blocks", async () => {
    const running = start({ repeatMs: 0 });
    await running.wrote(HEAD);
    const asked = node.calls.length;
    while (node.calls.length < asked + 5) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(running.events.filter(({ event }) => event === "waiting")).toEqual([]);
  });

  it("also where a node refuses all the time", async () => {
    const running = start({ repeatMs: 1 });
    await running.wrote(HEAD);
    node.lie = () => new Error("out of order");
    const isIt = (event: IndexerEvent) =>
      event.event === "failure" && event.reason.endsWith("out of order");
    await running.heard(isIt);
    const before = running.events.filter(isIt).length;
    await running.heard((event) => isIt(event) && running.events.filter(isIt).length > before);
  });
});

describe("beside an honest node, a node that", () => {
  let honest: InventedNode;
  beforeEach(async () => {
    honest = await startInventedNode([...truth], FINAL);
  });
  afterEach(() => honest.stop());

  const orders: [string, () => string[]][] = [
    ["first", () => [node.url, honest.url]],
    ["second", () => [honest.url, node.url]],
  ];

  it.each(orders)("has other hashes, %s, does not stop a start", async (_, both) => {
    // Without a market, a range of market logs is empty, and is asked elsewhere.
    const quiet = chainOf(ACTS.map((acts) => acts.filter((act) => act.do !== "list")));
    for (const one of [node, honest]) one.blocks = quiet.slice(0, -1);
    const first = start({ rpcUrls: both() });
    await first.wrote(HEAD - 1);
    await first.stop();
    for (const one of [node, honest]) one.blocks = quiet;
    node.lie = onBlock(HEAD - 1, (header) => ({ ...header, hash: `0x${"7".repeat(64)}` }));

    expect(await outcome(start({ rpcUrls: both() }))).toBe("");
    await expectPrefix(
      quiet,
      ACTS.map((acts) => acts.filter((act) => act.do !== "list")),
    );
  });

  it.each(orders)("has another state, %s, does not make logs doubtful", async (_, both) => {
    node.lie = (call, right) => {
      const [request] = call.params as { data?: string }[];
      const isOffer =
        call.method === "eth_call" && request?.data?.startsWith("0x4579268a") === true;
      return isOffer ? `0x${"0".repeat(63)}7${"0".repeat(192)}` : right;
    };
    const running = start({ rpcUrls: both() });

    expect(await outcome(running)).toBe("");
    expect(running.events.filter(({ event }) => event === "failure")).toEqual([]);
    await expectPrefix();
  });
});
