// The indexer against a node that a stranger controls: no wrong row, whatever it says, and a message that names it.
import { concatHex, getAddress, keccak256, numberToHex, stringToHex, type Hex } from "viem";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import type { IndexerEvent } from "../../chain/indexer-options.ts";
import { readRanges } from "../../chain/ranges.ts";
import { Requests } from "../../chain/requests.ts";
import { ChainSource } from "../../chain/source.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  DAI,
  EXCHANGE,
  PAIR,
  startInventedNode,
  type Act,
  type Call,
  type InventedNode,
  type Log,
  type MadeBlock,
  WETH,
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
      idx += { list: 1, emit: 1, "emit all": 0, other: 1, make: 2, take: 3, kill: 2 }[act.do];
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

it("is believed where it is right", async () => {
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

  it.each([
    ["final", 5],
    ["read as final", FINAL - 5],
  ])("about a block that was %s, while the indexer does not run", async (_, from) => {
    const running = start();
    await running.wrote(HEAD);
    await running.stop();
    const before = await recorded();
    node.blocks = branch(from);
    const said = await outcome(start(), HEAD + 2);

    expect(said).toMatch(/^stopped: The chain has another branch below block 60, which is final/);
    expect(await recorded()).toEqual(before);
  });

  it("about a final block: the indexer goes on once an operator has taken the others back", async () => {
    const running = start();
    await running.wrote(HEAD);
    node.blocks = branch(FINAL - 5);
    const said = await outcome(running, HEAD + 2);
    expect(said).toContain("`set role dex_writer; select ingest.take_back(N)`");
    await database.writer.query("select ingest.take_back($1)", [FINAL - 6]);
    expect(await outcome(start(), HEAD + 2)).toBe("");
    await expectPrefix(node.blocks);
  });

  it("about a block that was audited before it was final: what replaces it is audited too", async () => {
    const running = start();
    await running.wrote(HEAD);
    await running.heard((event) => event.event === "audit" && !event.isDue);
    // All nodes leave out a whole transaction of the new branch, and a bloom hides it.
    const longer = branch(FINAL + 2, HEAD + 61);
    const isLeftOut = isIn(67, 68);
    node.blocks = longer.slice(0, -1);
    node.logs = (blocks) => blocks.flatMap(({ logs }) => logs.filter((log) => !isLeftOut(log)));
    node.lie = (call, right) =>
      [67, 68].reduce(
        (told, number) =>
          onBlock(number, (header) => ({ ...header, logsBloom: numberToHex(1n, { size: 256 }) }))(
            call,
            told,
          ),
        right,
      );
    await running.wrote(longer.length - 2);
    node.blocks = longer;
    node.finalized = HEAD + 40;
    await expect(running.ended).rejects.toThrow(
      /^A log is missing or wrong: .*The database has what is certain, the blocks up to 6\d/,
    );
    await expectPrefix(longer);
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
    const before =
      /^The first block, 80 \(after @ in EXCHANGE, else FROM_BLOCK\), is above the head of the chain, block 70$/;
    await waits(start({ repeatMs: 1, fromBlock: 80 }), before);
  });

  it.each<[string, () => void, RegExp]>([
    [
      "for a final block that can be read",
      () => {
        node.lie = (call, right) => (String(call.params[0]) === "finalized" ? {} : right);
      },
      /the block "finalized" cannot be read .*--finality \(FINALITY\) does without it$/,
    ],
    [
      "for an answer in place of a proxy's page",
      () => (node.page = "<html><title>Forbidden</title></html>"),
      /^eth_getBlockByNumber at [\d.:]+: status 403/,
    ],
  ])("%s", async (_, happens, reason) => {
    happens();
    const running = start({ repeatMs: 1 });
    const isIt = (event: IndexerEvent) => event.event === "failure" && reason.test(event.reason);
    for (const times of [1, 2, 3]) {
      await running.heard((event) => isIt(event) && running.events.filter(isIt).length >= times);
    }
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

  const corrupt = (change: (log: Log) => Log) => onLogs((logs) => logs.map(change));
  it.each<[string, number, NonNullable<InventedNode["lie"]>]>([
    [
      "a log's timestamp",
      FINAL,
      corrupt((log) => ({ ...log, blockTimestamp: numberToHex(Number(log.blockTimestamp) + 1) })),
    ],
    ["a word", FINAL, corrupt((log) => ({ ...log, data: log.data.slice(0, -2) as Hex }))],
    [
      "a pair",
      FINAL,
      corrupt(({ topics: [kind, ...rest], ...log }) => ({
        ...log,
        topics: [kind!, ...rest.map((topic) => (topic === PAIR ? keccak256(PAIR) : topic))],
      })),
    ],
    [
      "a header's time near the head",
      0,
      onBlock(24, (header) => ({ ...header, timestamp: numberToHex(1_600_000_000) })),
    ],
  ])("has %s wrong is asked again, and the other one", async (_, finalized, lie) => {
    for (const one of [node, honest]) one.finalized = finalized;
    let lies = 0;
    node.lie = (call, right) => {
      const answer = lie(call, right);
      if (JSON.stringify(answer) !== JSON.stringify(right)) lies += 1;
      return answer;
    };

    // Tokens are read from both, the second answer from the other one.
    const urls = [node.url, honest.url];
    expect(await outcome(start({ rpcUrls: finalized === 0 ? urls.reverse() : urls }))).toBe("");
    expect(await expectPrefix()).toBe(HEAD);
    expect(lies).toBeGreaterThan(0);
  });
});

it("compares no offers with the state of a block in which the contract is not made yet", async () => {
  node.finalized = 0;
  const early = new Set(truth.slice(0, 6).map(({ header }) => header.hash));
  node.lie = (call, right) => {
    const [, at] = call.params as (string | { blockHash?: Hex })[];
    const isEarly = typeof at === "object" && early.has(at.blockHash!);
    return isEarly && ["eth_call", "eth_getCode"].includes(call.method) ? "0x" : right;
  };
  const running = start();
  expect(await outcome(running)).toBe("");
  expect(running.events.filter(({ event }) => event === "doubt")).toEqual([]);
});

describe("the time of a log", () => {
  it.each<[string, unknown]>([
    ["0", "0x0"],
    ["a number of JSON", 1_600_000_000],
    ["null", null],
  ])("is that of the event or the header where a node sends %s", async (_, blockTimestamp) => {
    node.finalized = 30;
    node.lie = onLogs((logs) => logs.map((log) => ({ ...log, blockTimestamp })));

    expect(await outcome(start())).toBe("");
    expect(await expectPrefix()).toBe(HEAD);
  });
});

it("believes Polygon's logs of state sync, which blooms leave out", async () => {
  node.chainId = 137;
  node.finalized = 0;
  const { hash } = truth[24]!.header;
  const key = concatHex([stringToHex("matic-bor-receipt-"), numberToHex(24, { size: 8 }), hash]);
  const stateSync = (logs: Log[]): Log => ({
    ...logs.at(-1)!,
    ...{ address: "0x0000000000000000000000000000000000001001", topics: [keccak256("0x01")] },
    ...{ transactionHash: keccak256(key), logIndex: numberToHex(logs.length) },
  });
  node.lie = onLogs((logs, { params: [filter] }) =>
    (filter as unknown as { blockHash?: string }).blockHash === hash
      ? [...logs, stateSync(logs)]
      : logs,
  );
  expect(await outcome(start())).toBe("");
  expect(await expectPrefix()).toBe(HEAD);

  await indexing?.stop();
  await database.empty();
  node.chainId = 1;
  expect(await outcome(start())).toMatch(/^stopped: The logs of block 24 .* 0x0+1001/);
});

describe("a recording of one contract's logs", () => {
  const isOfExchange = (log: Log): boolean => log.address === EXCHANGE;

  it("is asked often for the first block alone", async () => {
    node.finalized = 0;
    node.logs = (blocks) => blocks.flatMap(({ logs }) => logs.filter(isOfExchange));
    // No block is whole by itself.
    const busy = chainOf(ACTS.map((acts) => [{ do: "other" }, ...acts]));
    node.blocks = busy;
    const asked = new Map<unknown, number>();
    node.lie = onLogs((logs, { params: [filter] }) => {
      const { blockHash } = filter as unknown as { blockHash?: string };
      asked.set(blockHash, (asked.get(blockHash) ?? 0) + 1);
      return logs;
    });
    const running = start();
    await running.wrote(HEAD);

    const times = busy.map(({ header }) => asked.get(header.hash) ?? 0).filter((n) => n > 0);
    expect(times[0]).toBeGreaterThan(3);
    expect(times.slice(1).every((n) => n === 1)).toBe(true);
    const { trades } = await recorded();
    expect(trades).toHaveLength(rowsOf(truth, ACTS).trades.length);
  });
});

describe("a range that a node refuses", () => {
  it("is not asked again in a later session", async () => {
    const refused: number[] = [];
    node.finalized = HEAD;
    node.lie = onLogs((logs, { params: [filter] }) => {
      const { fromBlock, toBlock } = filter as unknown as { fromBlock?: string; toBlock?: string };
      const blocks = Number(toBlock) - Number(fromBlock) + 1;
      if (!(blocks > 8)) return logs;
      refused.push(blocks);
      return new Error("block range is too wide");
    });
    const requests = new Requests({
      ...{ urls: [node.url], perSecond: 10_000, backoffMs: 1 },
      signal: new AbortController().signal,
    });
    const source = new ChainSource({
      ...{ requests, exchange: EXCHANGE, decoder: matchingMarket, doubtMs: 1 },
      signal: new AbortController().signal,
    });
    const readAll = async () => {
      for await (const { from } of readRanges(source, { from: 0, to: 9 }))
        expect(from).toBeLessThan(10);
    };
    await readAll();
    expect(refused.length).toBeGreaterThan(0);
    refused.length = 0;
    await readAll();
    expect(refused).toEqual([]);
  });
});

describe("a first block behind offers", () => {
  const saidOf = async (options: object): Promise<string[]> => {
    const running = start(options);
    await running.wrote(HEAD);
    return running.events.flatMap((one) => (one.event === "leftOut" ? [one.reason] : []));
  };

  it.each<[string, InventedNode["lie"]]>([
    ["by the contract", undefined],
    [
      "by the first event, where no node has the old state",
      (call, right) => {
        const isOld =
          call.method === "eth_call" && (call.params as unknown[])[1] === numberToHex(39);
        return isOld ? new Error("missing trie node") : right;
      },
    ],
  ])("is named once, with what is missing and what to do, %s", async (_, lie) => {
    node.lie = lie;
    const said = await saidOf({ fromBlock: 40 });

    expect(said).toEqual([
      expect.stringMatching(
        /^Offers that 0x\w{40} made before its first block, 40 \(after @ in EXCHANGE, else FROM_BLOCK\), are left out.*offer 12.*new database/,
      ),
    ]);
  });

  it("is none where the first offer is behind it", async () => {
    expect(await saidOf({ fromBlock: 5 })).toEqual([]);
  });
});

describe("a setting that was wrong and is corrected", () => {
  const filled = async (options: object): Promise<void> => {
    await start(options).wrote(HEAD);
    await indexing?.stop();
  };
  const takeBack = () => database.writer.query("select ingest.take_back(-1)");

  it.each<[string, object, RegExp]>([
    ["first block", { fromBlock: 40 }, /first block 40, not 0/],
    ["taker", { taker: "sender" }, /taker sender, not event/],
  ])("is named: another %s; the database can be filled anew", async (_, wrong, says) => {
    await filled(wrong);
    expect(await outcome(start())).toMatch(says);
    await takeBack();
    expect(await outcome(start())).toBe("");
    expect(await expectPrefix()).toBe(HEAD);
  });

  it("is named: another contract, which has code and no logs", async () => {
    node.lie = (call, right) => {
      const [request] = call.params as { to?: string }[];
      return call.method === "eth_call" && request?.to?.toLowerCase() === OTHER ? "0x" : right;
    };
    await filled({ exchange: OTHER });
    const said = await outcome(start());
    expect(said).toMatch(
      /^stopped: The database was filled from contract 0xdac17f\w+, not 0x397553/,
    );
    expect(said).toMatch(/new database.*take_back\(-1\)/);
    await takeBack();
    expect(await outcome(start())).toBe("");
    expect(await expectPrefix()).toBe(HEAD);
  });

  it("is named: another chain, of which tokens are registered, also when all blocks are taken back", async () => {
    await filled({});
    node.chainId = 5;
    expect(await outcome(start())).toMatch(/chain 1, not 5/);
    await takeBack();
    expect(await outcome(start())).toMatch(/chain 1, not 5/);
  });

  it("is an address without code: it stops before it writes a block", async () => {
    node.lie = (call, right) => (["eth_getCode", "eth_call"].includes(call.method) ? "0x" : right);
    expect(await outcome(start())).toMatch(/^stopped: The address 0x397\w+ has no code on chain 1/);
    expect((await recorded()).blocks).toEqual([]);
    node.lie = undefined;
    expect(await outcome(start())).toBe("");
  });

  it("is a market of a file that was given the wrong way round: its prices are turned at the next start", async () => {
    const [dai, weth] = [DAI, WETH].map((address) => getAddress(address)) as [Hex, Hex];
    const one = { base: "DAI", baseGem: dai, quote: "WETH", quoteGem: weth, active: true };
    const right = { base: "WETH", baseGem: weth, quote: "DAI", quoteGem: dai, active: true };
    // A start writes a block, so that it is seen to be over.
    const marketsAfter = async (head: number, options: object): Promise<unknown[]> => {
      node.blocks = truth.slice(0, head + 1);
      await start(options).wrote(head);
      await indexing?.stop();
      const { rows } = await database.owner.query<object>(
        "select pair, trim_scale(last)::text as last, (select bool_and(act = 'sell') from dex_trade) as are_sold from dex_market",
      );
      return rows;
    };
    // 10 WETH are sold for 2,000 DAI.
    const turned = [{ pair: "WETH/DAI", last: "200", are_sold: true }];
    expect(await marketsAfter(HEAD - 2, { markets: [one] })).toEqual([
      { pair: "DAI/WETH", last: "0.005", are_sold: false },
    ]);
    expect(await marketsAfter(HEAD - 1, { markets: [right] })).toEqual(turned);
    expect(await marketsAfter(HEAD, {})).toEqual(turned);
  });

  it("is recorded where a database is filled without a record", async () => {
    await filled({});
    await database.owner.query("delete from dex_private.index_source");
    const running = start();
    expect(
      await running.heard((one) => "reason" in one && one.reason.includes("recorded now")),
    ).toMatchObject({
      event: "notice",
      reason: expect.stringContaining("It is recorded now as given: chain 1, 0x397553"),
    });
    await running.stop();
    expect(await outcome(start({ fromBlock: 3 }))).toMatch(/first block 0, not 3/);
  });
});

describe("a check that is refused for a moment", () => {
  const isOf = (call: Call, selector: string): boolean =>
    call.method === "eth_call" &&
    (call.params[0] as { data?: string } | undefined)?.data?.startsWith(selector) === true;

  it.each([
    ["the last offer", "0x232cae0b"],
    ["an offer", "0x4579268a"],
  ])("of %s is made again: a lost log is still seen", async (_, selector) => {
    let left = 3;
    node.lie = (call, right) =>
      isOf(call, selector) && (left -= 1) >= 0 ? new Error("busy") : right;
    node.logs = (blocks) => blocks.flatMap(({ logs }) => logs.filter((log) => !isIn(55, 56)(log)));
    expect(await outcome(start())).toMatch(/^stopped: |^waits: the kind of the contract/);
    await expectPrefix();
  });

  it("is due, until it is answered", async () => {
    let isBusy = true;
    node.lie = (call, right) => (isBusy && isOf(call, "0x4579268a") ? new Error("busy") : right);
    const running = start();
    await running.wrote(HEAD);
    const dues = () =>
      running.events.flatMap((event) => (event.event === "audit" ? [event.isDue] : []));
    expect(dues()).toEqual([true]);
    isBusy = false;
    await running.heard((event) => event.event === "audit" && !event.isDue);
    expect(dues()).toEqual([true, false]);
  });
});

describe("a wrong bloom near the head", () => {
  const LONGER = HEAD + 60;
  const acts = Array.from({ length: LONGER + 1 }, (_, n) =>
    n <= HEAD ? ACTS[n]! : n === HEAD + 50 ? [{ do: "other" as const }] : [],
  );
  const blind = (call: Call, right: unknown): unknown => {
    const header = right as MadeBlock["header"] | undefined;
    const isNear = Number(header?.number) > FINAL && Number(header?.number) <= HEAD;
    // Bits that are of no log.
    const bloom = numberToHex(1n, { size: 256 });
    return call.method === "eth_getBlockByNumber" && isNear
      ? { ...header, logsBloom: bloom }
      : right;
  };

  const noWideRange = (call: Call, right: unknown): unknown => {
    const [filter] = call.params as { fromBlock?: string; toBlock?: string }[];
    return filter?.fromBlock === filter?.toBlock
      ? blind(call, right)
      : new Error("block range is too wide");
  };
  const becomesFinal = (nodes: readonly InventedNode[]): void => {
    for (const one of nodes) {
      one.blocks = chainOf(acts, "", truth);
      one.finalized = HEAD + 40;
    }
  };
  const hasAll = async (running: Indexing): Promise<void> => {
    await running.wrote(LONGER);
    while ((await recorded()).trades.length < rowsOf(truth, ACTS).trades.length) {
      await Promise.race([running.ended, new Promise((resolve) => setTimeout(resolve, 10))]);
    }
    await expectPrefix(node.blocks, acts);
  };

  it("loses rows until they are final: then they are read again", async () => {
    node.lie = blind;
    const running = start();
    await running.wrote(HEAD);
    expect((await recorded()).trades.length).toBeLessThan(rowsOf(truth, ACTS).trades.length);
    becomesFinal([node]);
    await running.heard(
      (event) =>
        event.event === "failure" && event.reason.includes("read otherwise before it was final"),
    );
    await hasAll(running);
  });

  it.each<[string, number, NonNullable<InventedNode["lie"]>]>([
    ["first", 0, blind],
    ["second", 1, blind],
    ["first, taking no range of two blocks,", 0, noWideRange],
    ["second, taking no range of two blocks,", 1, noWideRange],
  ])("of a node that is %s beside an honest one loses none that is final", async (_, at, lie) => {
    const honest = await startInventedNode([...truth], FINAL);
    try {
      node.lie = lie;
      const running = start({ rpcUrls: [honest.url].toSpliced(at, 0, node.url) });
      await running.wrote(HEAD);
      becomesFinal([node, honest]);
      await hasAll(running);
      await running.stop();
    } finally {
      await honest.stop();
    }
  });

  it.each([
    ["two nodes before", [0, 0]],
    ["two nodes around", [0, 2]],
  ])("of %s an honest one does not stop it", async (_, places) => {
    const honest = await startInventedNode(truth.slice(0, FINAL + 1), FINAL);
    node.blocks = truth.slice(0, FINAL + 1);
    // The take in block 67 is missing, until the cancellation in block 69 says what is left.
    node.lie = onBlock(67, (header) => ({ ...header, logsBloom: numberToHex(1n, { size: 256 }) }));
    try {
      const urls = [honest.url];
      for (const at of places) urls.splice(at, 0, node.url);
      const running = start({ rpcUrls: urls });
      await running.wrote(FINAL);
      for (let n = FINAL + 2; n <= truth.length; n += 1) {
        for (const one of [node, honest]) one.blocks = truth.slice(0, n);
        await running.wrote(n - 1);
      }
      expect(await outcome(running)).toBe("");
      becomesFinal([node, honest]);
      await hasAll(running);
      await running.stop();
    } finally {
      await honest.stop();
    }
  });

  it("of a node that takes no range of two blocks stops with the block", async () => {
    node.lie = noWideRange;
    const running = start();
    await running.wrote(HEAD);
    becomesFinal([node]);
    await expect(running.ended).rejects.toThrow(
      /^The logs of blocks 61 to 61 are not whole.* the header's bloom does not have/,
    );
  });
});

it("takes nothing back that was audited where one log near the head is wrong", async () => {
  // 7 WETH are left of offer 11, which was made in block 30: the cancellation says more.
  const acts = [...ACTS, [{ do: "kill" as const, id: 11 }], []];
  node.blocks = chainOf(acts, "", truth);
  const last = HEAD + 1;
  node.lie = onLogs((logs) =>
    logs.map((log) =>
      Number(log.blockNumber) === last && log.data.length > 200
        ? { ...log, data: log.data.replace("6124fee993bc0000", "6124fee993bc0001") as Hex }
        : log,
    ),
  );
  const heads: number[] = [];
  const watched = start();
  const said = await outcome(watched, last);
  heads.push(await expectPrefix(node.blocks, acts));
  expect(said).toMatch(/^stopped: A log is missing or wrong: the cancellation/);
  expect(heads[0]).toBeGreaterThanOrEqual(FINAL);
});
