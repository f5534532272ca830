// An indexer takes the place of `follow`: it asks its node what factories made in the blocks that came from the origin.
import { tempo } from "../../../chain/exchanges/tempo.ts";
import { uniswapV2 } from "../../../chain/exchanges/uniswap-v2.ts";
import { verifyRange } from "../../../chain/comparing.ts";
import { startIndexing, type Indexing } from "../../chain/indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Act,
  type InventedNode,
} from "../../chain/invented-chain.ts";
import { act, made, mint, poolOf, swap, sync } from "../../chain/pair-events.ts";
import { created, filled, placed, QUOTE, turned } from "../../chain/tempo-events.ts";
import type { TestDatabase } from "../../database.ts";
import { headOf, useMirrored } from "./following.ts";

const mirrored = useMirrored(() => Promise.resolve());

const HEAD = 40;

/** Pools, the first of which is number 1, that the factory makes in these blocks: each is traded in every second block after its first. */
const actsOf = (firsts: readonly number[], pause = 0): Act[][] =>
  Array.from({ length: 61 }, (_, block) =>
    firsts.flatMap((first, n) => {
      const number = BigInt(n + 1);
      const pool = poolOf(number);
      const begun = first + 1 + pause;
      if (block === first) return [act([made(number)], EXCHANGE)];
      if (block === begun) return [act([sync(1000n, 2000n), mint(1000n, 2000n)], pool)];
      if (block < begun || (block - begun) % 2 === 1) return [];
      const traded = BigInt((block - begun) / 2);
      return [act([sync(1000n + traded, 2000n - traded), swap(1n, 0n, 0n, 1n)], pool)];
    }),
  );

const ACTS = actsOf([1, 20, 30]);

let decoder: typeof uniswapV2;
let node: InventedNode;
/** Of the origin. */
let first: Indexing;
let indexing: Indexing | undefined;

beforeEach(() => {
  decoder = uniswapV2;
});
afterEach(async () => {
  for (const one of [indexing, first]) await one?.stop().catch(() => undefined);
  await node.stop();
  for (const database of [mirrored.origin, mirrored.mirror]) {
    await database.empty();
    await database.owner.query("delete from dex_private.index_source");
    await database.owner.query("delete from dex_private.index_contract");
  }
});

const start = ({ url }: TestDatabase): Indexing =>
  startIndexing({
    ...{ databaseUrl: url, url: node.url, exchange: EXCHANGE, decoder, fromBlock: 0 },
    ...{ finality: undefined, taker: "event" },
  });

/** The origin's indexer is at this block. */
async function begin(acts: Act[][], head: number, finalized = head): Promise<void> {
  node = await startInventedNode(chainOf(acts.slice(0, head + 1)), finalized);
  first = start(mirrored.origin);
  await first.wrote(head);
}

async function grow(head: number, acts = ACTS): Promise<void> {
  node.blocks = chainOf(acts.slice(0, head + 1));
  node.finalized = head;
  await first.wrote(head);
}

async function takeOver(head: number): Promise<void> {
  indexing = start(mirrored.mirror);
  await indexing.wrote(head);
  await indexing.stop();
}

const tradesOf = async ({ reader }: TestDatabase): Promise<unknown[]> => {
  const { rows } = await reader.query(
    "select block, idx, venue, taker, lot_amt, bid_amt from dex_trade order by id",
  );
  return rows;
};

async function expectTheSame(trades: number): Promise<void> {
  const { origin, mirror } = mirrored;
  expect(await tradesOf(mirror)).toEqual(await tradesOf(origin));
  expect(await headOf(mirror)).toEqual(await headOf(origin));
  expect(await tradesOf(origin)).toHaveLength(trades);
}

