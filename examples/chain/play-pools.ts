// Uniswap's own v2 contracts: two hours of trades by random users, who then go on.
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { getAddress, maxUint256, type Address } from "viem";
import { startChain, type TestChain } from "../../test/chain/chain.ts";
import { seededRandom } from "../../test/chain/seeded-random.ts";
import { V2Pools } from "../../test/chain/v2-pools.ts";
import { mineBlock } from "./mine-block.ts";

const TOKEN_LIST = "examples/chain/token-list.json";
/** Accounts of the chain. */
const USERS = [1, 2, 3, 4, 5, 6];
const HISTORY_MS = 2 * 3_600_000;
const SECONDS_APART = 60;
const LIVE_MS = 2000;
/** What each user has of each token. */
const WHOLE_TOKENS = 10n ** 12n;

interface Token {
  address: Address;
  decimals: number;
  /** What a pool begins with, in the token's smallest unit. */
  start: bigint;
}
type Pair = readonly [Token, Token];

/** Of a pool: WETH at 2,500 dollars. */
const STARTS: Readonly<Record<string, bigint>> = { WETH: 1000n, DAI: 2_500_000n, USDC: 2_500_000n };

export async function playPools(port: number): Promise<void> {
  const start = new Date(Date.now() - HISTORY_MS);
  const chain = await startChain({ start, port });
  await chain.setAutomine(false);
  const pools = await V2Pools.deploy(chain);
  const tokens = await deployTokens(chain);
  for (const token of tokens) await mineBlock(chain, fund(token, chain, pools), SECONDS_APART);
  const [weth, dai, usdc] = tokens as [Token, Token, Token];
  const pairs: Pair[] = [
    [weth, dai],
    [weth, usdc],
    [dai, usdc],
  ];
  let number = await mineBlock(
    chain,
    pairs.map((pair) => () => addLiquidity(pools, 1, pair, 1n)),
    SECONDS_APART,
  );

  const random = seededRandom(7);
  const timeOf = (block: bigint): number => start.getTime() + Number(block) * SECONDS_APART * 1000;
  const trades = () =>
    Array.from({ length: 1 + random(3) }, () => () => trade(pools, pairs, random));
  while (timeOf(number + 1n) <= Date.now())
    number = await mineBlock(chain, trades(), SECONDS_APART);

  console.log(`A chain with Uniswap v2 on it listens at ${chain.url}. To index it, run in another terminal:

RPC_URL=${chain.url} EXCHANGE=uniswap-v2:${pools.factory} FROM_BLOCK=0 TOKEN_LIST=${TOKEN_LIST} QUOTES=USDC,DAI DATA_DIR=.data-pools npm start

Its users trade on, in a block each ${LIVE_MS / 1000} seconds; Ctrl-C ends the chain.`);
  for (;;) {
    await sleep(LIVE_MS);
    await mineBlock(chain, trades());
  }
}

/** Those of the list: their addresses follow from the order in which all is deployed. */
async function deployTokens(chain: TestChain): Promise<Token[]> {
  const list = new URL("token-list.json", import.meta.url);
  const { tokens } = JSON.parse(await readFile(list, "utf8")) as {
    tokens: { address: string; symbol: string; name: string; decimals: number }[];
  };
  const deployed: Token[] = [];
  for (const { address, symbol, name, decimals } of tokens) {
    const made = await chain.sending.deploy("TradedToken", [symbol, name, decimals]);
    if (getAddress(made) !== address) {
      throw new Error(`${symbol} is at ${getAddress(made)}, and ${TOKEN_LIST} has ${address}`);
    }
    const start = (STARTS[symbol] ?? 0n) * 10n ** BigInt(decimals);
    deployed.push({ address, decimals, start });
  }
  return deployed;
}

const fund = ({ address, decimals }: Token, chain: TestChain, pools: V2Pools) =>
  USERS.flatMap((user) => [
    () =>
      pools.send(user, address, "give", [
        chain.accounts[user],
        WHOLE_TOKENS * 10n ** BigInt(decimals),
      ]),
    () => pools.send(user, address, "approve", [pools.router, maxUint256]),
  ]);

/** A share of what the pair began with. */
function addLiquidity(pools: V2Pools, user: number, [one, other]: Pair, share: bigint) {
  const amounts = [one.start / share, other.start / share] as const;
  return pools.addLiquidity(user, [one.address, other.address], amounts);
}

/** One of a random user: mostly a swap of up to 1 % of what the pool has, now and then by way of a third token. */
async function trade(pools: V2Pools, pairs: readonly Pair[], random: (below: number) => number) {
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
