// The pairs of Uniswap's own v2 factory, indexed while they are made and trade, and compared with the receipts and with getReserves.
import { getAddress, parseEventLogs, type Address } from "viem";
import { uniswapV2 } from "../../chain/exchanges/uniswap-v2.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startChain, type TestChain } from "./chain.ts";
import { startIndexing } from "./indexing.ts";
import { seededRandom } from "./seeded-random.ts";
import { shipped } from "./shipped.ts";
import { V2Pools, V2_ABI } from "./v2-pools.ts";

let chain: TestChain;

beforeAll(async () => {
  chain = await startChain();
});
afterAll(() => chain.stop());

it("has the swaps of all pairs of a factory as the receipts have them, also after reorganisations", async () => {
  const [account] = chain.accounts as [Address];
  const pools = await V2Pools.deploy(chain);
  const { factory } = pools;
  const fromBlock = Number(await chain.client.getBlockNumber());
  const tokens: Address[] = [];
  const token = await shipped("v2-core/build/ERC20");
  for (let n = 0; n < 4; n += 1) tokens.push(await chain.sending.deploy(token, [10n ** 30n]));
  const choices = tokens.flatMap((one, n) =>
    tokens.slice(n + 1).map((other) => [one, other] as const),
  );
  const pairs: Address[] = [];
  /** Makes the pair of the first two tokens that have none, which a reorganisation may undo. */
  const makePair = async (): Promise<void> => {
    const args = choices[pairs.length]!;
    await pools.send(0, factory, "createPair", args);
    pairs.push(await pools.pairOf(args));
  };
  await makePair();

  const random = seededRandom(7);
  const step = async (pair: Address): Promise<void> => {
    const both = await pools.tokensOf(pair);
    const reserves = await pools.reservesOf(pair);
    const gives = random(2);
    const amount = BigInt(1 + random(1_000_000)) * 10n ** 12n;
    const pay = (n: number, paid: bigint) => pools.send(0, both[n]!, "transfer", [pair, paid]);
    switch (reserves[0] === 0n ? 0 : random(8)) {
      case 0:
        await pay(0, 10n ** 20n);
        await pay(1, 10n ** 20n + amount);
        await pools.send(0, pair, "mint", [account]);
        return;
      case 1: {
        const shares = await pools.read<bigint>(pair, "balanceOf", [account]);
        await pools.removeLiquidity(0, pair, shares / 10n);
        return;
      }
      case 2:
        await pay(gives, amount);
        await pools.send(0, pair, "sync");
        return;
      default: {
        // What comes in counts by 997 of 1,000; a gift of the other token is netted.
        const counted = amount * 997n;
        const [into, out] = [reserves[1 - gives]!, reserves[gives]!];
        const given = (counted * out) / (into * 1000n + counted);
        await pay(1 - gives, amount);
        if (random(3) === 0) await pay(gives, 5n);
        const outs = gives === 0 ? [given, 0n] : [0n, given];
        await pools.send(0, pair, "swap", [...outs, account, "0x"]);
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
  const swaps = parseEventLogs({ abi: V2_ABI, logs, eventName: "Swap" });
  const expected: object[] = [];
  for (const { address, args, blockNumber, logIndex, transactionHash: tx } of swaps) {
    const both = await pools.tokensOf(getAddress(address));
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
    const { args } = parseEventLogs({ abi: V2_ABI, logs: own, eventName: "Sync" }).at(-1)!;
    const reserves = await pools.reservesOf(pair);
    expect([args.reserve0, args.reserve1]).toEqual(reserves);
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
