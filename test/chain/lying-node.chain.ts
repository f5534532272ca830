// The lying node in front of a real chain, by viem's client.
import { createPublicClient, http } from "viem";
import { startChain, type TestChain } from "./chain.ts";
import { startLyingNode, type LyingNode } from "./lying-node.ts";

let chain: TestChain;
let node: LyingNode;

beforeAll(async () => {
  chain = await startChain({ start: new Date("2024-01-01T00:00:00Z") });
  node = await startLyingNode(chain.url);
});

afterEach(() => node.tellTheTruth());

afterAll(async () => {
  await node.stop();
  await chain.stop();
});

const client = () =>
  createPublicClient({ transport: http(node.url, { retryCount: 0 }), cacheTime: 0 });

it("answers as the chain does, from the time that the chain was to start", async () => {
  const exchange = await chain.deployExchange();
  await exchange.setDust(0, exchange.address, 1n);
  const blocks = { fromBlock: 0n, toBlock: "latest" } as const;

  expect(await client().getLogs(blocks)).toEqual(await chain.client.getLogs(blocks));
  expect(await client().getBlock()).toEqual(await chain.client.getBlock());
  const first = await client().getBlock({ blockNumber: 0n });
  expect(new Date(Number(first.timestamp) * 1000).toISOString()).toBe("2024-01-01T00:00:00.000Z");
});

it("shows the chain of some blocks ago, and has its errors reach the client", async () => {
  const head = await chain.mine(5);
  node.lie({ name: "behind", blocks: 3 });
  expect(await client().getBlockNumber()).toBe(head - 3n);
  await expect(client().getBlock({ blockNumber: head })).rejects.toThrow("could not be found");

  node.tellTheTruth();
  node.lie({ name: "range refused", provider: "Infura, blocks", limit: 2 });
  await expect(client().getLogs({ fromBlock: 0n, toBlock: head })).rejects.toThrow(
    `range ${head} exceeds limit of 2`,
  );
  node.tellTheTruth();
  node.lie({ name: "range refused", provider: "QuickNode", limit: 2 });
  await expect(client().getLogs({ fromBlock: 0n, toBlock: head })).rejects.toThrow("Status: 413");
});

it("goes when the chain goes", async () => {
  const other = await startChain();
  const proxy = await startLyingNode(other.url);
  await other.stop();
  const lost = createPublicClient({ transport: http(proxy.url, { retryCount: 0 }) });
  await expect(lost.getBlockNumber()).rejects.toThrow("HTTP request failed");
  await proxy.stop();
});