it.each([
  ["a record of its origin", true],
  ["no record", false],
])("an indexer has all pools of a mirror with %s", async (_, isRecorded) => {
  await begin(ACTS, 25);
  await mirrored.catchUp();
  if (!isRecorded) await mirrored.mirror.owner.query("delete from dex_private.index_source");
  await grow(28);
  await takeOver(28);
  // Again, after the origin has given the third pool.
  await grow(33);
  await mirrored.catchUp();
  await grow(HEAD);
  await first.stop();
  await takeOver(HEAD);
  // Pool 1: blocks 4, 6 to 40 with 19 trades. Pool 2: 23, 25 to 39 with 9. Pool 3: 33 to 39 with 4.
  await expectTheSame(19 + 9 + 4);
});

it("waits for a node that has the logs by which the factory made the pools of the database", async () => {
  await begin(ACTS, 25);
  await mirrored.catchUp();
  await grow(HEAD);
  await first.stop();
  const all = node.logs;
  node.logs = (blocks) => all(blocks).filter(({ blockNumber }) => Number(blockNumber) >= 15);
  indexing = start(mirrored.mirror);
  const failure = await indexing.heard(({ event }) => event === "failure");
  expect(failure).toMatchObject({
    reason: expect.stringMatching(
      /the database has the pool 0x\w+1, and the factories' logs do not/,
    ),
  });
  node.logs = all;
  await indexing.wrote(HEAD);
  await expectTheSame(19 + 9 + 4);
});

it("goes on where the chain has replaced the mirror's last blocks, and a pool was made in the new ones", async () => {
  await begin(ACTS, 25, 20);
  await mirrored.catchUp();
  const [base, other] = [node.blocks.slice(0, 24), actsOf([1, 20, 24])];
  node.blocks = chainOf(other, "other", base);
  node.finalized = HEAD;
  await first.wrote(HEAD);
  await first.stop();
  await takeOver(HEAD);
  // Pool 3: 27 to 39 with 7.
  await expectTheSame(19 + 9 + 7);
});

it("goes on where the chain has replaced the mirror's last block, of a book whose orders are read by its pairs", async () => {
  decoder = tempo;
  const amount = 10n ** 18n;
  const of = (...events: (typeof created)[]): Act[] => [act(events, EXCHANGE)];
  const orders: Act[][] = Array.from({ length: 61 }, () => []);
  orders[1] = of(created, placed(1, amount, true, -2000));
  orders[2] = of(turned, placed(2, amount, true, 10, QUOTE), placed(3, amount, false, 10, QUOTE));
  orders[25] = of(placed(4, amount, true, 0));
  await begin(orders, 25, 20);
  await mirrored.catchUp();
  orders[26] = of(filled(1, amount / 2n, true));
  orders[30] = of(...[1, 2, 3, 4].map((id) => filled(id, amount / 2n, id > 1)));
  node.blocks = chainOf(orders.slice(0, HEAD + 1), "other", node.blocks.slice(0, 25));
  await first.wrote(HEAD);
  await first.stop();
  await takeOver(HEAD);
  await expectTheSame(5);
});

it("has a pool that was made while no block had rows", async () => {
  const acts = actsOf([20], 25);
  await begin(acts, 8);
  await takeOver(8);
  // So many that they are read in a range, and are final.
  await grow(45, acts);
  await mirrored.catchUp();
  await grow(60, acts);
  await first.stop();
  await takeOver(60);
  // From block 46 on: 48 to 60 with 7.
  await expectTheSame(7);
});

it("--verify has the pools of a mirror's earlier blocks, and none that the mirror should know", async () => {
  await begin(ACTS, HEAD);
  await first.stop();
  await mirrored.catchUp();
  const differencesFrom = (from: number): Promise<string[]> =>
    Array.fromAsync(
      verifyRange(
        {
          ...{ exchange: EXCHANGE, decoder, fromBlock: 0, finality: undefined },
          ...{ databaseUrl: mirrored.mirror.url, rpcUrls: [node.url], taker: "event" },
          ...{ requestsPerSecond: 10_000, backoffMs: 1, signal: AbortSignal.timeout(60_000) },
        },
        from,
        HEAD,
      ),
    );
  expect(await differencesFrom(32)).toEqual([]);
  expect(await differencesFrom(0)).toEqual([]);
});
