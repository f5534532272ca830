// Two contracts with offers in one database: their ids are the same, and their rows are not mixed up.
import fc from "fast-check";
import { getAddress, type Hex } from "viem";
import { tempo } from "../../chain/exchanges/tempo.ts";
import { verify } from "../../db/verify/verify-database.ts";
import type { IndexSettings } from "../../chain/index-settings.ts";
import { readIndexSettings } from "../../chain/index-settings.ts";
import { recordedAs } from "../../chain/contracts.ts";
import { verifyRange } from "../../chain/comparing.ts";
import { makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { comparable, indexedRows } from "./indexed-rows.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Act,
  type InventedNode,
} from "./invented-chain.ts";
import { created, placed } from "./tempo-events.ts";

const OTHER: Hex = "0xcccccccccccccccccccccccccccccccccccccccc";
const BOOKS = [EXCHANGE, OTHER];
/** The second one begins later: its offers from before are not recorded. */
const SECOND_FROM = 5;
const SETTINGS = readIndexSettings({
  RPC_URL: "http://127.0.0.1",
  EXCHANGE: `${EXCHANGE}@1,${OTHER}@${SECOND_FROM}`,
}) as IndexSettings;

const optionsOf = (node: InventedNode, { url: databaseUrl }: TestDatabase) => ({
  ...{ ...SETTINGS, databaseUrl, url: node.url, rpcUrls: [node.url] },
  ...{ finality: undefined, requestsPerSecond: 10_000 },
});

/** What happens to an offer of a contract, by its place among those that are open. */
interface Wish {
  book: number;
  what: "make" | "take" | "kill";
  place: number;
  lot: number;
}

const wish: fc.Arbitrary<Wish> = fc.record({
  book: fc.constantFrom(0, 1),
  what: fc.constantFrom("make", "make", "take", "take", "kill"),
  place: fc.nat(20),
  lot: fc.constantFrom(1, 3, 10),
});
const blocksOfWishes = fc.array(fc.array(wish, { maxLength: 4 }), { minLength: 1, maxLength: 8 });

/** Adds blocks that do what is possible of these wishes. */
function grow(node: InventedNode, base: number, wishes: readonly Wish[][], branch: string): void {
  const before = node.blocks.slice(0, base);
  const last = before.at(-1)?.states;
  const open = BOOKS.map((address) => new Map(last?.get(address)?.left));
  const made = BOOKS.map((address) => last?.get(address)?.lastOffer ?? 0);
  const acts = wishes.map((some) =>
    some.map(({ book, what, place, lot }): Act => {
      const address = BOOKS[book]!;
      const offers = open[book]!;
      const [id, left = 0] = [...offers][place % Math.max(1, offers.size)] ?? [];
      if (id === undefined || what === "make") {
        made[book]! += 1;
        offers.set(made[book]!, 10);
        return { do: "make", address };
      }
      const taken = Math.min(lot, left);
      if (what === "kill" || taken === left) offers.delete(id);
      else offers.set(id, left - taken);
      return what === "kill"
        ? { do: "kill", id, address }
        : { do: "take", id, lot: taken, address };
    }),
  );
  node.blocks = chainOf([...before.map(() => []), ...acts], branch, before);
}

async function refsOf({ owner }: TestDatabase): Promise<unknown[]> {
  const { rows } = await owner.query(
    "select venue, ref, offer_id, block from dex_private.offer_ref order by offer_id",
  );
  return rows;
}

async function expectRight(node: InventedNode, database: TestDatabase): Promise<void> {
  await using client = await openClient(database.url);
  expect(await verify(client)).toEqual([]);
  const { signal } = new AbortController();
  const lines = verifyRange({ ...optionsOf(node, database), signal }, 1, node.blocks.length - 1);
  expect(await Array.fromAsync(lines)).toEqual([]);
}

