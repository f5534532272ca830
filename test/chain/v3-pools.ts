// Uniswap's own v3 contracts on a test chain: each method sends one transaction from an account, by its index.
import {
  encodeFunctionData,
  encodePacked,
  keccak256,
  parseAbi,
  zeroAddress,
  type Abi,
  type Address,
  type Hash,
} from "viem";
import type { TestChain } from "./chain.ts";
import { shipped } from "./shipped.ts";

const GAS = 8_000_000n;
/** The square roots of the prices that no swap passes. */
const [LOWEST, HIGHEST] = [4295128740n, 1461446703485210103287273052203988822378723970341n];

export const V3_ABI = parseAbi([
  "function createPool(address, address, uint24) returns (address)",
  "function getPool(address, address, uint24) view returns (address)",
  "function initialize(uint160)",
  "function token0() view returns (address)",
  "function token1() view returns (address)",
  "function slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)",
  "function liquidity() view returns (uint128)",
  "function ticks(int24) view returns (uint128, int128, uint256, uint256, int56, uint160, uint32, bool)",
  "function positions(bytes32) view returns (uint128, uint256, uint256, uint128, uint128)",
  "function give(address, uint256)",
  "function mint(address, int24, int24, uint128)",
  "function burn(address, int24, int24, uint128)",
  "function swap(address, bool, int256, uint160)",
  "function flash(address, uint256, uint256)",
  "function quoteExactInputSingle(address, address, uint24, uint256, uint160) returns (uint256)",
  "event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)",
]);

/** The same, for names of functions that are chosen as it runs. */
const FUNCTIONS: Abi = V3_ABI;

export interface PoolPrice {
  sqrtPrice: bigint;
  tick: number;
  liquidity: bigint;
}

/** The largest integer whose square is at most this. */
export function root(square: bigint): bigint {
  let [low, high] = [0n, 1n << 200n];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (middle * middle <= square) low = middle;
    else high = middle - 1n;
  }
  return low;
}

export class V3Pools {
  readonly factory: Address;
  /** The contract that has the tokens of all users. */
  readonly user: Address;
  readonly #chain: TestChain;
  #quoter: Address = zeroAddress;

  private constructor(chain: TestChain, factory: Address, user: Address) {
    this.#chain = chain;
    this.factory = factory;
    this.user = user;
  }

  static async deploy(chain: TestChain): Promise<V3Pools> {
    const { deploy } = chain.sending;
    const factory = "v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory";
    return new V3Pools(chain, await deploy(await shipped(factory)), await deploy("RangeUser"));
  }

  /** For `amountOut`. */
  async deployQuoter(): Promise<void> {
    const quoter = await shipped("v3-periphery/artifacts/contracts/lens/Quoter.sol/Quoter");
    this.#quoter = await this.#chain.sending.deploy(quoter, [this.factory, zeroAddress]);
  }

  /** Sends a call of any of the contracts. */
  send(account: number, to: Address, functionName: string, args: readonly unknown[] = []) {
    const data = encodeFunctionData({ abi: FUNCTIONS, functionName, args });
    return this.#chain.sending.send(account, { to, data, gas: GAS });
  }

  read<T>(address: Address, functionName: string, args: readonly unknown[] = []): Promise<T> {
    const call = { address, abi: FUNCTIONS, functionName, args };
    return this.#chain.client.readContract(call) as Promise<T>;
  }

  poolOf(tokens: readonly [Address, Address], fee: number): Promise<Address> {
    return this.read(this.factory, "getPool", [...tokens, fee]);
  }

  async tokensOf(pool: Address): Promise<[Address, Address]> {
    return [await this.read(pool, "token0"), await this.read(pool, "token1")];
  }

  async priceOf(pool: Address): Promise<PoolPrice> {
    const [sqrtPrice, tick] = await this.read<[bigint, number]>(pool, "slot0");
    return { sqrtPrice, tick, liquidity: await this.read(pool, "liquidity") };
  }

  /** What the user has in a range. */
  async liquidityOf(pool: Address, range: readonly [number, number]): Promise<bigint> {
    const key = keccak256(encodePacked(["address", "int24", "int24"], [this.user, ...range]));
    const [liquidity] = await this.read<[bigint]>(pool, "positions", [key]);
    return liquidity;
  }

  create(account: number, tokens: readonly [Address, Address], fee: number): Promise<Hash> {
    return this.send(account, this.factory, "createPool", [...tokens, fee]);
  }

  mint(account: number, pool: Address, range: readonly [number, number], amount: bigint) {
    return this.send(account, this.user, "mint", [pool, ...range, amount]);
  }

  burn(account: number, pool: Address, range: readonly [number, number], amount: bigint) {
    return this.send(account, this.user, "burn", [pool, ...range, amount]);
  }

  /** Sells this amount of the first token or of the second; a negative one is what comes out. */
  swap(account: number, pool: Address, sellsFirst: boolean, amount: bigint): Promise<Hash> {
    const limit = sellsFirst ? LOWEST : HIGHEST;
    return this.send(account, this.user, "swap", [pool, sellsFirst, amount, limit]);
  }

  /** What the quoter gives for this amount of the first token of the path. */
  amountOut(amount: bigint, path: readonly [Address, Address], fee: number): Promise<bigint> {
    return this.#chain.client
      .simulateContract({
        ...{ address: this.#quoter, abi: V3_ABI, functionName: "quoteExactInputSingle" },
        args: [...path, fee, amount, 0n],
      })
      .then(({ result }) => result);
  }
}
