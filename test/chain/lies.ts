// The tests of the indexer behind a node that lies: no wrong row, whatever the node says. When the node tells the truth
// again, the database equals one that was indexed from an honest node; until then it is a prefix of that. The chain is taken
// back after each lie: it would grow with all of them, and is indexed from its first block four times for each.
import type { Address, Hex } from "viem";
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
/** The chain without the blocks that a lie has added. */
let begun: Hex;
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
  begun = await chain.snapshot();
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

async function beginAnew(): Promise<void> {
  await honest.stop();
  await chain.revert(begun);
  begun = await chain.snapshot();
  await truth.empty();
  honest = startIndexing(indexer(truth, [chain.url]));
}

const indexer = ({ url: databaseUrl }: TestDatabase, rpcUrls: string[]) => ({
  ...{ databaseUrl, rpcUrls, url: rpcUrls[0]!, exchange: exchange.address, fromBlock },
  finality: FINALITY,
});

function start({ faults, rpcUrls = [node.url] }: Run): Indexing {
  indexing = startIndexing({
    ...indexer(database, rpcUrls),
    // Of any other node, a machine that halts for a moment is no fault.
    ...(faults.some(({ name }) => name === "no answer") && { requestTimeoutMs: 250 }),
  });
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
  const lied = running ?? start(run);
  if (running !== undefined) await trade(1);
  const said = await settled(lied, lies, run.isPassing);
  // Until it has stopped, it may be about to take back what it found to be incomplete.
  if (!said.some((reason) => reason.startsWith("A log is missing")) || (await isHalted(lied))) {
    await expectPrefix();
  }
  node.tellTheTruth();
  const honestly = (await isHalted(lied)) ? start(run) : lied;
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

/** A fault, as what a node does, and what the indexer says of it if it cannot overcome it. */
export type Lied = [does: string, fault: Fault, says: RegExp];

export function describeLies(lied: Lied[]): void {
  describe.each(lied)("a node that %s", (_, fault, says) => {
    afterAll(beginAnew);

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
}