it("random histories of both, with reorganisations and kills, give what a fresh index gives", async () => {
  await using database = await makeDatabase();
  await using fresh = await makeDatabase();
  const node = await startInventedNode(chainOf([[], [{ do: "make", address: OTHER }]]), 0);
  let branch = 0;
  const step = fc.record({
    wishes: blocksOfWishes,
    depth: fc.constantFrom(0, 0, 1, 3),
    isKilled: fc.boolean(),
  });
  const history = fc.array(step, { minLength: 6, maxLength: 10 });
  const index = async (indexing: Indexing): Promise<void> => {
    await indexing.wrote(node.blocks.length - 1);
  };
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      await database.empty();
      await fresh.empty();
      for (const { owner } of [database, fresh]) {
        await owner.query("delete from dex_private.index_source");
      }
      node.finalized = 0;
      grow(node, 0, [[], [{ book: 1, what: "make", place: 0, lot: 1 }]], `${(branch += 1)}`);
      let indexing = startIndexing(optionsOf(node, database));
      for (const { wishes, depth, isKilled } of steps) {
        const base = Math.max(node.finalized + 1, node.blocks.length - depth);
        const longer = [...wishes, ...Array.from({ length: depth }, () => [])];
        grow(node, base, longer, `${(branch += 1)}`);
        if (isKilled) {
          await using admin = await openClient(database.url);
          await admin.query(
            `select pg_terminate_backend(pid)
            from pg_stat_activity
            where datname = current_database()
              and application_name = 'dex-market-data index'`,
          );
          await indexing.stop().catch(() => undefined);
          indexing = startIndexing(optionsOf(node, database));
        } else await index(indexing);
        node.finalized = Math.max(node.finalized, node.blocks.length - 6);
      }
      await index(indexing);
      await indexing.stop();
      await expectRight(node, database);

      const anew = startIndexing(optionsOf(node, fresh));
      await index(anew);
      await anew.stop();
      expect(comparable(await indexedRows(database.owner))).toEqual(
        comparable(await indexedRows(fresh.owner)),
      );
      expect(await refsOf(database)).toEqual(await refsOf(fresh));
    }),
    { numRuns: 2, seed: Number(process.env["SEED"] ?? 7) },
  );
  await node.stop();
});

it("a take of the second one that all nodes leave out is noticed by its own state", async () => {
  await using database = await makeDatabase();
  const make: Act = { do: "make", address: OTHER };
  const acts: Act[][] = Array.from({ length: 50 }, () => []);
  acts[SECOND_FROM] = [{ do: "make" }, make, make];
  acts[7] = [
    { do: "take", id: 1, lot: 3, address: OTHER },
    { do: "take", id: 1, lot: 5 },
  ];
  const node = await startInventedNode(chainOf(acts), 45);
  node.logs = (blocks) =>
    blocks.flatMap(({ logs }, n) => logs.filter(({ address }) => n !== 7 || address !== OTHER));
  const indexing = startIndexing(optionsOf(node, database));
  await expect(indexing.ended).rejects.toThrow(
    /A log is missing or wrong: offer 1 has 10\d+ for 2000\d+ left by the logs .*, and 7\d+ for 1400\d+ by the contract/,
  );
  await node.stop();
});

it.each([
  ["after @", { EXCHANGE: `${EXCHANGE}@1,${OTHER}@5` }],
  ["in FROM_BLOCK", { EXCHANGE: `${EXCHANGE}@1,${OTHER}`, FROM_BLOCK: "5" }],
])("offers from before the first block of one are named with it, %s", async (_, given) => {
  await using database = await makeDatabase();
  const acts: Act[][] = Array.from({ length: 9 }, () => []);
  acts[2] = [{ do: "make" }, { do: "make", address: OTHER }];
  acts[7] = [{ do: "make", address: OTHER }];
  const node = await startInventedNode(chainOf(acts), 6);
  const settings = readIndexSettings({ RPC_URL: node.url, ...given }) as IndexSettings;
  const indexing = startIndexing({ ...optionsOf(node, database), ...settings });
  await indexing.wrote(8).finally(() => indexing.stop());
  await node.stop();
  const said = indexing.events.flatMap((one) => (one.event === "leftOut" ? [one.reason] : []));
  expect(said).toEqual([
    expect.stringMatching(
      `^Offers that ${getAddress(OTHER)} made before its first block, 5 \\(after @ in EXCHANGE, else FROM_BLOCK\\), .*offer 1\\b`,
    ),
  ]);
});

it("each trade is of an offer of the same contract", async () => {
  await using database = await makeDatabase();
  const acts: Act[][] = Array.from({ length: 9 }, () => []);
  acts[SECOND_FROM] = BOOKS.map((address) => ({ do: "make", address }));
  acts[6] = BOOKS.map((address, n) => ({ do: "take", id: 1, lot: 3 + n, address }));
  acts[7] = [{ do: "kill", id: 1, address: OTHER }];
  const node = await startInventedNode(chainOf(acts), 6);
  const indexing = startIndexing(optionsOf(node, database));
  await indexing.wrote(8);
  await indexing.stop();
  const { rows } = await database.owner.query(
    `select offer.venue, offer.ref, offer.id, offer.killed, trim_scale(trade.lot_amt)::text as taken
    from dex_offer as offer
    join dex_trade as trade on trade.offer_id = offer.id
    order by offer.id`,
  );
  expect(rows).toEqual([
    { venue: getAddress(EXCHANGE), ref: null, id: 1, killed: 0, taken: "3" },
    { venue: getAddress(OTHER), ref: "1", id: 2 ** 30, killed: 7, taken: "4" },
  ]);
  // A row is found by its contract, and named for the letter case alone.
  await database.owner.query("update dex_offer set venue = lower(venue) where ref is not null");
  const { signal } = new AbortController();
  const lines = verifyRange({ ...optionsOf(node, database), signal }, 1, 8);
  expect(await Array.fromAsync(lines)).toEqual([
    `offer 1 of ${OTHER}, venue: "${OTHER}" in the database, "${getAddress(OTHER)}" on the chain`,
  ]);
  await node.stop();
});

