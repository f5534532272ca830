// The pools of Uniswap's own v3 factory, indexed while they are made and trade: rows beside the receipts, prices beside slot0, levels beside the quoter.
import { getAddress, parseEventLogs, parseUnits, type Address } from "viem";
import { uniswapV3 } from "../../chain/exchanges/uniswap-v3.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import { comparable, indexedRows } from "./indexed-rows.ts";
import { startIndexing } from "./indexing.ts";
import { seededRandom } from "./seeded-random.ts";
import { root, V3Pools, V3_ABI } from "./v3-pools.ts";

/** Two of one pair, and one of another. */
const POOLS = [
  { quote: "USDC", fee: 500, tickSpacing: 10 },
  { quote: "USDC", fee: 3000, tickSpacing: 60 },
  { quote: "DAI", fee: 10_000, tickSpacing: 200 },
] as const;
const DECIMALS = { WETH: 18, USDC: 6, DAI: 18 } as const;
const ROUNDS = 4;
const ACTS = 14;
/** WETH begins at this price. */
const START = 2500n;

let chain: TestChain;
let pools: V3Pools;
let tokens: Record<keyof typeof DECIMALS, Address>;

beforeAll(async () => {
  chain = await startChain();
  pools = await V3Pools.deploy(chain);
  await pools.deployQuoter();
  const deployed: [string, Address][] = [];
  for (const [symbol, decimals] of Object.entries(DECIMALS)) {
    const address = await chain.sending.deploy("TradedToken", [symbol, symbol, decimals]);
    await pools.send(0, address, "give", [pools.user, 10n ** 40n]);
    deployed.push([symbol, getAddress(address)]);
  }
  tokens = Object.fromEntries(deployed) as typeof tokens;
});
afterAll(() => chain.stop());

type Pool = (typeof POOLS)[number];

const pairOf = ({ quote }: Pool) => [tokens.WETH, tokens[quote]] as const;
const isWethFirst = ({ quote }: Pool) => tokens.WETH.toLowerCase() < tokens[quote].toLowerCase();

function startPrice(pool: Pool): bigint {
  const quotes = START * 10n ** BigInt(DECIMALS[pool.quote]);
  const bases = 10n ** 18n;
  const [above, below] = isWethFirst(pool) ? [quotes, bases] : [bases, quotes];
  return root((above << 192n) / below);
}

/** Rounded half up to 18 digits. */
const quotient = (above: bigint, below: bigint): bigint =>
  (2n * above * 10n ** 18n + below) / (2n * below);

/** The price of a WETH in the quote token, as a quotient of two integers. */
function priceOf(pool: Pool, sqrtPrice: bigint): [bigint, bigint] {
  const [first, second] = [1n << 192n, sqrtPrice ** 2n];
  const [base, quote] = isWethFirst(pool) ? [first, second] : [second, first];
  return [quote * 10n ** 18n, base * 10n ** BigInt(DECIMALS[pool.quote])];
}

interface Level {
  act: "buy" | "sell";
  price: string;
  vol: string;
  quote_vol: string;
  offers: number;
}

