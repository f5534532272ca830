// The pairs of Uniswap's own v2 factory, indexed while they are made and trade, and compared with the receipts and with getReserves.
import { readFile } from "node:fs/promises";
import {
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  getContractAddress,
  parseAbi,
  parseEventLogs,
  type Abi,
  type Address,
  type Hex,
} from "viem";
import { uniswapV2 } from "../../chain/exchanges/uniswap-v2.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import { startIndexing } from "./indexing.ts";

const GAS = 6_000_000n;
const ABI = parseAbi([
  "function createPair(address, address) returns (address)",
  "function getPair(address, address) view returns (address)",
  "function token0() view returns (address)",
  "function token1() view returns (address)",
  "function getReserves() view returns (uint112, uint112, uint32)",
  "function transfer(address, uint256) returns (bool)",
  "function balanceOf(address) view returns (uint256)",
  "function mint(address) returns (uint256)",
  "function burn(address) returns (uint256, uint256)",
  "function swap(uint256, uint256, address, bytes)",
  "function sync()",
  "event Sync(uint112 reserve0, uint112 reserve1)",
  "event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)",
]);

/** The same, for names of functions that are chosen as it runs. */
const FUNCTIONS: Abi = ABI;

let chain: TestChain;

beforeAll(async () => {
  chain = await startChain();
});
afterAll(() => chain.stop());

/** A contract of the package, as it ships compiled. */
async function deploy(name: string, args: readonly unknown[]): Promise<Address> {
  const file = new URL(`hardhat/node_modules/@uniswap/v2-core/build/${name}.json`, import.meta.url);
  const { abi, bytecode } = JSON.parse(await readFile(file, "utf8")) as {
    abi: Abi;
    bytecode: string;
  };
  const from = chain.accounts[0]!;
  const nonce = await chain.client.getTransactionCount({ address: from });
  const data = encodeDeployData({ abi, bytecode: `0x${bytecode}`, args });
  await chain.client.sendTransaction({ account: from, data, gas: GAS });
  return getContractAddress({ from, nonce: BigInt(nonce) });
}

function send(
  to: Address,
  call: { functionName: string; args?: readonly unknown[] },
): Promise<Hex> {
  const data = encodeFunctionData({ abi: FUNCTIONS, ...call });
  return chain.client.sendTransaction({ account: chain.accounts[0]!, to, data, gas: GAS });
}
const read = (address: Address, functionName: string, args: readonly unknown[] = []) =>
  chain.client.readContract({ address, abi: FUNCTIONS, functionName, args });

