// The events of Uniswap v3 pools and of their factory, for invented chains.
import { encodeAbiParameters, encodeEventTopics, parseAbi, type Abi } from "viem";
import { FIRST, PAIR, poolOf, SECOND, TO, type Event } from "./pair-events.ts";

export const ABI = parseAbi([
  "event Initialize(uint160 sqrtPriceX96, int24 tick)",
  "event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)",
  "event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)",
  "event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)",
  "event PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool)",
]);
/** The same, for names that are chosen as it runs. */
const EVENTS: Abi = ABI;

function event(eventName: (typeof ABI)[number]["name"], args: Record<string, unknown>): Event {
  const { inputs } = ABI.find(({ name }) => name === eventName)!;
  const plain = inputs.filter((input) => !("indexed" in input));
  return {
    topics: encodeEventTopics({ abi: EVENTS, eventName, args }).flatMap((topic) => topic ?? []),
    data: encodeAbiParameters(
      plain,
      plain.map(({ name }) => args[name]),
    ),
  };
}

/** The square root of the price 1. */
export const ONE = 2n ** 96n;
/** The square root of a price in the midst of a tick. */
export const priceAt = (tick: number): bigint =>
  BigInt(Math.round(1.0001 ** ((tick + 0.5) / 2) * 2 ** 96));
export const initialize = (): Event => event("Initialize", { sqrtPriceX96: ONE, tick: 0 });
export const swap = (
  amount0: bigint,
  amount1: bigint,
  tick: number,
  liquidity = 1000n,
  sqrtPriceX96 = priceAt(tick),
): Event =>
  event("Swap", {
    ...{ sender: PAIR, recipient: TO, amount0, amount1, liquidity, tick, sqrtPriceX96 },
  });
const range = (tickLower: number, tickUpper: number, amount: bigint) => ({
  ...{ sender: PAIR, owner: PAIR, tickLower, tickUpper, amount, amount0: 1n, amount1: 1n },
});
export const mint = (...given: Parameters<typeof range>): Event => event("Mint", range(...given));
export const burn = (...given: Parameters<typeof range>): Event => event("Burn", range(...given));
export const made = (number: bigint): Event =>
  event("PoolCreated", {
    ...{ token0: FIRST, token1: SECOND, fee: 500, tickSpacing: 10, pool: poolOf(number) },
  });
