// Uniswap's own v3 contracts: swaps in pools of two fees, and liquidity in ranges around the price.
import { root, V3Pools } from "../../test/chain/v3-pools.ts";
import { playPools, USERS, WHOLE_TOKENS, type Pair, type Random } from "./play-pools.ts";

/** Of each pair a pool of each fee; the ticks that a range can end at. */
const FEES = [
  { fee: 500, tickSpacing: 10 },
  { fee: 3000, tickSpacing: 60 },
] as const;
/** Of the liquidity that a pool begins with, for all prices. */
const WHOLE_RANGE = 887_220;

export const playV3 = (port: number): Promise<void> =>
  playPools(port, "uniswap-v3", async (chain) => {
    const pools = await V3Pools.deploy(chain);
    return {
      factory: pools.factory,
      fund: ({ address, decimals }) =>
        USERS.map((user) => () => {
          const amount = WHOLE_TOKENS * 10n ** BigInt(decimals);
          return pools.send(user, address, "give", [pools.user, amount]);
        }),
      open: (pairs) => [
        () =>
          Promise.resolve(
            eachPool(pairs).map(
              ({ pair, fee }) =>
                () =>
                  pools.create(1, addressesOf(pair), fee),
            ),
          ),
        () => Promise.all(eachPool(pairs).map((pool) => begin(pools, pool))),
        () => Promise.all(eachPool(pairs).map((pool) => fill(pools, pool))),
      ],
      trade: (pairs, random) => trade(pools, pairs, random),
    };
  });

const eachPool = (pairs: readonly Pair[]) =>
  pairs.flatMap((pair) => FEES.map((kind) => ({ pair, ...kind })));
type Pool = ReturnType<typeof eachPool>[number];

const addressesOf = ([one, other]: Pair) => [one.address, other.address] as const;
const poolOf = (pools: V3Pools, { pair, fee }: Pool) => pools.poolOf(addressesOf(pair), fee);

/** What the pool begins with of its first token and its second. */
const startsOf = ([one, other]: Pair): [bigint, bigint] =>
  one.address.toLowerCase() < other.address.toLowerCase()
    ? [one.start, other.start]
    : [other.start, one.start];

async function begin(pools: V3Pools, pool: Pool) {
  const address = await poolOf(pools, pool);
  const [first, second] = startsOf(pool.pair);
  return () => pools.send(1, address, "initialize", [root((second << 192n) / first)]);
}

async function fill(pools: V3Pools, pool: Pool) {
  const address = await poolOf(pools, pool);
  const [first, second] = startsOf(pool.pair);
  return () => pools.mint(1, address, [-WHOLE_RANGE, WHOLE_RANGE], root(first * second));
}

/** One of a random user: mostly a swap that moves the price by up to 0.4 %, now and then more or less liquidity around it. */
async function trade(pools: V3Pools, pairs: readonly Pair[], random: Random) {
  const all = eachPool(pairs);
  const user = USERS[random(USERS.length)];
  const pool = all[random(all.length)];
  if (user === undefined || pool === undefined) throw new Error("there are no users or pools");
  const address = await poolOf(pools, pool);
  const { sqrtPrice, tick, liquidity } = await pools.priceOf(address);
  const kind = random(12);
  if (kind < 2) {
    // A burn in a range without a position is a transaction that fails.
    const middle = Math.floor(tick / pool.tickSpacing / 10) * pool.tickSpacing * 10;
    const range = [middle - 20 * pool.tickSpacing, middle + 20 * pool.tickSpacing] as const;
    const amount = liquidity / BigInt(10 + random(40));
    return kind === 0
      ? pools.mint(user, address, range, amount)
      : pools.burn(user, address, range, amount / 3n);
  }
  const sellsFirst = random(2) === 0;
  const share = BigInt(1 + random(2000));
  const amount = sellsFirst
    ? (liquidity * (1n << 96n) * share) / (sqrtPrice * 1_000_000n)
    : (liquidity * sqrtPrice * share) / ((1n << 96n) * 1_000_000n);
  return pools.swap(user, address, sellsFirst, amount);
}
