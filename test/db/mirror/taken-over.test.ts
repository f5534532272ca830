// An indexer takes the place of `follow`: it asks its node what factories made in the blocks that came from the origin.
import { uniswapV2 } from "../../../chain/exchanges/uniswap-v2.ts";
import { verifyRange } from "../../../chain/comparing.ts";
import { startIndexing, type Indexing } from "../../chain/indexing.ts";
import { chainOf, EXCHANGE, startInventedNode, type Act } from "../../chain/invented-chain.ts";
import { act, made, mint, poolOf, swap, sync } from "../../chain/pair-events.ts";
import type { TestDatabase } from "../../database.ts";
import { headOf, useMirrored } from "./following.ts";

const mirrored = useMirrored(() => Promise.resolve());

const HEAD = 40;

/** Two pools that the factory makes in blocks 1 and 20, and a third of block 30: each is traded in every second block after its first. */
const acts = Array.from({ length: HEAD + 1 }, (_, block): Act[] =>
  [1, 20, 30].flatMap((first, n) => {
    const number = BigInt(n + 1);
    const pool = poolOf(number);
    if (block === first) return [act([made(number)], EXCHANGE)];
    if (block === first + 1) return [act([sync(1000n, 2000n), mint(1000n, 2000n)], pool)];
    if (block <= first || (block - first) % 2 === 0) return [];
    const traded = BigInt((block - first - 1) / 2);
    return [act([sync(1000n + traded, 2000n - traded), swap(1n, 0n, 0n, 1n)], pool)];
  }),
);

let indexing: Indexing | undefined;

afterEach(async () => {
  await indexing?.stop().catch(() => undefined);
  await mirrored.origin.empty();
  await mirrored.mirror.empty();
});

const tradesOf = async ({ reader }: TestDatabase): Promise<unknown[]> => {
  const { rows } = await reader.query(
    "select block, idx, venue, taker, lot_amt, bid_amt from dex_trade order by id",
  );
  return rows;
};

it.each([
  ["a record of its origin", true],
  ["no record", false],
])("an indexer has all pools of a mirror with %s", async (_, isRecorded) => {
  await using stack = new AsyncDisposableStack();
  const { origin, mirror } = mirrored;
  const node = await startInventedNode(chainOf(acts.slice(0, 26)), 25);
  stack.defer(() => node.stop());
  const settings = {
    ...{ url: node.url, exchange: EXCHANGE, decoder: uniswapV2, fromBlock: 0 },
    ...{ finality: undefined, taker: "event" as const },
  };
  const first = startIndexing({ ...settings, databaseUrl: origin.url });
  await first.wrote(25);
  await mirrored.catchUp();
  if (!isRecorded) await mirror.owner.query("delete from dex_private.index_source");

  const grow = async (head: number): Promise<void> => {
    node.blocks = chainOf(acts.slice(0, head + 1));
    node.finalized = head;
    await first.wrote(head);
  };
  const takeOver = async (head: number): Promise<void> => {
    indexing = startIndexing({ ...settings, databaseUrl: mirror.url });
    await indexing.wrote(head);
    await indexing.stop();
  };
  await grow(28);
  await takeOver(28);
  // Again, after the origin has given the third pool.
  await grow(33);
  await mirrored.catchUp();
  await grow(HEAD);
  await first.stop();
  await takeOver(HEAD);
  expect(await tradesOf(mirror)).toEqual(await tradesOf(origin));
  expect(await headOf(mirror)).toEqual(await headOf(origin));
  // Pool 1: blocks 4, 6 to 40 with 19 trades. Pool 2: 23, 25 to 39 with 9. Pool 3: 33 to 39 with 4.
  expect(await tradesOf(origin)).toHaveLength(19 + 9 + 4);
});

it("--verify has the pools of a mirror's earlier blocks", async () => {
  await using stack = new AsyncDisposableStack();
  const node = await startInventedNode(chainOf(acts), HEAD);
  stack.defer(() => node.stop());
  const settings = {
    ...{ exchange: EXCHANGE, decoder: uniswapV2, fromBlock: 0 },
    ...{ finality: undefined, taker: "event" as const },
  };
  const first = startIndexing({ ...settings, url: node.url, databaseUrl: mirrored.origin.url });
  await first.wrote(HEAD);
  await first.stop();
  await mirrored.catchUp();
  const differences = await Array.fromAsync(
    verifyRange(
      {
        ...{ ...settings, databaseUrl: mirrored.mirror.url, rpcUrls: [node.url] },
        ...{ requestsPerSecond: 10_000, backoffMs: 1, signal: AbortSignal.timeout(60_000) },
      },
      32,
      HEAD,
    ),
  );
  expect(differences).toEqual([]);
});