it("has the swaps of all pairs of a factory as the receipts have them, also after reorganisations", async () => {
  const [account] = chain.accounts as [Address];
  const factory = await deploy("UniswapV2Factory", [account]);
  const fromBlock = Number(await chain.client.getBlockNumber());
  const tokens: Address[] = [];
  for (let n = 0; n < 4; n += 1) tokens.push(await deploy("ERC20", [10n ** 30n]));
  const choices = tokens.flatMap((one, n) => tokens.slice(n + 1).map((other) => [one, other]));
  const pairs: Address[] = [];
  /** Makes the pair of the first two tokens that have none, which a reorganisation may undo. */
  const makePair = async (): Promise<void> => {
    const args = choices[pairs.length]!;
    await send(factory, { functionName: "createPair", args });
    pairs.push((await read(factory, "getPair", args)) as Address);
  };
  await makePair();
  const tokensOf = async (pair: Address): Promise<[Address, Address]> => [
    (await read(pair, "token0")) as Address,
    (await read(pair, "token1")) as Address,
  ];

  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  const step = async (pair: Address): Promise<void> => {
    const both = await tokensOf(pair);
    const reserves = (await read(pair, "getReserves")) as [bigint, bigint, number];
    const gives = random(2);
    const amount = BigInt(1 + random(1_000_000)) * 10n ** 12n;
    const pay = (n: number, paid: bigint) =>
      send(both[n]!, { functionName: "transfer", args: [pair, paid] });
    switch (reserves[0] === 0n ? 0 : random(8)) {
      case 0:
        await pay(0, 10n ** 20n);
        await pay(1, 10n ** 20n + amount);
        await send(pair, { functionName: "mint", args: [account] });
        return;
      case 1: {
        const shares = (await read(pair, "balanceOf", [account])) as bigint;
        await send(pair, { functionName: "transfer", args: [pair, shares / 10n] });
        await send(pair, { functionName: "burn", args: [account] });
        return;
      }
      case 2:
        await pay(gives, amount);
        await send(pair, { functionName: "sync" });
        return;
      default: {
        // What comes in counts by 997 of 1,000; a gift of the other token is netted.
        const counted = amount * 997n;
        const [into, out] = [reserves[1 - gives] as bigint, reserves[gives] as bigint];
        const given = (counted * out) / (into * 1000n + counted);
        await pay(1 - gives, amount);
        if (random(3) === 0) await pay(gives, 5n);
        const outs = gives === 0 ? [given, 0n] : [0n, given];
        await send(pair, { functionName: "swap", args: [...outs, account, "0x"] });
      }
    }
  };

  const database = await makeDatabase();
  const start = () =>
    startIndexing({
      ...{ databaseUrl: database.url, url: chain.url, fromBlock, taker: "sender" },
      ...{ exchange: factory, decoder: uniswapV2 },
    });
  const steps = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await step(pairs[random(pairs.length)]!);
  };
  let indexing = start();
  for (let round = 0; round < 5; round += 1) {
    const snapshot = await chain.snapshot();
    await makePair();
    await step(pairs.at(-1)!);
    await steps(3);
    await indexing.wrote(await chain.client.getBlockNumber());
    if (round % 2 === 0) {
      await chain.revert(snapshot);
      pairs.pop();
      await steps(5);
      if (random(2) === 0) await makePair();
      await steps(2);
    }
    await steps(4);
    await chain.mine(30);
    await indexing.wrote(await chain.client.getBlockNumber());
    await indexing.stop();
    indexing = start();
  }
  await indexing.stop();

  const logs = await chain.client.getLogs({ address: pairs, fromBlock: BigInt(fromBlock) });
  const swaps = parseEventLogs({ abi: ABI, logs, eventName: "Swap" });
  const expected: object[] = [];
  for (const { address, args, blockNumber, logIndex, transactionHash: tx } of swaps) {
    const both = await tokensOf(getAddress(address));
    const moved = [args.amount0In - args.amount0Out, args.amount1In - args.amount1Out] as const;
    const lot = moved[0] < 0n ? 0 : 1;
    const venue = getAddress(address);
    expected.push({
      ...{ block: Number(blockNumber), idx: logIndex, tx, venue, maker: venue },
      ...{ taker: getAddress(account), lot_gem: both[lot], bid_gem: both[1 - lot] },
      ...{ lot: String(-moved[lot]), bid: String(moved[1 - lot]) },
    });
  }
  const expectRows = async ({ owner }: TestDatabase): Promise<void> => {
    const { rows } = await owner.query(
      `select
        block, idx, tx, venue, maker, taker, lot_gem, bid_gem,
        trim_scale(lot_amt * 1e18)::text as lot,
        trim_scale(bid_amt * 1e18)::text as bid
      from dex_trade
      order by id`,
    );
    expect(rows.length).toBeGreaterThan(15);
    expect(rows).toEqual(expected);
  };
  await expectRows(database);
  const { rows: made } = await database.owner.query<{ address: string }>(
    "select address from dex_private.index_contract order by number",
  );
  expect(made.map(({ address }) => getAddress(address))).toEqual(pairs);

  // Given one by one, they have the same rows.
  const other = await makeDatabase();
  const [exchange, ...rest] = pairs as [Address];
  const oneByOne = startIndexing({
    ...{ databaseUrl: other.url, url: chain.url, fromBlock, taker: "sender" },
    ...{ exchange, decoder: uniswapV2 },
    others: rest.map((pair) => ({ exchange: pair, decoder: uniswapV2, firstBlock: fromBlock })),
  });
  await oneByOne.wrote(await chain.client.getBlockNumber());
  await oneByOne.stop();
  await expectRows(other);
  await other.drop();

  expect(await verify(await database.connect("dex_owner"))).toEqual([]);
  // The last Sync is what the contract itself says.
  for (const pair of pairs) {
    const own = logs.filter((log) => getAddress(log.address) === pair);
    const { args } = parseEventLogs({ abi: ABI, logs: own, eventName: "Sync" }).at(-1)!;
    const reserves = (await read(pair, "getReserves")) as bigint[];
    expect([args.reserve0, args.reserve1]).toEqual(reserves.slice(0, 2));
    // And so is what the database keeps.
    const { rows } = await database.owner.query(
      `select trim_scale(reserve0 * 1e18)::text as first, trim_scale(reserve1 * 1e18)::text as second
      from dex_private.pool_state_at($1, 2147483647)`,
      [pair],
    );
    expect(rows).toEqual([{ first: String(reserves[0]), second: String(reserves[1]) }]);
  }
  await database.drop();
});
