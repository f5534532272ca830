// The indexer behind a balancer whose nodes are on two branches of one chain.
import { generateChain } from "./recorded/generate.ts";
import { startRecordedNode, type RecordedNode } from "./recorded/recorded-node.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { comparable, indexedRows } from "./indexed-rows.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import { startLyingNode, type LyingNode } from "./lying-node.ts";

const made = { events: 400, blocks: 130, chainId: 5 };
const one = generateChain(made);
const other = generateChain({ ...made, fork: { block: 115, seed: 2 } });

let nodes: RecordedNode[];
let balancer: LyingNode;
let database: TestDatabase;
let truth: TestDatabase;
let indexing: Indexing[];

beforeEach(async () => {
  nodes = [
    await startRecordedNode(one, { head: 128 }),
    await startRecordedNode(other, { head: 128 }),
  ];
  balancer = await startLyingNode(nodes[0]!.url);
  [database, truth] = [await makeDatabase(), await makeDatabase()];
  indexing = [];
});

afterEach(async () => {
  for (const each of indexing) await each.stop().catch(() => undefined);
  await Promise.all([database.drop(), truth.drop(), balancer.stop()]);
  for (const node of nodes) await node.stop();
});

function start({ url: databaseUrl }: TestDatabase, url: string): Indexing {
  const { exchange } = one;
  const started = startIndexing({ databaseUrl, url, exchange, fromBlock: 1, finality: 20 });
  indexing.push(started);
  return started;
}

it.each([
  ["two heads in turn", { every: 2 }],
  ["two heads at random", { probability: 0.4 }],
  ["the other head for a while", { times: 60 }],
])("has the rows of one branch alone after %s", async (_, how) => {
  const lie = balancer.lie({ name: "other node", url: nodes[1]!.url, ...how });
  const lied = start(database, balancer.url);
  const stopped = lied.ended.catch(() => undefined);
  const hasMet = Promise.withResolvers<undefined>();
  const looking = setInterval(() => {
    if (lie.count >= 60) hasMet.resolve(undefined);
  }, 5);
  await Promise.race([stopped, hasMet.promise]);
  clearInterval(looking);
  balancer.tellTheTruth();

  const honest = start(truth, nodes[0]!.url);
  for (const block of [129, 130]) {
    nodes[0]!.setHead(block);
    await Promise.all([lied.wrote(block), honest.wrote(block)]);
  }
  expect(comparable(await indexedRows(database.owner))).toEqual(
    comparable(await indexedRows(truth.owner)),
  );
});