/** At the head, the database has the prices, ticks and levels that the contracts say. */
async function expectContractStates({ owner }: TestDatabase): Promise<void> {
  const best = new Map<string, { bids: bigint[]; asks: bigint[] }>();
  const count = { found: 0, levels: 0 };
  for (const pool of POOLS) {
    const { quote, fee } = pool;
    const address = await pools.poolOf(pairOf(pool), fee);
    const { sqrtPrice, tick, liquidity } = await pools.priceOf(address);
    const { rows: kept } = await owner.query(
      `select sqrt_price::text, tick, liquidity::text
      from dex_private.pool_state_at($1, 2147483647)`,
      [address],
    );
    expect(kept).toEqual([{ sqrt_price: String(sqrtPrice), tick, liquidity: String(liquidity) }]);
    const { rows: ticks } = await owner.query<{ tick: number; net: string }>(
      "select tick, net::text from dex_private.pool_ticks_at($1, -887272, 887272, 2147483647)",
      [address],
    );
    for (const { tick: at, net } of ticks) {
      const [, own] = await pools.read<[bigint, bigint]>(address, "ticks", [at]);
      expect([at, net]).toEqual([at, String(own)]);
    }

    const [above, below] = priceOf(pool, sqrtPrice);
    const counted = BigInt(1_000_000 - fee);
    const { bids, asks } = best.get(quote) ?? { bids: [], asks: [] };
    bids.push(quotient(above * counted, below * 1_000_000n));
    asks.push(quotient(above * 1_000_000n, below * counted));
    best.set(quote, { bids, asks });

    const { rows: levels } = await owner.query<Level>(
      "select act, price, vol, quote_vol, offers from dex_book('WETH', $1, 100)",
      [quote],
    );
    count.levels += levels.length;
    for (const act of ["buy", "sell"] as const) {
      let [taken, given] = [0n, 0n];
      const path = act === "buy" ? pairOf(pool) : ([tokens[quote], tokens.WETH] as const);
      for (let n = 1n; n <= 10n; n += 1n) {
        const price =
          act === "buy"
            ? quotient(above * counted * (1000n - 2n * n), below * 1_000_000_000n)
            : quotient(above * (1000n + 2n * n) * 1000n, below * counted);
        const level = levels.find((one) => one.act === act && parseUnits(one.price, 18) === price);
        if (level === undefined) continue;
        count.found += 1;
        expect(level.offers).toBe(0);
        const [bases, quotes] = [
          parseUnits(level.vol, 18),
          parseUnits(level.quote_vol, DECIMALS[quote]),
        ];
        taken += act === "buy" ? bases : quotes;
        given += act === "buy" ? quotes : bases;
        expect([act, n, given]).toEqual([act, n, await pools.amountOut(taken, path, fee)]);
      }
    }
  }
  // The book of the market of two pools was read for each of them.
  expect(count.found).toBeGreaterThanOrEqual(30);
  for (const [quote, { bids, asks }] of best) {
    const { rows } = await owner.query<{ bid: string; ask: string }>(
      "select bid, ask from dex_market where pair = $1",
      [`WETH/${quote}`],
    );
    const [lowest, highest] = [
      asks.reduce((one, other) => (one < other ? one : other)),
      bids.reduce((one, other) => (one > other ? one : other)),
    ];
    expect(parseUnits(rows[0]!.bid, 18)).toBe(highest);
    expect(parseUnits(rows[0]!.ask, 18)).toBe(lowest);
  }
}

