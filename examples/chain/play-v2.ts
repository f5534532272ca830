// Uniswap's own v2 contracts: swaps, some by way of a third token, and liquidity that comes and goes.
import { maxUint256 } from "viem";
import { V2Pools } from "../../test/chain/v2-pools.ts";
import { playPools, USERS, WHOLE_TOKENS, type Pair, type Random } from "./play-pools.ts";

export const playV2 = (port: number): Promise<void> =>
  playPools(port, "uniswap-v2", async (chain) => {
    const pools = await V2Pools.deploy(chain);
    return {
      factory: pools.factory,
      fund: ({ address, decimals }) =>
        USERS.flatMap((user) => {
          const amount = WHOLE_TOKENS * 10n ** BigInt(decimals);
          return [
            () => pools.send(user, address, "give", [pools.account(user), amount]),
            () => pools.send(user, address, "approve", [pools.router, maxUint256]),
          ];
        }),
      open: (pairs) => [
        () => Promise.resolve(pairs.map((pair) => () => addLiquidity(pools, 1, pair, 1n))),
      ],
      trade: (pairs, random) => trade(pools, pairs, random),
    };
  });

/** A share of what the pair began with. */
function addLiquidity(pools: V2Pools, user: number, [one, other]: Pair, share: bigint) {
  const amounts = [one.start / share, other.start / share] as const;
  return pools.addLiquidity(user, [one.address, other.address], amounts);
}

/** One of a random user: mostly a swap of up to 1 % of what the pool has, now and then by way of a third token. */
async function trade(pools: V2Pools, pairs: readonly Pair[], random: Random) {
  const user = USERS[random(USERS.length)];
  const pair = pairs[random(pairs.length)];
  if (user === undefined || pair === undefined) throw new Error("there are no users or pairs");
  const [sold, bought] = random(2) === 0 ? pair : ([pair[1], pair[0]] as const);
  const address = await pools.pairOf([sold.address, bought.address]);
  const kind = random(12);
  if (kind === 0) return addLiquidity(pools, user, pair, BigInt(10 + random(40)));
  if (kind === 1) {
    const shares = await pools.read<bigint>(address, "balanceOf", [pools.account(user)]);
    if (shares > 0n) return pools.removeLiquidity(user, address, shares / 3n);
  }
  const has = await pools.read<bigint>(sold.address, "balanceOf", [address]);
  const between = pairs.flat().find((token) => token !== sold && token !== bought);
  const path = kind === 2 && between !== undefined ? [sold, between, bought] : [sold, bought];
  return pools.swap(
    user,
    (has * BigInt(1 + random(1000))) / 100_000n,
    path.map((token) => token.address),
  );
}
