// One indexer or mirror of a database writes at a time: the others wait.
import { follow, type FollowEvent } from "../../../db/mirror/follower.ts";
import { uniswapV2 } from "../../../chain/exchanges/uniswap-v2.ts";
import { startIndexing, type Indexing } from "../../chain/indexing.ts";
import { chainOf, EXCHANGE, startInventedNode, type Act } from "../../chain/invented-chain.ts";
import { act, made, mint, poolOf, swap, sync } from "../../chain/pair-events.ts";
import { headOf, useMirrored } from "./following.ts";

const mirrored = useMirrored(() => Promise.resolve());

const HEAD = 12;
const pool = poolOf(1n);

/** A pool of block 1, traded in each block from 3 on. */
const acts = Array.from({ length: HEAD + 2 }, (_, block): Act[] => {
  if (block === 0) return [];
  if (block === 1) return [act([made(1n)], EXCHANGE)];
  if (block === 2) return [act([sync(1000n, 2000n), mint(1000n, 2000n)], pool)];
  const traded = BigInt(block - 2);
  return [act([sync(1000n + traded, 2000n - traded), swap(1n, 0n, 0n, 1n)], pool)];
});

const WAITING: FollowEvent = {
  event: "waiting",
  reason: "An indexer or another mirror writes to the database",
};

let node: Awaited<ReturnType<typeof startInventedNode>>;
let running: Indexing[] = [];

const index = (databaseUrl: string): Indexing => {
  const indexing = startIndexing({
    ...{ url: node.url, databaseUrl, exchange: EXCHANGE, decoder: uniswapV2, fromBlock: 0 },
    ...{ finality: undefined, taker: "event" as const },
  });
  running.push(indexing);
  return indexing;
};

const grow = (head: number): void => {
  node.blocks = chainOf(acts.slice(0, head + 1));
  node.finalized = head;
};

beforeAll(async () => {
  node = await startInventedNode(chainOf(acts.slice(0, 9)), 8);
});
afterEach(async () => {
  await Promise.all(running.map((one) => one.stop().catch(() => undefined)));
  running = [];
});
afterAll(() => node.stop());

it("a mirror changes nothing beside an indexer, and takes its place when that ends", async () => {
  const { origin, mirror } = mirrored;
  const [first, own] = [index(origin.url), index(mirror.url)];
  await first.wrote(8);
  await own.wrote(8);
  grow(9);
  await first.wrote(9);
  await own.wrote(9);
  expect(await mirrored.catchUp(undefined, ({ event }) => event === "waiting")).toEqual([WAITING]);
  const { rows } = await mirror.owner.query(
    "select lacks_contracts, (select count(*)::integer from dex_private.index_contract) as contracts from dex_private.index_source",
  );
  expect(rows).toEqual([{ lacks_contracts: false, contracts: 1 }]);
  await expect(mirrored.load()).rejects.toThrow(
    "an indexer or another mirror writes to the database",
  );

  let stopped: Promise<void> | undefined;
  const events = await mirrored.catchUp(undefined, (event) => {
    if (event.event === "waiting") {
      stopped ??= own.stop().then(async () => {
        grow(HEAD);
        await first.wrote(HEAD);
      });
    }
    return event.event === "written" && event.head === HEAD;
  });
  await stopped;
  expect(events).toContainEqual(WAITING);
  expect(events).not.toContainEqual(expect.objectContaining({ event: "taken back" }));
  expect(await headOf(mirror)).toEqual(await headOf(origin));
});

it("a second mirror and an indexer wait for a mirror", async () => {
  const { app, mirror } = mirrored;
  await mirror.empty();
  const stop = new AbortController();
  const written = Promise.withResolvers<undefined>();
  const following = follow({
    ...{ url: mirror.url, origin: app.url, signal: stop.signal },
    onEvent: () => written.resolve(undefined),
  });
  await written.promise;
  expect(await mirrored.catchUp(undefined, ({ event }) => event === "waiting")).toEqual([WAITING]);
  const own = index(mirror.url);
  expect(await own.heard(({ event }) => event === "waiting")).toEqual({
    ...{ event: "waiting", reason: "Another indexer or a mirror writes to the database" },
  });
  stop.abort();
  await following;
  grow(HEAD + 1);
  await own.wrote(HEAD + 1);
});