it("a start reads the market logs of the first one alone, also in a last block with an order of the other", async () => {
  await using database = await makeDatabase();
  const of = (...events: (typeof created)[]): Act[] => [
    { do: "emit all", events: events.map((one) => ({ address: OTHER, ...one })) },
  ];
  // The first range of a start has 1,000 blocks.
  const acts: Act[][] = Array.from({ length: 1001 }, () => []);
  acts[1] = of(created);
  acts[1000] = of(placed(1, 10n ** 18n, false, 0));
  const node = await startInventedNode(chainOf(acts), 1000);
  const { state: _, ...decoder } = tempo;
  const index = async (head: number): Promise<void> => {
    const indexing = startIndexing({
      ...{ databaseUrl: database.url, url: node.url, exchange: EXCHANGE, finality: undefined },
      others: [{ exchange: OTHER, decoder, firstBlock: 0 }],
    });
    await indexing.wrote(head);
    await indexing.stop();
  };
  await index(1000);
  node.blocks = chainOf([...acts, []], "", node.blocks);
  await index(1001);
  await node.stop();
});

const FACTORY = `uniswap-v2:0x${"f1".repeat(20)}@0`;
const POOLS = `uniswap-v3:0x${"f2".repeat(20)}@0`;
const TEMPO = `tempo:0x${"11".repeat(20)}@0`;
const [ONE, TWO] = BOOKS.map((address) => `matching-market:${address}@0`) as [string, string];
const settingsOf = (...contracts: string[]): IndexSettings =>
  readIndexSettings({
    ...{ RPC_URL: "http://127.0.0.1", TAKER: "event", EXCHANGE: contracts.join() },
  }) as IndexSettings;

describe("behind a contract that keeps no ids", () => {
  let node: InventedNode;
  let indexing: Indexing;
  afterEach(async () => {
    await indexing.stop().catch(() => undefined);
    await node.stop();
  });

  it.each([
    [ONE, TWO],
    [TWO, ONE],
  ])("a start in which another book would keep its ids is refused: %s first", async (one, two) => {
    await using database = await makeDatabase();
    const make = BOOKS.map((address): Act => ({ do: "make", address }));
    const acts: Act[][] = [[], make, make];
    node = await startInventedNode(chainOf(acts), 2);
    const start = async (head: number, ...contracts: string[]): Promise<void> => {
      const options = { ...optionsOf(node, database), ...settingsOf(...contracts) };
      indexing = startIndexing({ ...options, rpcUrls: [node.url] });
      await indexing.wrote(head);
      await indexing.stop();
    };
    await start(2, FACTORY, one, two, TEMPO);
    node.blocks = chainOf([...acts, make], "", node.blocks);
    const written = await refsOf(database);
    const names = (keeper: string, other: string): string =>
      [FACTORY.slice(11, -2), `${keeper} (keeps its ids)`, ...[other, TEMPO].sort()].join();
    await expect(start(3, FACTORY, two, one, TEMPO)).rejects.toThrow(
      `The database was filled from contract ${names(one, two)}, not ${names(two, one)}. Give these settings again`,
    );
    expect(await refsOf(database)).toEqual(written);
    await start(3, FACTORY, TEMPO, one, two);
  });
});

it.each([
  ["of one book", [FACTORY, ONE, POOLS, TEMPO], [FACTORY, TEMPO, POOLS, ONE]],
  ["behind the first of two books", [POOLS, TWO, ONE, TEMPO], [POOLS, TEMPO, TWO, ONE]],
  ["behind a book", [ONE, TWO, TEMPO, POOLS], [ONE, POOLS, TEMPO, TWO]],
])("the order of the others does not matter, %s", (_, ...orders) => {
  const [recorded, other] = orders.map((contracts) => {
    const { exchange, decoder, others } = settingsOf(...contracts);
    return recordedAs({ exchange, decoder }, others);
  });
  expect(other).toBe(recorded);
});