it("has what the contracts say after random swaps, ranges and reorganisations, also where it is stopped at any time", async () => {
  const fromBlock = Number(await chain.client.getBlockNumber());
  const random = seededRandom(5);
  await chain.setAutomine(false);
  const ranges = new Map<Address, (readonly [number, number])[]>();
  const make = async (pool: Pool): Promise<void> => {
    await pools.create(0, pairOf(pool), pool.fee);
    await chain.mine();
    const address = await pools.poolOf(pairOf(pool), pool.fee);
    await pools.send(0, address, "initialize", [startPrice(pool)]);
    const whole = 887_200 - (887_200 % pool.tickSpacing);
    await pools.mint(0, address, [-whole, whole], 10n ** 15n);
    await chain.mine();
    ranges.set(address, []);
  };
  for (const pool of POOLS) await make(pool);

  const act = async (): Promise<void> => {
    const account = random(3);
    const pool = POOLS[random(POOLS.length)]!;
    const address = await pools.poolOf(pairOf(pool), pool.fee);
    const { sqrtPrice, tick, liquidity } = await pools.priceOf(address);
    const own = ranges.get(address)!;
    const known = own[random(Math.max(own.length, 1))];
    switch (random(9)) {
      case 0:
      case 1:
      case 2: {
        // Of a few ticks to a few hundred, mostly around the price.
        const middle = Math.floor(tick / pool.tickSpacing) + random(9) - 4;
        const width = 1 + random(1 + 300 / pool.tickSpacing);
        const range = [middle - width, middle + 1].map((n) => n * pool.tickSpacing);
        own.push(range as [number, number]);
        await pools.mint(
          account,
          address,
          range as [number, number],
          BigInt(1 + random(1e9)) * 10n ** 6n,
        );
        return;
      }
      case 3:
        if (known !== undefined) {
          await pools.burn(
            account,
            address,
            known,
            random(3) === 0 ? 0n : BigInt(1 + random(1e9)) * 10n ** 5n,
          );
        }
        return;
      case 4:
        await pools.send(account, pools.user, "flash", [address, 1000n, 7n]);
        return;
      default: {
        // By up to 1.5 % of the square root of the price, in or out; less where there is more liquidity on the way.
        const sellsFirst = random(2) === 0;
        const share = BigInt(1 + random(15_000));
        const first = (liquidity * (1n << 96n) * share) / (sqrtPrice * 1_000_000n);
        const second = (liquidity * sqrtPrice * share) / ((1n << 96n) * 1_000_000n);
        const isExactOut = random(3) === 0;
        const amount = isExactOut ? -(sellsFirst ? second : first) : sellsFirst ? first : second;
        if (amount !== 0n) await pools.swap(account, address, sellsFirst, amount);
      }
    }
  };
  const acts = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      await act();
      if (random(3) > 0) await chain.mine();
    }
    await chain.mine();
  };

  const database = await makeDatabase();
  const start = (databaseUrl: string) =>
    startIndexing({
      ...{ databaseUrl, url: chain.url, fromBlock, taker: "sender", finality: 12 },
      ...{ exchange: pools.factory, decoder: uniswapV3 },
      tokenList: {
        ...{ path: "tokens.json", quotes: ["USDC", "DAI"] },
        tokens: Object.entries(tokens).map(([symbol, address]) => ({
          ...{ symbol, name: symbol, address, decimals: DECIMALS[symbol as keyof typeof DECIMALS] },
        })),
      },
    });
  const bookAt = async (block: number): Promise<object[]> => {
    const client = await database.connect("dex_reader");
    await client.query("begin");
    await client.query("select set_config('dex.as_of_block', $1, true)", [String(block)]);
    const { rows } = await client.query<object>(
      `select pair, bid, ask, act, book.price, book.vol, book.quote_vol
      from dex_market
      cross join lateral dex_book(split_part(pair, '/', 1), split_part(pair, '/', 2), 100) as book
      order by pair, act, book.price`,
    );
    await client.query("rollback");
    return rows;
  };
  const books = new Map<number, object[]>();
  let indexing = start(database.url);
  for (let round = 0; round < ROUNDS; round += 1) {
    await acts(ACTS);
    const snapshot = await chain.snapshot();
    await acts(4);
    if (random(2) === 0) await indexing.wrote(await chain.client.getBlockNumber());
    if (round % 2 === 0) {
      await chain.revert(snapshot);
      await acts(6);
    }
    await chain.mine(14);
    const head = Number(await chain.client.getBlockNumber());
    if (random(2) === 0) {
      // In the midst of what it does.
      await indexing.stop();
      indexing = start(database.url);
    }
    await indexing.wrote(head);
    await expectContractStates(database);
    books.set(head, await bookAt(head));
  }
  await indexing.stop();
  expect(indexing.events.filter(({ event }) => event === "failure" || event === "doubt")).toEqual(
    [],
  );
  for (const [block, book] of books) expect(await bookAt(block)).toEqual(book);
  expect(await verify(await database.connect("dex_owner"))).toEqual([]);

  const logs = await chain.client.getLogs({ fromBlock: BigInt(fromBlock) });
  const expected: object[] = [];
  for (const log of parseEventLogs({ abi: V3_ABI, logs, eventName: "Swap" })) {
    const { address, args, blockNumber, logIndex, transactionHash: tx } = log;
    const moved = [args.amount0, args.amount1];
    if (args.amount0 * args.amount1 >= 0n) continue;
    const [lot, bid] = args.amount0 < 0n ? [0, 1] : [1, 0];
    const both = await pools.tokensOf(address);
    const { from } = await chain.client.getTransaction({ hash: tx });
    expected.push({
      ...{ block: Number(blockNumber), idx: logIndex, tx, venue: getAddress(address) },
      ...{ maker: getAddress(address), taker: getAddress(from) },
      ...{
        lot_gem: both[lot],
        lot: String(-moved[lot]!),
        bid_gem: both[bid],
        bid: String(moved[bid]),
      },
    });
  }
  const { rows } = await database.owner.query(
    `select
      block, idx, tx, venue, maker, taker, lot_gem, bid_gem,
      trim_scale(lot_amt * round(10::numeric ^ (case lot_gem when $1 then 6 else 18 end)))::text as lot,
      trim_scale(bid_amt * round(10::numeric ^ (case bid_gem when $1 then 6 else 18 end)))::text as bid
    from dex_trade
    order by id`,
    [tokens.USDC],
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(rows).toEqual(expected);

  const fresh = await makeDatabase();
  const again = start(fresh.url);
  await again.wrote(await chain.client.getBlockNumber());
  await again.stop();
  const { head: _head, ...all } = await indexedRows(database.owner);
  const { head: _other, ...anew } = await indexedRows(fresh.owner);
  expect(comparable(anew)).toEqual(comparable(all));
  await Promise.all([database.drop(), fresh.drop()]);
});
