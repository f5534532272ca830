// Uniswap's own v3 factory and pools on a test chain, and any transaction of them: ranges, swaps, flash swaps, and new pools.
import assert from "node:assert/strict";
import { getAddress, parseEventLogs, parseUnits, zeroAddress, type Address } from "viem";
import { quotient, type PoolPrice } from "../brute-force.ts";
import type { TestDatabase } from "../database.ts";
import type { TestChain } from "./chain.ts";
import type { KindTrade, Level, PlayedKind } from "./kind-histories.ts";
import { root, V3Pools, V3_ABI } from "./v3-pools.ts";

/** Two of one pair, and one of another. */
const POOLS = [
  { quote: "USDC", fee: 500, tickSpacing: 10 },
  { quote: "USDC", fee: 3000, tickSpacing: 60 },
  { quote: "DAI", fee: 10_000, tickSpacing: 200 },
] as const;
const DECIMALS = { WETH: 18, USDC: 6, DAI: 18 } as const;
/** WETH begins at this price. */
const START = 2500n;

type Pool = (typeof POOLS)[number];

export interface PlayedV3 extends PlayedKind {
  /** Makes all pools, one after the other. */
  makeAll(): Promise<void>;
}

export async function deployV3(chain: TestChain): Promise<PlayedV3> {
  const pools = await V3Pools.deploy(chain);
  const fromBlock = Number(await chain.client.getBlockNumber());
  await pools.deployQuoter();
  const deployed: [string, Address][] = [];
  for (const [symbol, decimals] of Object.entries(DECIMALS)) {
    const address = await chain.sending.deploy("TradedToken", [symbol, symbol, decimals]);
    await pools.send(0, address, "give", [pools.user, 10n ** 40n]);
    deployed.push([symbol, getAddress(address)]);
  }
  const tokens = Object.fromEntries(deployed) as Record<keyof typeof DECIMALS, Address>;
  const ranges = new Map<Address, (readonly [number, number])[]>();
  const pairOf = ({ quote }: Pool) => [tokens.WETH, tokens[quote]] as const;
  const isWethFirst = ({ quote }: Pool) => tokens.WETH.toLowerCase() < tokens[quote].toLowerCase();

  function startPrice(pool: Pool): bigint {
    const quotes = START * 10n ** BigInt(DECIMALS[pool.quote]);
    const bases = 10n ** 18n;
    const [above, below] = isWethFirst(pool) ? [quotes, bases] : [bases, quotes];
    return root((above << 192n) / below);
  }

  /** The price of a WETH in the quote token, as a quotient of two integers. */
  function priceOf(pool: Pool, sqrtPrice: bigint): [bigint, bigint] {
    const [first, second] = [1n << 192n, sqrtPrice ** 2n];
    const [base, quote] = isWethFirst(pool) ? [first, second] : [second, first];
    return [quote * 10n ** 18n, base * 10n ** BigInt(DECIMALS[pool.quote])];
  }

  /** At the head, the database has the prices, ticks and levels that the contracts say. */
  async function check({ owner }: TestDatabase): Promise<{ pools: PoolPrice[]; levels: number }> {
    const prices: PoolPrice[] = [];
    let count = 0;
    for (const pool of POOLS) {
      const { quote, fee } = pool;
      const address = await pools.poolOf(pairOf(pool), fee);
      if (address === zeroAddress) continue;
      const { sqrtPrice, tick, liquidity } = await pools.priceOf(address);
      if (sqrtPrice === 0n) continue;
      const { rows: kept } = await owner.query(
        `select sqrt_price::text, tick, liquidity::text
        from dex_private.pool_state_at($1, 2147483647)`,
        [address],
      );
      assert.deepEqual(kept, [
        { sqrt_price: String(sqrtPrice), tick, liquidity: String(liquidity) },
      ]);
      const { rows: ticks } = await owner.query<{ tick: number; liquidity: string[] }>(
        `select listed.tick, array[kept.gross, kept.net]::text[] as liquidity
        from (select distinct tick from dex_private.pool_tick where venue = $1) as listed
        left join dex_private.pool_ticks_at($1, -887272, 887272, 2147483647) as kept using (tick)
        order by listed.tick`,
        [address],
      );
      for (const { tick: at, liquidity: has } of ticks) {
        const [gross, net] = await pools.read<[bigint, bigint]>(address, "ticks", [at]);
        assert.deepEqual([at, has], [at, gross === 0n ? [null, null] : [gross, net].map(String)]);
      }

      if (liquidity === 0n) continue;
      const [above, below] = priceOf(pool, sqrtPrice);
      const counted = BigInt(1_000_000 - fee);
      prices.push({
        ...{ base: "WETH", quote },
        bid: quotient(above * counted, below * 1_000_000n)!,
        ask: quotient(above * 1_000_000n, below * counted)!,
      });

      const { rows: levels } = await owner.query<Level>(
        "select act, price, vol, quote_vol, offers from dex_book('WETH', $1, 100)",
        [quote],
      );
      for (const act of ["buy", "sell"] as const) {
        let [taken, given] = [0n, 0n];
        const path = act === "buy" ? pairOf(pool) : ([tokens[quote], tokens.WETH] as const);
        for (let n = 1n; n <= 10n; n += 1n) {
          const price =
            act === "buy"
              ? quotient(above * counted * (1000n - 2n * n), below * 1_000_000_000n)
              : quotient(above * (1000n + 2n * n) * 1000n, below * counted);
          const level = levels.find(
            (one) => one.act === act && parseUnits(one.price, 18) === price,
          );
          if (level === undefined) continue;
          count += 1;
          assert.equal(level.offers, 0);
          const [bases, quotes] = [
            parseUnits(level.vol, 18),
            parseUnits(level.quote_vol, DECIMALS[quote]),
          ];
          taken += act === "buy" ? bases : quotes;
          given += act === "buy" ? quotes : bases;
          assert.deepEqual([act, n, given], [act, n, await pools.amountOut(taken, path, fee)]);
        }
      }
    }
    return { pools: prices, levels: count };
  }

  const act = async (random: (below: number) => number): Promise<unknown> => {
    const account = random(3);
    const pool = POOLS[random(POOLS.length)]!;
    const address = await pools.poolOf(pairOf(pool), pool.fee);
    if (address === zeroAddress) return pools.create(account, pairOf(pool), pool.fee);
    const { sqrtPrice, tick, liquidity } = await pools.priceOf(address);
    if (sqrtPrice === 0n) return pools.send(account, address, "initialize", [startPrice(pool)]);
    const whole = 887_200 - (887_200 % pool.tickSpacing);
    if (liquidity === 0n) return pools.mint(account, address, [-whole, whole], 10n ** 15n);
    const own = ranges.get(address) ?? [];
    ranges.set(address, own);
    const known = own[random(Math.max(own.length, 1))];
    switch (random(14)) {
      case 0:
      case 1:
      case 2: {
        // Of a few ticks to a few hundred, mostly around the price.
        const middle = Math.floor(tick / pool.tickSpacing) + random(9) - 4;
        const width = 1 + random(1 + 300 / pool.tickSpacing);
        const range = [middle - width, middle + 1].map((n) => n * pool.tickSpacing);
        own.push(range as [number, number]);
        const made = BigInt(1 + random(1e9)) * 10n ** 6n;
        return pools.mint(account, address, range as [number, number], made);
      }
      case 3:
        if (known === undefined) return undefined;
        return pools.burn(
          account,
          address,
          known,
          random(3) === 0 ? 0n : BigInt(1 + random(1e9)) * 10n ** 5n,
        );
      case 4:
        return pools.send(account, pools.user, "flash", [address, 1000n, 7n]);
      case 5:
      case 6: {
        // All of a range, so that its ticks may be empty.
        const liquidity = known && (await pools.liquidityOf(address, known));
        return liquidity && pools.burn(account, address, known, liquidity);
      }
      case 7: {
        // As much as a range has, from where it ends on.
        const liquidity = known && (await pools.liquidityOf(address, known));
        if (!liquidity) return undefined;
        const range = [known[1], known[1] + pool.tickSpacing] as const;
        own.push(range);
        return pools.mint(account, address, range, liquidity);
      }
      default: {
        // By up to 1.5 % of the square root of the price, in or out; less where there is more liquidity on the way.
        const sellsFirst = random(2) === 0;
        const share = BigInt(1 + random(15_000));
        const first = (liquidity * (1n << 96n) * share) / (sqrtPrice * 1_000_000n);
        const second = (liquidity * sqrtPrice * share) / ((1n << 96n) * 1_000_000n);
        const isExactOut = random(3) === 0;
        const amount = isExactOut ? -(sellsFirst ? second : first) : sellsFirst ? first : second;
        return amount === 0n ? undefined : pools.swap(account, address, sellsFirst, amount);
      }
    }
  };
  return {
    ...{ kind: "uniswap-v3", exchange: pools.factory, fromBlock, quotes: ["USDC", "DAI"] },
    tokens: Object.entries(tokens).map(([symbol, address]) => ({
      ...{ symbol, address, decimals: DECIMALS[symbol as keyof typeof DECIMALS] },
    })),
    act,
    async makeAll() {
      for (const pool of POOLS) {
        await pools.create(0, pairOf(pool), pool.fee);
        await chain.mine();
        const address = await pools.poolOf(pairOf(pool), pool.fee);
        await pools.send(0, address, "initialize", [startPrice(pool)]);
        const whole = 887_200 - (887_200 % pool.tickSpacing);
        await pools.mint(0, address, [-whole, whole], 10n ** 15n);
        await chain.mine();
      }
    },
    async trades() {
      const logs = await chain.client.getLogs({ fromBlock: BigInt(fromBlock) });
      const expected: KindTrade[] = [];
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
          ...{ lot_gem: both[lot]!, lot: String(-moved[lot]!) },
          ...{ bid_gem: both[bid]!, bid: String(moved[bid]) },
        });
      }
      return expected;
    },
    check,
  };
}
