// What an indexer says of itself: how far it is, and why it is not ready.
import { IndexerStatus } from "../../chain/index-status.ts";
import type { IndexerEvent } from "../../chain/indexer-options.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Call,
  type InventedNode,
} from "./invented-chain.ts";

const HEAD = 8;

let database: TestDatabase;
let node: InventedNode;
let status: IndexerStatus;
let indexing: Indexing | undefined;

beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(async () => {
  await database.empty();
  node = await startInventedNode(chainOf(Array.from({ length: HEAD + 1 }, () => [])), 0);
  await start().wrote(HEAD);
  await indexing!.stop();
});
afterEach(async () => {
  await indexing?.stop().catch(() => undefined);
  await node.stop();
});
afterAll(() => database.drop());

function start(): Indexing {
  status = new IndexerStatus();
  indexing = startIndexing({
    ...{ databaseUrl: database.url, url: node.url, exchange: EXCHANGE, finality: 2, repeatMs: 1 },
    onEvent: status.report,
  });
  return indexing;
}

const grows = (blocks: number): void => {
  const acts = Array.from({ length: node.blocks.length + blocks }, () => []);
  node.blocks = chainOf(acts, "", node.blocks);
};

const heard = (event: IndexerEvent["event"]) => indexing!.heard((one) => one.event === event);

/** The values of these gauges; undefined for one without. */
async function gauges(): Promise<(number | undefined)[]> {
  const names = ["known_block", "indexed_block", "lag_blocks", "lag_seconds"];
  return Promise.all(
    names.map(async (name) => {
      const metric = await status.registry.getSingleMetric(`dex_chain_${name}`)!.get();
      return metric.values[0]?.value;
    }),
  );
}

it("is ready after a start on a database that has the head of the chain", async () => {
  start();
  expect(status.reasons()).toEqual(["The indexer waits: It has not read the chain yet"]);
  await heard("upToDate");
  expect(status.reasons()).toEqual([]);
  expect(await gauges()).toEqual([HEAD, HEAD, 0, 0]);
});

it("says how far it lags after a start where the node refuses what is next", async () => {
  grows(3);
  node.lie = ({ method }: Call, truth) =>
    method === "eth_getLogs" ? new Error("no logs today") : truth;
  start();
  await heard("failure");
  expect(status.reasons()).toEqual([expect.stringContaining("no logs today")]);
  expect(await gauges()).toEqual([HEAD + 3, HEAD, 3, 36]);
});

it("says how far the database is where no node answers", async () => {
  node.page = "no";
  start();
  await heard("failure");
  expect(await gauges()).toEqual([undefined, HEAD, undefined, undefined]);
});

it("is not ready while it waits for a block that the node lacks", async () => {
  start();
  await heard("upToDate");
  const next = `0x${(HEAD + 1).toString(16)}`;
  node.lie = ({ method, params }: Call, truth) =>
    method === "eth_getBlockByNumber" && String(params[0]) === next ? null : truth;
  grows(2);
  await heard("waiting");
  expect(status.reasons()).toEqual([
    `The indexer waits: The node does not have block ${HEAD + 1}, and named block ${HEAD + 2}`,
  ]);
  node.lie = undefined;
  await indexing!.wrote(HEAD + 2);
  expect(status.reasons()).toEqual([]);
});
