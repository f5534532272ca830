// The indexer beside a real chain: what it writes of each event, and that it goes back with the chain.
import type { Address, Hash } from "viem";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { verifyRange } from "../../chain/comparing.ts";
import { makeDatabase, openClient, type TestDatabase } from "../database.ts";
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

it("goes on after the offers of the branch to which it went back", async () => {
  await exchange.make(1, ofWeth(ETHER));
  await chain.mine(1);
  const snapshot = await chain.snapshot();
  start();
  await chain.mine(1);
  await caughtUp();
  await chain.revert(snapshot);
  await exchange.make(1, ofWeth(2n * ETHER));
  await chain.mine(1, { secondsApart: 7 });
  await caughtUp();
  const next = await made(await exchange.make(1, ofWeth(3n * ETHER)));
  await caughtUp();

  expect(await rows("select id from dex_offer order by id")).toEqual(
    [next - 2n, next - 1n, next].map((id) => ({ id: Number(id) })),
  );
  expect(indexing.events.filter(({ event }) => event === "failure")).toEqual([]);
  expect(indexing.events).toContainEqual(expect.objectContaining({ event: "reorganisation" }));
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

describe("tokens", () => {
  const HUGE = `0x8${"0".repeat(63)}` as const;
  const name = (text: string) => ({ symbol: text, name: text });

  /** Makes an offer of a token for DAI, and resolves to what is recorded of it. */
  const offered = async (token: Address): Promise<unknown> => {
    await exchange.make(1, { pay: token, payAmount: 1_500_000n, buy: dai, buyAmount: ETHER });
    start();
    await caughtUp();
    const [offer] = await rows("select lot_tkn, lot_amt from dex_offer");
    return offer;
  };

  it.each([
    ["a string", "string", { symbol: "USDC", decimals: 6 }, "USDC"],
    ["a bytes32", "bytes32", { symbol: "MKR", decimals: 6n }, "MKR"],
    ["letters of another script", "string", { symbol: "د.إ", decimals: 6 }, "د.إ"],
    ["a symbol that another token has", "string", { symbol: "DAI", decimals: 6 }, "DAI"],
    ["10 kB", "string", { ...name("x".repeat(10_000)), decimals: 6 }, null],
    ["control characters", "string", { ...name("A\u0007B"), decimals: 6 }, null],
    [
      "a mark that turns the direction of writing",
      "string",
      { ...name("\u202eIAD"), decimals: 6 },
      null,
    ],
    ["nothing", "string", { ...name(""), decimals: 6 }, null],
    ["spaces around it", "string", { ...name(" DAI"), decimals: 6 }, null],
  ] as const)("has the symbol of a token with %s", async (_, kind, options, symbol) => {
    const token = await chain.deployToken(kind, options);

    expect(await offered(token)).toEqual({ lot_tkn: symbol, lot_amt: "1.500000000000000000" });
  });

  it.each([
    ["has 24 decimals", "string", { symbol: "LONG", decimals: 24 }, "(LONG) has 24 decimals"],
    ["has 2^255 decimals", "raw", { decimals: HUGE }, "does not say how many decimals"],
    ["answers with 3 bytes", "raw", { decimals: "0x010203" }, "does not say how many decimals"],
    ["answers nothing", "silent", undefined, "does not say how many decimals"],
    ["takes all gas", "greedy", undefined, "does not say how many decimals"],
  ] as const)(
    "leaves out the rows of a token that %s, and says so",
    async (_, kind, options, reason) => {
      const token = await chain.deployToken(kind, options);

      expect(await offered(token)).toBeUndefined();
      expect(indexing.events).toContainEqual({
        event: "leftOut",
        reason: expect.stringContaining(`Token ${token} `),
      });
      expect(indexing.events).toContainEqual({
        event: "leftOut",
        reason: expect.stringContaining(reason),
      });
      // What others trade is written.
      const id = await made(await exchange.make(1, ofWeth(ETHER)));
      await caughtUp();
      expect(await rows("select id from dex_offer")).toEqual([{ id: Number(id) }]);
    },
  );
});

it("takes the event's taker, or the sender of the transaction", async () => {
  const id = await made(await exchange.make(1, ofWeth(3n * ETHER)));
  const taker = await exchange.deployTaker();
  await taker.take(4, { id, quantity: ETHER });
  start();
  await caughtUp();
  expect(await rows("select taker from dex_trade")).toEqual([{ taker: taker.address }]);

  await indexing.stop();
  await database.empty();
  start({ taker: "sender" });
  await caughtUp();
  expect(await rows("select taker from dex_trade")).toEqual([{ taker: chain.accounts[4] }]);
});

describe("markets", () => {
  it("are delisted with the exchange", async () => {
    await exchange.whitelist(0, weth, dai);
    await exchange.unwhitelist(0, weth, dai);
    start({ finality: 0 });
    await caughtUp();

    expect(await rows("select pair, active from dex_market")).toEqual([
      { pair: "WETH/DAI", active: false },
    ]);
  });

  it("are registered once their block is final, also by an indexer that starts later", async () => {
    await chain.mine(2);
    start({ finality: 5 });
    await exchange.whitelist(0, weth, dai);
    await caughtUp();
    expect(await rows("select pair from dex_market")).toEqual([]);
    await indexing.stop();

    await chain.mine(5);
    start({ finality: 5 });
    await caughtUp();
    expect(await rows("select pair from dex_market")).toEqual([{ pair: "WETH/DAI" }]);
  });

  it("are registered in the order of their blocks, also by an indexer that falls far behind", async () => {
    start({ finality: 5 });
    await exchange.whitelist(0, weth, dai);
    await caughtUp();
    // Another writer has the turn, while one block waits to be written and more come than are read one by one.
    const writer = await openClient(database.url, { role: "dex_writer" });
    await writer.query("begin");
    await writer.query("select ingest.take_turn()");
    await chain.mine(2);
    await exchange.unwhitelist(0, weth, dai);
    await chain.mine(50);
    await writer.query("commit");
    await writer.end();
    await caughtUp();

    expect(indexing.events).toContainEqual(expect.objectContaining({ isBackfill: true }));
    expect(await rows("select pair, active from dex_market")).toEqual([
      { pair: "WETH/DAI", active: false },
    ]);
  });

  it("of a file are registered in the file's direction", async () => {
    await exchange.whitelist(0, weth, dai);
    start({
      finality: 0,
      markets: [{ base: "dai", quote: "WETH", baseGem: dai, quoteGem: weth, active: true }],
    });
    await caughtUp();

    expect(await rows("select pair from dex_market")).toEqual([{ pair: "DAI/WETH" }]);
  });

  it("of a file with another symbol than the token's are refused", async () => {
    start({
      markets: [{ base: "MKR", quote: "WETH", baseGem: dai, quoteGem: weth, active: true }],
    });

    await expect(indexing.ended).rejects.toThrow(`${dai} has the symbol DAI, and not MKR`);
  });
});

it("goes on from what was written when it is started again", async () => {
  await exchange.make(1, ofWeth(ETHER));
  start();
  await caughtUp();
  await indexing.stop();
  const id = await made(await exchange.make(1, ofWeth(ETHER)));
  start();
  await caughtUp();

  expect(await rows("select count(*)::int as offers, max(id) as last from dex_offer")).toEqual([
    { offers: Number(id), last: Number(id) },
  ]);
});

it("goes back to another branch that the chain took while it did not run", async () => {
  const snapshot = await chain.snapshot();
  await exchange.make(1, ofWeth(ETHER));
  await chain.mine(3);
  start();
  await caughtUp();
  await indexing.stop();
  await chain.revert(snapshot);
  await exchange.make(2, ofWeth(2n * ETHER));
  await chain.mine(100);
  start();
  await caughtUp();

  expect(await rows("select maker, lot_amt from dex_offer")).toEqual([
    { maker: chain.accounts[2], lot_amt: "2.000000000000000000" },
  ]);
});

it("waits while another indexer of the exchange writes, and takes over from it", async () => {
  const first = start();
  await caughtUp();
  const second = start();
  await second.heard(({ event }) => event === "waiting");
  await first.stop();
  await exchange.make(1, ofWeth(ETHER));
  await caughtUp();

  expect(await rows("select lot_amt from dex_offer")).toEqual([
    { lot_amt: "1.000000000000000000" },
  ]);
});

it("is not held up by a reader that takes its lock", async () => {
  const admin = await openClient(database.url);
  await admin.query("create role stranger login password 'x'");
  await admin.query("grant dex_reader to stranger");
  // As where no superuser has made the roles.
  await admin.query("grant execute on function pg_advisory_lock(bigint) to public");
  const url = Object.assign(new URL(database.url), { username: "stranger", password: "x" });
  const stranger = await openClient(url.href, { role: "dex_reader" });
  await stranger.query("select pg_advisory_lock(hashtextextended('dex-market-data index', 0))");
  start();
  await caughtUp();
  await stranger.end();
  await admin.query("drop role stranger");
  await admin.end();
});

it("stops where the database was filled from another exchange", async () => {
  await exchange.make(1, ofWeth(ETHER));
  start();
  await caughtUp();
  await indexing.stop();
  const other = await chain.deployExchange();
  start({ exchange: other.address });

  await expect(indexing.ended).rejects.toMatchObject({ name: "Halt", exitCode: 2 });
  await expect(indexing.ended).rejects.toThrow("The database was filled from contract");
});

it("stops where a database without a record has rows of another exchange", async () => {
  await exchange.make(1, ofWeth(ETHER));
  start();
  await caughtUp();
  await indexing.stop();
  await database.owner.query("delete from dex_private.index_source");
  const other = await chain.deployExchange();
  start({ exchange: other.address });

  await expect(indexing.ended).rejects.toMatchObject({ name: "Halt", exitCode: 4 });
  await expect(indexing.ended).rejects.toThrow("The database has rows of another exchange");
});

it("goes on when its connection to the database was cut", async () => {
  start();
  await caughtUp();
  const admin = await openClient(database.url);
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dex-market-data index' and datname = current_database()",
  );
  await admin.end();
  await exchange.make(1, ofWeth(ETHER));
  await caughtUp();

  expect(await rows("select lot_amt from dex_offer")).toEqual([
    { lot_amt: "1.000000000000000000" },
  ]);
});

it("stops where a take has no trade of equal amounts", async () => {
  const broken = await chain.deployExchange("other trade");
  const id = (await broken.madeBy(await broken.make(1, ofWeth(ETHER))))[0]!;
  await broken.take(2, id, ETHER / 2n);
  start({ exchange: broken.address });

  await expect(indexing.ended).rejects.toMatchObject({ name: "Halt", exitCode: 4 });
  await expect(indexing.ended).rejects.toThrow(/trade of .* is missing/);
  expect(await rows("select id from dex_trade")).toEqual([]);
});

it("stops at once at an address without code", async () => {
  start({ exchange: "0x00000000000000000000000000000000000000aA" });

  await expect(indexing.ended).rejects.toMatchObject({ name: "Halt", exitCode: 2 });
  await expect(indexing.ended).rejects.toThrow("has no code on chain");
  expect(await rows("select number from dex_block")).toEqual([]);
});

it("says that the contract does not return its offers", async () => {
  start({ exchange: weth });
  await caughtUp();

  expect(indexing.events).toContainEqual({
    event: "doubt",
    reason: expect.stringContaining(`The contract ${weth} does not return its last offer`),
  });
});

describe("--verify", () => {
  const differences = async (): Promise<string[]> => {
    const lines: string[] = [];
    const head = Number(await chain.client.getBlockNumber());
    const signal = new AbortController().signal;
    const options = {
      databaseUrl: database.url,
      rpcUrls: [chain.url],
      exchange: exchange.address,
      decoder: matchingMarket,
      fromBlock: 0,
      signal,
    };
    for await (const line of verifyRange(options, 0, head)) lines.push(line);
    return lines;
  };

  it("finds no difference in what was indexed, and each one that is made", async () => {
    const id = await made(await exchange.make(1, ofWeth(3n * ETHER)));
    const other = await made(await exchange.make(1, ofWeth(ETHER)));
    await exchange.take(2, id, ETHER);
    await exchange.kill(1, other);
    start();
    await caughtUp();
    await indexing.stop();
    expect(await differences()).toEqual([]);

    await database.owner.query(
      `update dex_offer set lot_amt = 4.000000000000000000 where id = ${id}`,
    );
    await database.owner.query("delete from dex_trade");
    await database.owner.query("update dex_private.cancellation set offer_id = 77");
    const found = await differences();
    expect(found).toEqual([
      expect.stringMatching(
        new RegExp(`^offer ${id}, lot_amt: "4" in the database, "3" on the chain`),
      ),
      expect.stringMatching(/^trade 0x.*: the database lacks it/),
      expect.stringMatching(new RegExp(`^cancellation of offer ${other}: the database lacks it`)),
      expect.stringMatching(/^cancellation of offer 77: the chain does not have it/),
    ]);
  });
});
