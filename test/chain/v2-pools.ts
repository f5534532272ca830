// Uniswap's own v2 contracts on a test chain: each method sends one transaction from an account, by its index.
import { encodeFunctionData, maxUint256, parseAbi, type Abi, type Address, type Hash } from "viem";
import type { TestChain } from "./chain.ts";
import { shipped } from "./shipped.ts";

/** A block has room for 33 transactions. */
const GAS = 6_000_000n;

export const V2_ABI = parseAbi([
  "function createPair(address, address) returns (address)",
  "function getPair(address, address) view returns (address)",
  "function token0() view returns (address)",
  "function token1() view returns (address)",
  "function getReserves() view returns (uint112, uint112, uint32)",
  "function give(address, uint256)",
  "function approve(address, uint256) returns (bool)",
  "function transfer(address, uint256) returns (bool)",
  "function balanceOf(address) view returns (uint256)",
  "function mint(address) returns (uint256)",
  "function burn(address) returns (uint256, uint256)",
  "function swap(uint256, uint256, address, bytes)",
  "function sync()",
  "function borrow(address, uint256, uint256, uint256, uint256)",
  "function addLiquidity(address, address, uint256, uint256, uint256, uint256, address, uint256) returns (uint256, uint256, uint256)",
  "function swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256, uint256, address[], address, uint256)",
  "function getAmountsOut(uint256, address[]) view returns (uint256[])",
  "function getAmountsIn(uint256, address[]) view returns (uint256[])",
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event Sync(uint112 reserve0, uint112 reserve1)",
  "event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)",
]);

/** The same, for names of functions that are chosen as it runs. */
const FUNCTIONS: Abi = V2_ABI;

export class V2Pools {
  readonly factory: Address;
  readonly router: Address;
  readonly #chain: TestChain;

  private constructor(chain: TestChain, factory: Address, router: Address) {
    this.#chain = chain;
    this.factory = factory;
    this.router = router;
  }

  /** The factory and the router, which trades no coin of the chain. */
  static async deploy(chain: TestChain): Promise<V2Pools> {
    const { deploy } = chain.sending;
    const owner = chain.accounts[0]!;
    const factory = await deploy(await shipped("v2-core/build/UniswapV2Factory"), [owner]);
    const router = await shipped("v2-periphery/build/UniswapV2Router02");
    return new V2Pools(chain, factory, await deploy(router, [factory, factory]));
  }

  account(index: number): Address {
    return this.#chain.accounts[index]!;
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

  pairOf(tokens: readonly [Address, Address]): Promise<Address> {
    return this.read(this.factory, "getPair", tokens);
  }

  async tokensOf(pair: Address): Promise<[Address, Address]> {
    return [await this.read(pair, "token0"), await this.read(pair, "token1")];
  }

  async reservesOf(pair: Address): Promise<[bigint, bigint]> {
    const [first, second] = await this.read<[bigint, bigint, number]>(pair, "getReserves");
    return [first, second];
  }

  /** Makes the pair where there is none. */
  addLiquidity(
    account: number,
    tokens: readonly [Address, Address],
    amounts: readonly [bigint, bigint],
  ): Promise<Hash> {
    const args = [...tokens, ...amounts, 0n, 0n, this.account(account), maxUint256];
    return this.send(account, this.router, "addLiquidity", args);
  }

  /** Gives back this many shares of the pair, by two transactions. */
  async removeLiquidity(account: number, pair: Address, shares: bigint): Promise<Hash> {
    await this.send(account, pair, "transfer", [pair, shares]);
    return this.send(account, pair, "burn", [this.account(account)]);
  }

  /** Sells this amount of the first token for the next one, and so on to the last, by the function that any token is sold by. */
  swap(account: number, amount: bigint, path: readonly Address[]): Promise<Hash> {
    const args = [amount, 0n, path, this.account(account), maxUint256];
    return this.send(
      account,
      this.router,
      "swapExactTokensForTokensSupportingFeeOnTransferTokens",
      args,
    );
  }

  /** What the router gives for this amount of the first token. */
  async amountOut(amount: bigint, path: readonly Address[]): Promise<bigint> {
    return (await this.read<bigint[]>(this.router, "getAmountsOut", [amount, path])).at(-1)!;
  }

  /** What the router takes of the first token for this amount of the last. */
  async amountIn(amount: bigint, path: readonly Address[]): Promise<bigint> {
    return (await this.read<bigint[]>(this.router, "getAmountsIn", [amount, path]))[0]!;
  }
}
