// Uniswap's own v3 pool while ranges are made and burned: every level of its book beside the quoter, as of each block.
import { getAddress, parseUnits, type Address } from "viem";
import { uniswapV3 } from "../../chain/exchanges/uniswap-v3.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import { startIndexing } from "./indexing.ts";
import type { Level } from "./kind-histories.ts";
import { root, V3Pools } from "./v3-pools.ts";

/** Of a token without decimals, each unit that is rounded shows in a level. */
const DECIMALS = { ZRO: 0, USDC: 6 } as const;
const [FEE, SPACING] = [500, 10];
const FINALITY = 30;
/** Where every second range of a row around the price begins, from its middle on; each is a spacing wide. */
const STEPS = Array.from({ length: 12 }, (_, n) => (n - 6) * 2 * SPACING);

let chain: TestChain;
let pools: V3Pools;
let fromBlock: number;
let tokens: Record<keyof typeof DECIMALS, Address>;
let pool: Address;
/** The last multiple of the spacing below the price. */
let middle: number;

beforeAll(async () => {
  chain = await startChain();
  pools = await V3Pools.deploy(chain);
  fromBlock = Number(await chain.client.getBlockNumber());
  await pools.deployQuoter();
  const deployed: [string, Address][] = [];
  for (const [symbol, decimals] of Object.entries(DECIMALS)) {
    const address = await chain.sending.deploy("TradedToken", [symbol, symbol, decimals]);
    await pools.send(0, address, "give", [pools.user, 10n ** 40n]);
    deployed.push([symbol, getAddress(address)]);
  }
  tokens = Object.fromEntries(deployed) as typeof tokens;
  await pools.create(0, [tokens.ZRO, tokens.USDC], FEE);
  pool = await pools.poolOf([tokens.ZRO, tokens.USDC], FEE);
  // 1.000123 USDC for a ZRO.
  const [first] = await pools.tokensOf(pool);
  const price = first === tokens.ZRO ? [1_000_123n, 1n] : [1n, 1_000_123n];
  await pools.send(0, pool, "initialize", [root((price[0]! << 192n) / price[1]!)]);
  const { tick } = await pools.priceOf(pool);
  middle = Math.floor(tick / SPACING) * SPACING;
  await pools.mint(0, pool, [middle - 5000, middle + 5000], 10n ** 9n);
});
afterAll(() => chain.stop());

const indexTo = async (database: TestDatabase, block: bigint): Promise<void> => {
  const indexing = startIndexing({
    ...{ databaseUrl: database.url, url: chain.url, fromBlock, taker: "event", finality: FINALITY },
    ...{ exchange: pools.factory, decoder: uniswapV3 },
    tokenList: {
      ...{ path: "tokens.json", quotes: ["USDC"] },
      tokens: Object.entries(tokens).map(([symbol, address]) => ({
        ...{ symbol, name: symbol, address, decimals: DECIMALS[symbol as keyof typeof DECIMALS] },
      })),
    },
  });
  await indexing.wrote(block);
  await indexing.heard((event) => event.event === "audit" && !event.isDue);
  await indexing.stop();
  expect(indexing.events.filter(({ event }) => event === "failure" || event === "doubt")).toEqual(
    [],
  );
};

const bookAt = async (database: TestDatabase, block: bigint | ""): Promise<Level[]> => {
  const client = await database.connect("dex_reader");
  await client.query("begin");
  await client.query("select set_config('dex.as_of_block', $1, true)", [String(block)]);
  const { rows } = await client.query<Level>("select * from dex_book('ZRO', 'USDC', 100)");
  await client.query("rollback");
  return rows;
};

/** What the levels of a side up to each one take and give is what one swap does. */
const compareWithQuoter = async (book: readonly Level[]): Promise<void> => {
  for (const act of ["buy", "sell"] as const) {
    const side = book.filter((level) => level.act === act);
    expect(side).toHaveLength(10);
    const path =
      act === "buy" ? ([tokens.ZRO, tokens.USDC] as const) : ([tokens.USDC, tokens.ZRO] as const);
    let [taken, given] = [0n, 0n];
    for (const [n, { vol, quote_vol }] of side.entries()) {
      const [bases, quotes] = [parseUnits(vol, 0), parseUnits(quote_vol, DECIMALS.USDC)];
      taken += act === "buy" ? bases : quotes;
      given += act === "buy" ? quotes : bases;
      expect([act, n, given]).toEqual([act, n, await pools.amountOut(taken, path, FEE)]);
    }
  }
};

const rangeAt = (step: number) => [middle + step, middle + step + SPACING] as const;

/** Does it to every second range of the row, in one block. */
const inBlock = async (
  act: (range: readonly [number, number]) => Promise<unknown>,
  after: number,
): Promise<bigint> => {
  for (const step of STEPS) await act(rangeAt(step + after));
  return chain.mine();
};

it("has the levels that the contract gives where ticks are empty, and where as much begins as ends", async () => {
  await using database = await makeDatabase();
  await using fresh = await makeDatabase();
  await chain.setAutomine(false);
  const books = new Map<bigint, Level[]>();
  const record = async (block: bigint): Promise<Level[]> => {
    await indexTo(database, block);
    const book = await bookAt(database, "");
    await compareWithQuoter(book);
    books.set(block, book);
    return book;
  };

  const mint = (range: readonly [number, number]) => pools.mint(0, pool, range, 5n);
  const burn = (range: readonly [number, number]) => pools.burn(0, pool, range, 5n);
  // A market is registered once its pool is final.
  const before = await record(await chain.mine(FINALITY + 1));
  const snapshot = await chain.snapshot();
  const apart = await record(await inBlock(mint, 0));
  expect(apart).not.toEqual(before);
  // Each of these begins where one ends, and ends where one begins.
  const joined = await record(await inBlock(mint, SPACING));
  expect(joined).not.toEqual(before);

  await chain.revert(snapshot);
  books.clear();
  expect(await record(await chain.mine(4))).toEqual(before);
  // The whole row in one block, which leaves the net liquidity of most ticks at nothing.
  for (const range of STEPS.flatMap((step) => [rangeAt(step), rangeAt(step + SPACING)])) {
    await mint(range);
  }
  expect(await record(await chain.mine())).toEqual(joined);
  expect(await record(await inBlock(burn, SPACING))).toEqual(apart);
  expect(await record(await inBlock(mint, SPACING))).toEqual(joined);
  expect(await record(await inBlock(burn, 0))).not.toEqual(joined);
  expect(await record(await inBlock(burn, SPACING))).toEqual(before);
  for (const [block, book] of books) expect(await bookAt(database, block)).toEqual(book);
  expect(await verify(await database.connect("dex_owner"))).toEqual([]);

  // The blocks of a range are written at once.
  await indexTo(fresh, await chain.mine(FINALITY + 1));
  for (const [block, book] of books) expect(await bookAt(fresh, block)).toEqual(book);
  expect(await verify(await fresh.connect("dex_owner"))).toEqual([]);
});
