// The indexer beside a real chain: what it writes of each event, and that it goes back with the chain.
import type { Address, Hash } from "viem";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import type { Exchange } from "./exchange.ts";
import { startIndexing, type Indexing } from "./indexing.ts";

const ETHER = 10n ** 18n;

let chain: TestChain;
let exchange: Exchange;
let weth: Address;
let dai: Address;
let fresh: `0x${string}`;

let database: TestDatabase;
let indexing: Indexing;

beforeAll(async () => {
  chain = await startChain();
  exchange = await chain.deployExchange();
  weth = await chain.deployToken("string", { symbol: "WETH", name: "Wrapped Ether" });
  dai = await chain.deployToken("bytes32", { symbol: "DAI", name: "Dai Stablecoin" });
  fresh = await chain.snapshot();
});

afterAll(() => chain.stop());

beforeEach(async () => {
  database = await makeDatabase();
});

afterEach(async () => {
  await indexing.stop().catch(() => undefined);
  await database.drop();
  await chain.revert(fresh);
  fresh = await chain.snapshot();
});

const start = (options = {}): Indexing => {
  indexing = startIndexing({
    databaseUrl: database.url,
    url: chain.url,
    exchange: exchange.address,
    ...options,
  });
  return indexing;
};

/** Waits until the head of the chain is written. */
const caughtUp = async (): Promise<void> => {
  await indexing.wrote(await chain.client.getBlockNumber());
};

const rows = async (sql: string): Promise<unknown[]> => (await database.reader.query(sql)).rows;

/** An offer of some WETH at 200 DAI each. */
const ofWeth = (payAmount: bigint) => ({
  pay: weth,
  payAmount,
  buy: dai,
  buyAmount: payAmount * 200n,
});

const made = async (hash: Hash): Promise<bigint> => (await exchange.madeBy(hash))[0]!;

it("writes offers, trades, cancellations and markets", async () => {
  await exchange.whitelist(0, weth, dai);
  const first = await made(await exchange.make(1, ofWeth(3n * ETHER)));
  const taken = await exchange.take(2, first, ETHER);
  const second = await made(await exchange.make(1, ofWeth(ETHER)));
  await exchange.kill(1, second);
  await chain.mine(65);
  start();
  await caughtUp();

  expect(
    await rows(
      "select id, killed, lot_amt, bid_amt, market, act, filled from dex_offer order by id",
    ),
  ).toEqual([
    {
      id: Number(first),
      killed: 0,
      lot_amt: "3.000000000000000000",
      bid_amt: "600.000000000000000000",
      market: "WETHDAI",
      act: "sell",
      filled: false,
    },
    {
      id: Number(second),
      killed: expect.any(Number),
      lot_amt: "1.000000000000000000",
      bid_amt: "200.000000000000000000",
      market: "WETHDAI",
      act: "sell",
      filled: false,
    },
  ]);
  expect(await rows("select offer_id, taker, lot_amt, price, tx from dex_trade")).toEqual([
    {
      offer_id: Number(first),
      taker: chain.accounts[2],
      lot_amt: "1.000000000000000000",
      price: "200.000000000000000000",
      tx: taken,
    },
  ]);
  expect(await rows("select pair, active, last from dex_market")).toEqual([
    { pair: "WETH/DAI", active: true, last: "200.000000000000000000" },
  ]);
});

it("follows the head block by block, with hashes and times", async () => {
  start();
  await caughtUp();
  await exchange.make(1, ofWeth(ETHER));
  await chain.mine(2);
  await caughtUp();

  const { number, hash, timestamp } = await chain.client.getBlock();
  expect(
    await rows(
      "select number, hash, extract(epoch from time)::int as time from dex_block order by number desc limit 1",
    ),
  ).toEqual([{ number: Number(number), hash, time: Number(timestamp) }]);
});

it("goes back with the chain, and writes what replaces the blocks", async () => {
  const id = await made(await exchange.make(1, ofWeth(3n * ETHER)));
  start();
  await caughtUp();
  const snapshot = await chain.snapshot();
  await exchange.take(2, id, ETHER);
  await chain.mine(2);
  await caughtUp();
  expect(await rows("select taker from dex_trade")).toEqual([{ taker: chain.accounts[2] }]);

  await chain.revert(snapshot);
  await exchange.take(3, id, 2n * ETHER);
  await chain.mine(3);
  await indexing.heard(({ event }) => event === "reorganisation");
  await caughtUp();

  expect(await rows("select taker, lot_amt from dex_trade")).toEqual([
    { taker: chain.accounts[3], lot_amt: "2.000000000000000000" },
  ]);
  expect(indexing.events).toContainEqual({
    event: "reorganisation",
    ancestor: expect.any(Number),
    depth: 3,
  });
});

it("waits where the chain has another branch that is not longer", async () => {
  start();
  await chain.mine(2);
  await caughtUp();
  const snapshot = await chain.snapshot();
  await chain.mine(3);
  await caughtUp();
  const [head] = await rows("select block from dex_head");

  await chain.revert(snapshot);
  await chain.mine(3);
  await indexing.heard(({ event }) => event === "known");
  expect(await rows("select block from dex_head")).toEqual([head]);
  await chain.mine(1);
  await indexing.heard(({ event }) => event === "reorganisation");
});

it("stops at a reorganisation below what is final, and changes nothing", async () => {
  start({ finality: 2 });
  await caughtUp();
  const snapshot = await chain.snapshot();
  await chain.mine(4);
  await caughtUp();
  const before = await rows("select number, hash from dex_block order by number");
  await chain.revert(snapshot);
  await chain.mine(6);

  await expect(indexing.ended).rejects.toMatchObject({ name: "Halt", exitCode: 3 });
  expect(await rows("select number, hash from dex_block order by number")).toEqual(before);
});
