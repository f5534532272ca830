// The indexer behind a node that lies: no wrong row, whatever the node says. When the node tells the truth again,
// the database equals one that was indexed from an honest node; until then it is a prefix of that.
import type { Address } from "viem";
import { Halt } from "../../chain/halt.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import type { Exchange } from "./exchange.ts";
import { comparable, indexedRows, upTo } from "./indexed-rows.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import { startLyingNode, type Fault, type Lie, type LyingNode } from "./lying-node.ts";

const ETHER = 10n ** 18n;
const FINALITY = 10;

let chain: TestChain;
let exchange: Exchange;
let fromBlock: number;
let weth: Address;
let dai: Address;
let node: LyingNode;
/** What an indexer of the honest node writes, all the time. */
let truth: TestDatabase;
let honest: Indexing;
let database: TestDatabase;
let indexing: Indexing | undefined;

const ofWeth = (payAmount: bigint) => ({
  pay: weth,
  payAmount,
  buy: dai,
  buyAmount: payAmount * 200n,
});

/** Blocks with all kinds of events, and some without. */
async function trade(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const [first, second] = [(await exchange.lastId()) + 1n, (await exchange.lastId()) + 2n];
    await chain.setAutomine(false);
    await exchange.make(1, ofWeth(3n * ETHER));
    await exchange.make(2, ofWeth(5n * ETHER));
    await chain.mine();
    await exchange.take(3, first, ETHER);
    await exchange.take(4, second, 2n * ETHER);
    await exchange.bump(1, first);
    await chain.mine();
    await exchange.kill(1, first);
    await exchange.take(3, second, 3n * ETHER);
    await exchange.make(4, { pay: dai, payAmount: ETHER, buy: weth, buyAmount: ETHER });
    await chain.mine();
    await chain.setAutomine(true);
    // The offers of the rounds before stay.
    await exchange.match(5, { pay: dai, payAmount: ETHER, buy: weth, buyAmount: 3n * ETHER });
    await chain.mine();
  }
}

beforeAll(async () => {
  chain = await startChain();
  await chain.mine(3);
  exchange = await chain.deployExchange();
  fromBlock = Number(await chain.client.getBlockNumber());
  weth = await chain.deployToken("string", { symbol: "WETH" });
  dai = await chain.deployToken("bytes32", { symbol: "DAI" });
  await trade(1);
  await exchange.whitelist(0, weth, dai);
  await exchange.setDust(0, dai, 1000n);
  await trade(8);
  await chain.mine(FINALITY + 2);
  node = await startLyingNode(chain.url);
  truth = await makeDatabase();
  database = await makeDatabase();
  honest = startIndexing(indexer(truth, [chain.url]));
});

afterAll(async () => {
  await honest.stop();
  await node.stop();
  await truth.drop();
  await database.drop();
  await chain.stop();
});

afterEach(async () => {
  node.tellTheTruth();
  await indexing?.stop().catch(() => undefined);
});

const indexer = ({ url: databaseUrl }: TestDatabase, rpcUrls: string[]) => ({
  ...{ databaseUrl, rpcUrls, url: rpcUrls[0]!, exchange: exchange.address, fromBlock },
  ...{ finality: FINALITY, requestTimeoutMs: 250 },
});

function start(rpcUrls = [node.url]): Indexing {
  indexing = startIndexing(indexer(database, rpcUrls));
  return indexing;
}

/** What the indexer has said of the lie: failures, and why it has stopped. */
type Said = string[];

/** Waits until the indexer has all blocks, says that something is wrong, stops, or has met the lie so often. */
async function settled(running: Indexing, lies: Lie[], isPassing: boolean): Promise<Said> {
  const head = await chain.client.getBlockNumber();
  const said = (): Said =>
    running.events.flatMap((event) => (event.event === "failure" ? [event.reason] : []));
  const hasMet = Promise.withResolvers<undefined>();
  const looking = setInterval(() => {
    const isEnough = lies.every(({ count }) => count >= 40);
    if (!isPassing && (isEnough || said().length > 0)) hasMet.resolve(undefined);
  }, 5);
  const stopped = running.ended.then(
    () => [],
    (error: unknown) => {
      if (!(error instanceof Halt)) throw error;
      return [error.message];
    },
  );
  const reasons = await Promise.race([
    stopped,
    running.wrote(head).then(
      () => [],
      () => stopped,
    ),
    hasMet.promise,
  ]);
  clearInterval(looking);
  return [...said(), ...(reasons ?? [])];
}

const isHalted = async (running: Indexing): Promise<boolean> =>
  Promise.race([
    running.ended.then(
      () => true,
      () => true,
    ),
    new Promise<false>((resolve) => setImmediate(resolve, false)),
  ]);

/** Each row that is there is right, and none is missing before the last block that is there. */
async function expectPrefix(): Promise<void> {
  const { head, ...rows } = await indexedRows(database.owner);
  await honest.wrote(head);
  expect(upTo(head, rows)).toEqual(upTo(head, await indexedRows(truth.owner)));
}

async function expectTruth(running: Indexing): Promise<void> {
  const head = await chain.mine();
  await Promise.all([running.wrote(head), honest.wrote(head)]);
  const [rows, right] = await Promise.all([indexedRows(database.owner), indexedRows(truth.owner)]);
  expect(comparable(rows)).toEqual(comparable(right));
}

interface Run {
  faults: Fault[];
  isPassing: boolean;
  rpcUrls?: string[];
}

