// Pools on a chain: two hours of trades by random users, who then go on.
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { getAddress, type Address } from "viem";
import { startChain, type TestChain } from "../../test/chain/chain.ts";
import { seededRandom } from "../../test/chain/seeded-random.ts";
import { mineBlock } from "./mine-block.ts";

const TOKEN_LIST = "examples/chain/token-list.json";
/** Accounts of the chain. */
export const USERS: readonly number[] = [1, 2, 3, 4, 5, 6];
const HISTORY_MS = 2 * 3_600_000;
const SECONDS_APART = 60;
const LIVE_MS = 2000;
/** What each user has of each token. */
export const WHOLE_TOKENS: bigint = 10n ** 12n;

export interface Token {
  address: Address;
  decimals: number;
  /** What a pool begins with, in the token's smallest unit. */
  start: bigint;
}
export type Pair = readonly [Token, Token];
export type Random = (below: number) => number;

/** Sends a transaction, which waits for its block. */
type Act = () => Promise<unknown>;

export interface Pools {
  factory: Address;
  /** Gives the users much of a token. */
  fund(token: Token): Act[];
  /** Makes pools of these pairs, with the transactions of one block after the other. */
  open(pairs: readonly Pair[]): (() => Promise<Act[]>)[];
  /** What a random user does. */
  trade(pairs: readonly Pair[], random: Random): Promise<unknown>;
}

/** Of a pool: WETH at 2,500 dollars. */
const STARTS: Readonly<Record<string, bigint>> = { WETH: 1000n, DAI: 2_500_000n, USDC: 2_500_000n };

export async function playPools(
  port: number,
  kind: string,
  deploy: (chain: TestChain) => Promise<Pools>,
): Promise<void> {
  const start = new Date(Date.now() - HISTORY_MS);
  const chain = await startChain({ start, port });
  await chain.setAutomine(false);
  const pools = await deploy(chain);
  const tokens = await deployTokens(chain);
  for (const token of tokens) await mineBlock(chain, pools.fund(token), SECONDS_APART);
  const [weth, dai, usdc] = tokens as [Token, Token, Token];
  const pairs: Pair[] = [
    [weth, dai],
    [weth, usdc],
    [dai, usdc],
  ];
  let number = 0n;
  for (const acts of pools.open(pairs))
    number = await mineBlock(chain, await acts(), SECONDS_APART);

  const random = seededRandom(7);
  const timeOf = (block: bigint): number => start.getTime() + Number(block) * SECONDS_APART * 1000;
  const trades = () =>
    Array.from({ length: 1 + random(3) }, () => () => pools.trade(pairs, random));
  while (timeOf(number + 1n) <= Date.now())
    number = await mineBlock(chain, trades(), SECONDS_APART);

  console.log(`A chain with pools of ${kind} on it listens at ${chain.url}. To index it, run in another terminal:

RPC_URL=${chain.url} EXCHANGE=${kind}:${pools.factory} FROM_BLOCK=0 TOKEN_LIST=${TOKEN_LIST} QUOTES=USDC,DAI DATA_DIR=.data-${kind} npm start

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
