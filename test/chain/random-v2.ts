// Uniswap's own v2 pairs and router on a test chain, and any transaction of them: swaps, liquidity, loans, and a token that burns.
import assert from "node:assert/strict";
import {
  getAddress,
  maxUint256,
  parseEventLogs,
  parseUnits,
  zeroAddress,
  type Address,
} from "viem";
import { quotient, type PoolPrice } from "../brute-force.ts";
import type { TestDatabase } from "../database.ts";
import type { TestChain } from "./chain.ts";
import type { KindTrade, Level, PlayedKind } from "./kind-histories.ts";
import { shipped } from "./shipped.ts";
import { V2Pools, V2_ABI } from "./v2-pools.ts";

const ACCOUNTS = [0, 1, 2];

interface Token {
  address: Address;
  symbol: string;
  decimals: number;
}

export interface PlayedV2 extends PlayedKind {
  /** Makes all pairs, with liquidity. */
  makeAll(): Promise<void>;
}

export async function deployV2(chain: TestChain): Promise<PlayedV2> {
  const pools = await V2Pools.deploy(chain);
  const fromBlock = Number(await chain.client.getBlockNumber());
  const { deploy } = chain.sending;
  /** Each account has much of each. */
  const traded = async (symbol: string, decimals: number): Promise<Token> => {
    const address = await deploy("TradedToken", [symbol, symbol, decimals]);
    for (const account of ACCOUNTS) {
      await pools.send(account, address, "give", [pools.account(account), 10n ** 40n]);
    }
    return { address, symbol, decimals };
  };
  const [weth, usdc] = [await traded("WETH", 18), await traded("USDC", 6)];
  // It burns 1 % of each transfer.
  const address = await deploy(await shipped("v2-periphery/build/DeflatingERC20"), [10n ** 30n]);
  for (const account of ACCOUNTS.slice(1)) {
    await pools.send(0, address, "transfer", [pools.account(account), 10n ** 29n]);
  }
  const burning = { address, symbol: "BURN", decimals: 18 };
  const tokens = [weth, usdc, burning];
  const borrower = await deploy("FlashBorrower");
  for (const token of tokens) {
    await pools.send(0, token.address, "transfer", [borrower, 10n ** 28n]);
    for (const account of ACCOUNTS) {
      await pools.send(account, token.address, "approve", [pools.router, maxUint256]);
    }
  }
  const markets = [
    [weth, usdc],
    [burning, usdc],
    [burning, weth],
  ] as const;
  type Market = (typeof markets)[number];
  const pairOf = ([base, quote]: Market) => pools.pairOf([base.address, quote.address]);
  /** Makes the pair where there is none. */
  const begin = ([base, quote]: Market) =>
    pools.addLiquidity(
      0,
      [base.address, quote.address],
      [1234n * 10n ** BigInt(base.decimals), 567_891n * 10n ** BigInt(quote.decimals)],
    );

  const act = async (random: (below: number) => number): Promise<unknown> => {
    const account = ACCOUNTS[random(ACCOUNTS.length)]!;
    const market = markets[random(markets.length)]!;
    const pair = await pairOf(market);
    if (pair === zeroAddress) return begin(market);
    const ways = market.map((token) => token.address) as [Address, Address];
    const path = random(2) === 0 ? ways : (ways.toReversed() as [Address, Address]);
    const reserves = await pools.reservesOf(pair);
    const share = BigInt(1 + random(1_000_000));
    switch (random(6)) {
      case 0:
        return pools.addLiquidity(account, path, [10n ** 20n, 10n ** 20n]);
      case 1: {
        const shares = await pools.read<bigint>(pair, "balanceOf", [pools.account(account)]);
        return shares > 0n ? pools.removeLiquidity(account, pair, shares / 7n) : undefined;
      }
      case 2: {
        // A loan of one token that is given back in both: it counts by the difference.
        const lent = random(2);
        const loan = (reserves[lent]! * share) / 10_000_000n;
        const other = (reserves[1 - lent]! * share) / 15_000_000n;
        const given = lent === 0 ? [loan, 0n, loan / 2n, other] : [0n, loan, other, loan / 2n];
        return pools.send(account, borrower, "borrow", [pair, ...given]);
      }
      case 3: {
        // A loan of both that is given back in the same, with more than the fee: no trade.
        const lent = reserves.map((has) => (has * share) / 10_000_000n);
        const backs = lent.map((loan) => (loan * 103n) / 100n);
        return pools.send(account, borrower, "borrow", [pair, ...lent, ...backs]);
      }
      default: {
        const [sold, bought] = path;
        const has = await pools.read<bigint>(sold, "balanceOf", [pair]);
        const third = tokens.map((token) => token.address).filter((one) => !path.includes(one));
        const way = random(3) === 0 ? [sold, ...third, bought] : path;
        return pools.swap(account, (has * share) / 10_000_000n, way);
      }
    }
  };

  /** The price of a pair by what it has; and its levels beside what the router gives. */
  const checked = async (
    { owner }: TestDatabase,
    market: Market,
    pair: Address,
  ): Promise<{ pool: PoolPrice; levels: number }> => {
    const [base, quote] = market;
    const [first] = await pools.tokensOf(pair);
    const reserves = await pools.reservesOf(pair);
    const { rows } = await owner.query<{ first: string; second: string }>(
      `select
        trunc(state.reserve0 * 10::numeric ^ one.decimals)::text as first,
        trunc(state.reserve1 * 10::numeric ^ other.decimals)::text as second
      from dex_pool as pool
      join dex_token as one on one.address = pool.gem0
      join dex_token as other on other.address = pool.gem1
      cross join lateral dex_private.pool_state_at(pool.venue, 2147483647) as state
      where pool.venue = $1`,
      [pair],
    );
    assert.deepEqual(rows, [{ first: String(reserves[0]), second: String(reserves[1]) }]);

    const [bases, quotes] =
      first === base.address ? reserves : ([reserves[1], reserves[0]] as const);
    // A base is worth so many quotes; 997 of 1,000 that come in are traded for.
    const [above, below] = [
      quotes * 10n ** BigInt(base.decimals),
      bases * 10n ** BigInt(quote.decimals),
    ];
    const pool = {
      ...{ base: base.symbol, quote: quote.symbol },
      bid: quotient(above * 997n, below * 1000n)!,
      ask: quotient(above * 1000n, below * 997n)!,
    };
    const { rows: levels } = await owner.query<Level>(
      "select act, price, vol, quote_vol, offers from dex_book($1, $2)",
      [base.symbol, quote.symbol],
    );
    for (const side of ["buy", "sell"] as const) {
      const own = levels.filter((level) => level.act === side);
      assert.deepEqual(
        own.map(({ offers }) => offers),
        Array(10).fill(0),
      );
      const path = side === "buy" ? market : market.toReversed();
      const way = path.map((token) => token.address);
      const into = side === "buy" ? bases : quotes;
      let [taken, given] = [0n, 0n];
      for (const [n, { vol, quote_vol: quoteVol }] of own.entries()) {
        const units = [parseUnits(vol, base.decimals), parseUnits(quoteVol, quote.decimals)];
        const [takes, gives] = side === "buy" ? units : units.toReversed();
        taken += takes!;
        given += gives!;
        assert.equal(await pools.amountOut(taken, way), given);
        assert.ok((await pools.amountIn(given, way)) <= taken + 1n);
        // The price moves with (1 + taken × (1 − fee) ÷ reserve)²: one unit more would be beyond the level's price.
        const [far, near] =
          side === "buy" ? [1000n, 998n - 2n * BigInt(n)] : [1002n + 2n * BigInt(n), 1000n];
        const moved = (amount: bigint): bigint => (into * 1000n + amount * 997n) ** 2n * near;
        const limit = (into * 1000n) ** 2n * far;
        assert.ok(moved(taken) <= limit && moved(taken + 1n) > limit);
      }
    }
    return { pool, levels: levels.length };
  };

  return {
    ...{ kind: "uniswap-v2", exchange: pools.factory, fromBlock, tokens, quotes: ["USDC", "WETH"] },
    act,
    async makeAll() {
      for (const market of markets) await begin(market);
    },
    /** By what the tokens themselves say that moved to the pair in the transaction, and from it. */
    async trades() {
      const logs = await chain.client.getLogs({ fromBlock: BigInt(fromBlock) });
      const moves = parseEventLogs({ abi: V2_ABI, eventName: "Transfer", logs });
      const expected: KindTrade[] = [];
      for (const log of parseEventLogs({ abi: V2_ABI, eventName: "Swap", logs })) {
        const { blockNumber, logIndex, transactionHash: tx } = log;
        const venue = getAddress(log.address);
        const moved = (token: Address): bigint =>
          moves
            .filter((move) => move.transactionHash === tx && getAddress(move.address) === token)
            .reduce((sum, { args }) => {
              const came = getAddress(args.to) === venue ? args.value : 0n;
              return sum + came - (getAddress(args.from) === venue ? args.value : 0n);
            }, 0n);
        const both = (await pools.tokensOf(venue)).map((token) => [token, moved(token)] as const);
        const lot = both.find(([, amount]) => amount < 0n);
        const bid = both.find(([, amount]) => amount > 0n);
        if (lot === undefined || bid === undefined) continue;
        const { from } = await chain.client.getTransaction({ hash: tx });
        expected.push({
          ...{ block: Number(blockNumber), idx: logIndex, tx, venue, maker: venue },
          ...{ taker: getAddress(from), lot_gem: lot[0], lot: String(-lot[1]) },
          ...{ bid_gem: bid[0], bid: String(bid[1]) },
        });
      }
      return expected;
    },
    async check(database) {
      const prices: PoolPrice[] = [];
      let levels = 0;
      for (const market of markets) {
        const pair = await pairOf(market);
        if (pair === zeroAddress) continue;
        const found = await checked(database, market, pair);
        prices.push(found.pool);
        levels += found.levels;
      }
      return { pools: prices, levels };
    },
  };
}