/** Lies to a running indexer or to a new one, then tells the truth, and compares. */
async function lieTo(running: Indexing | undefined, run: Run): Promise<Said> {
  const lies = run.faults.map((fault) => node.lie(fault));
  const lied = running ?? start(run.rpcUrls);
  if (running !== undefined) await trade(1);
  const said = await settled(lied, lies, run.isPassing);
  // Until it has stopped, it may be about to take back what it found to be incomplete.
  if (!said.some((reason) => reason.startsWith("A log is missing")) || (await isHalted(lied))) {
    await expectPrefix();
  }
  node.tellTheTruth();
  const honestly = (await isHalted(lied)) ? start(run.rpcUrls) : lied;
  await expectTruth(honestly);
  return said;
}

/** In backfill, then at the head. */
async function lieInBoth(run: Run): Promise<Said> {
  await database.empty();
  const inBackfill = await lieTo(undefined, run);
  const atHead = await lieTo(indexing, run);
  await indexing?.stop();
  return [...inBackfill, ...atHead];
}

/** The fault, and what the indexer says of it if it cannot overcome it. */
const FAULTS: [string, Fault, RegExp][] = [
  ["answers late", { name: "late", ms: 20 }, /never/],
  ["does not answer", { name: "no answer" }, /timed out/],
  ["closes the connection", { name: "closed connection" }, /fetch failed/],
  ["answers 429", { name: "status", status: 429, retryAfter: 0.02 }, /status 429/],
  ["answers 503", { name: "status", status: 503, body: "no backend" }, /status 503/],
  ["sends half a body", { name: "half body" }, /terminated/],
  ["sends half the JSON", { name: "wrong JSON" }, /JSON/],
  ["sends a page", { name: "HTML" }, /JSON/],
  ["reverses a batch", { name: "reversed batch" }, /never/],
  ["shortens a batch", { name: "short batch" }, /Expected \d+ responses/],
  ["refuses", { name: "RPC error", code: -32603, message: "internal error" }, /internal error/],
  [
    "refuses logs",
    { name: "RPC error", code: -32000, message: "no logs", methods: ["eth_getLogs"] },
    /no logs/,
  ],
  [
    "refuses blocks",
    { name: "RPC error", code: -32000, message: "no", methods: ["eth_getBlockByNumber"] },
    /eth_getBlockByNumber: no/,
  ],
  ["refuses ranges", { name: "range refused", provider: "Infura, logs", limit: 20 }, /never/],
  ["refuses ranges of 9 blocks", { name: "range refused", provider: "BlockPI", limit: 9 }, /never/],
  ["drops all logs", { name: "dropped logs", which: "all" }, /not whole|log is missing/],
  ["drops the first log", { name: "dropped logs", which: "first" }, /not whole/],
  ["drops a log", { name: "dropped logs", which: "middle" }, /not whole/],
  ["drops the last log", { name: "dropped logs", which: "last" }, /not whole/],
  [
    "drops the first transaction",
    { name: "dropped transaction", which: "first" },
    /not whole|log is missing/,
  ],
  [
    "drops a transaction",
    { name: "dropped transaction", which: "middle" },
    /not whole|log is missing/,
  ],
  [
    "drops the last transaction",
    { name: "dropped transaction", which: "last" },
    /not whole|log is missing/,
  ],
  ["cuts ranges in silence", { name: "silent limit", logs: 30 }, /not whole/],
  ["adds a foreign log", { name: "foreign log" }, /not whole/],
  ["marks logs as removed", { name: "removed logs" }, /marked as removed/],
  ["repeats logs", { name: "repeated logs" }, /not whole/],
  ["reverses logs", { name: "reversed logs" }, /never/],
  ["gives logs of another block", { name: "logs of another block" }, /not whole/],
  ["gives logs without time", { name: "logs without time" }, /never/],
  ["is behind", { name: "behind", blocks: 4 }, /does not have block|unknown block/],
  [
    "is behind with logs",
    { name: "behind", blocks: 15, methods: ["eth_getLogs"] },
    /not whole|unknown block|log is missing/,
  ],
  [
    "is behind with blocks",
    { name: "behind", blocks: 4, methods: ["eth_getBlockByNumber"] },
    /does not have block/,
  ],
  ["tells an old height", { name: "old height", blocks: 4 }, /never/],
  ["tells another chain's id", { name: "other chain", chainId: 5 }, /chain/],
  [
    "gives wrong hashes",
    { name: "wrong hash" },
    /the parent of|when asked again|follow|is 0x|cannot be found/,
  ],
  ["gives wrong parents", { name: "wrong parent" }, /the parent of|does not follow/],
  ["does not have blocks", { name: "no block" }, /not have block/],
  ["empties blooms", { name: "wrong bloom", bloom: "empty" }, /never/],
  ["fills blooms", { name: "wrong bloom", bloom: "full" }, /not whole/],
];

describe.each(FAULTS)("a node that %s", (_, fault, says) => {
  it("always: says so, or overcomes it", async () => {
    const said = await lieInBoth({ faults: [fault], isPassing: false });
    for (const reason of said) expect(reason).toMatch(says);
  });

  it("now and then", async () => {
    await lieInBoth({ faults: [{ ...fault, times: 2 }], isPassing: true });
    const seldom = { ...fault, probability: 0.2, times: 10 };
    // Ranges are short, so that there are many.
    const short: Fault = { name: "range refused", provider: "BlockPI", limit: 7 };
    await lieInBoth({ faults: [seldom, short], isPassing: true });
  });

  it("beside an honest one", async () => {
    await lieInBoth({ faults: [fault], isPassing: true, rpcUrls: [node.url, chain.url] });
  });
});
