// The logs of a Uniswap v2 pair as trades, and what shows that one is missing.
import { getAddress, numberToHex, padHex, toFunctionSelector, type Hex } from "viem";
import { uniswapV2 } from "../../chain/exchanges/uniswap-v2.ts";
import { IncompleteLogs, type ChainLog, type Decoder } from "../../chain/exchange-facts.ts";
import { readIndexSettings, type IndexSettings } from "../../chain/index-settings.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import {
  act,
  burn,
  FIRST,
  made,
  mint,
  PAIR,
  poolOf,
  SECOND,
  swap,
  sync,
  TO,
  type Event,
} from "./pair-events.ts";
import { startIndexing } from "./indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Act,
  type Call,
  type InventedNode,
} from "./invented-chain.ts";

/** The logs of one transaction after the other. */
const logsOf = (...transactions: Event[][]): ChainLog[] =>
  transactions.flatMap((events, n) =>
    events.map((one, idx) => ({
      ...{ address: PAIR, ...one, block: n + 1, hash: "0x", time: undefined },
      ...{ tx: numberToHex(n, { size: 32 }), idx },
    })),
  );

let pair: Decoder;

beforeAll(async () => {
  pair = (await uniswapV2.setUp?.(((call: { name: string }) =>
    Promise.resolve(call.name === "token0()" ? FIRST : SECOND)) as never))!;
});

const factsOf = (...transactions: Event[][]) => pair.decode(logsOf(...transactions));
const decoded = (...transactions: Event[][]) =>
  factsOf(...transactions).filter(({ kind }) => kind === "trade");

const BEGUN = [sync(1000n, 2000n), mint(1000n, 2000n)];

it.each([
  ["the first token for the second", swap(100n, 0n, 0n, 180n), sync(1100n, 1820n), [180n, 100n]],
  ["the second for the first", swap(0n, 300n, 130n, 0n), sync(870n, 2300n), [130n, 300n]],
  ["with both in", swap(100n, 20n, 0n, 200n), sync(1100n, 1820n), [180n, 100n]],
  ["with all four", swap(150n, 300n, 280n, 0n), sync(870n, 2300n), [130n, 300n]],
])("a swap of %s is a trade of what moved", (_name, swapped, synced, [lotAmt, bidAmt]) => {
  const isFirstLot = synced.data === sync(870n, 2300n).data;
  expect(decoded(BEGUN, [synced, swapped])).toEqual([
    {
      ...{ kind: "trade", offerId: null, maker: getAddress(PAIR), taker: TO },
      ...{ lotGem: isFirstLot ? FIRST : SECOND, bidGem: isFirstLot ? SECOND : FIRST },
      ...{ lotAmt, bidAmt, block: 2, hash: "0x", time: undefined, idx: 1 },
      tx: numberToHex(1, { size: 32 }),
    },
  ]);
});

it("a loan that is given back with a fee, and one side alone, are no trades", () => {
  expect(
    decoded(
      BEGUN,
      [sync(1001n, 2000n), swap(501n, 0n, 500n, 0n)],
      [sync(1002n, 2001n), swap(1n, 1n, 0n, 0n)],
    ),
  ).toEqual([]);
});

it("mints, burns, bare syncs and a token that lowers balances change the reserves", () => {
  const trades = decoded(
    BEGUN,
    [sync(1500n, 3000n), mint(500n, 1000n)],
    [sync(1400n, 2800n), burn(100n, 200n)],
    [sync(1300n, 2800n)],
    [sync(1310n, 2750n), swap(10n, 0n, 0n, 20n)],
  );
  expect(trades).toHaveLength(1);
});

it.each([
  ["the Sync of a swap", [[swap(1n, 0n, 0n, 1n)]]],
  ["a swap and its Sync", [[sync(1200n, 1700n), swap(100n, 0n, 0n, 120n)]]],
  ["a mint and its Sync", [[sync(1600n, 2900n), swap(100n, 0n, 0n, 100n)]]],
  ["a swap before a mint", [[sync(1300n, 2300n), mint(100n, 200n)]]],
  ["the Sync of another transaction's swap", [[sync(1000n, 2000n)], [swap(1n, 0n, 0n, 1n)]]],
])("the lack of %s is noticed", (_name, transactions) => {
  expect(() => decoded(BEGUN, ...transactions)).toThrow(IncompleteLogs);
});

const pairLog = (one: Event): ChainLog => logsOf([one])[0]!;

it("a log of the factory adds its pair, whose tokens it has", () => {
  expect(uniswapV2.discover?.made(pairLog(made(7n)))).toEqual({
    ...{ address: poolOf(7n), number: 7 },
    answers: { "token0()": FIRST, "token1()": SECOND },
  });
  expect(uniswapV2.discover?.topics).toEqual([pairLog(made(7n)).topics[0]]);
});

describe("an indexer", () => {
  const settings = (given = {}) =>
    readIndexSettings({
      ...{ RPC_URL: "http://127.0.0.1", EXCHANGE: `uniswap-v2:${EXCHANGE},uniswap-v2:${PAIR}@3` },
      ...{ FROM_BLOCK: "0", ...given },
    });

  it("takes the sender of the transaction as taker, unless it is set", () => {
    expect(settings()).toMatchObject({ taker: "sender" });
    expect(settings({ TAKER: "event" })).toMatchObject({ taker: "event" });
  });

  const optionsOf = (node: InventedNode, { url }: TestDatabase, given = {}) => ({
    ...(settings({ TAKER: "event", ...given }) as IndexSettings),
    ...{ databaseUrl: url, url: node.url, rpcUrls: [node.url], requestsPerSecond: 10_000 },
  });
  const contractsOf = async ({ owner }: TestDatabase): Promise<string[]> => {
    const { rows } = await owner.query<{ row: string }>(
      `select concat_ws(' ', address, block, number, answers ->> 'token0()', answers ->> 'token1()') as row
      from dex_private.index_contract
      order by block, number`,
    );
    return rows.map(({ row }) => row);
  };

  it("asks each pair for its tokens, and records its trades by pool", async () => {
    const acts = Array.from({ length: 6 }, (): Act[] => []);
    acts[1] = [act(BEGUN, EXCHANGE)];
    acts[3] = [act([sync(7n, 7n), swap(2n, 0n, 0n, 1n)], PAIR)];
    acts[4] = [act([sync(1100n, 1820n), swap(100n, 0n, 0n, 180n)], EXCHANGE)];
    const node = await startInventedNode(chainOf(acts), 0);
    let asked = 0;
    const tokens = new Map<string, number>(
      ["token0()", "token1()"].map((name, n) => [toFunctionSelector(`function ${name}`), n]),
    );
    node.lie = ({ method, params }: Call, truth) => {
      const [{ data = "" } = {}] = params as { data?: string }[];
      const token = method === "eth_call" ? tokens.get(data) : undefined;
      if (token === undefined) return truth;
      asked += 1;
      return padHex([FIRST, SECOND][token]!, { size: 32 });
    };
    const database = await makeDatabase();
    const start = () => startIndexing(optionsOf(node, database));
    const indexing = start();
    await indexing.wrote(5);
    await indexing.stop();
    const { rows } = await database.owner.query(
      `select block, offer_id, venue, maker, taker, lot_tkn, (lot_amt * 1e18)::integer as lot, (bid_amt * 1e18)::integer as bid
      from dex_trade
      order by id`,
    );
    const pools = [getAddress(PAIR), getAddress(EXCHANGE)];
    expect(rows).toEqual(
      pools.map((venue, n) => ({
        ...{ block: 3 + n, offer_id: null, venue, maker: venue, taker: TO },
        ...{ lot_tkn: "WETH", lot: [1, 180][n], bid: [2, 100][n] },
      })),
    );
    // A later start knows what they have returned.
    const before = asked;
    node.blocks = chainOf([...acts, [act([sync(8n, 6n), swap(1n, 0n, 0n, 1n)], PAIR)]]);
    const later = start();
    await later.wrote(6);
    expect([before, asked]).toEqual([8, 8]);
    // On a branch without the blocks that had the pair's logs, it is asked by a later one.
    acts[3] = [];
    acts[6] = [act([sync(7n, 7n), swap(2n, 0n, 0n, 1n)], PAIR)];
    node.blocks = chainOf([...acts, []], "b", node.blocks.slice(0, 3));
    await later.wrote(7);
    await later.stop();
    expect(asked).toBe(12);
    expect(await contractsOf(database)).toEqual([
      `${EXCHANGE} 1 ${FIRST} ${SECOND}`,
      `${PAIR} 6 ${FIRST} ${SECOND}`,
    ]);

    // A contract that is no pair is refused.
    node.lie = undefined;
    const other = await makeDatabase();
    const refused = startIndexing({
      ...{ databaseUrl: other.url, url: node.url, exchange: EXCHANGE, decoder: uniswapV2 },
    });
    await expect(refused.ended).rejects.toThrow(
      "does not return token0(): it is not of the kind uniswap-v2",
    );
    await Promise.all([node.stop(), database.drop(), other.drop()]);
  });

  /** The trades of the node's chain, of pools that its factory has made. */
  const expectTrades = async (node: InventedNode, { owner }: TestDatabase): Promise<number> => {
    const pools = new Set<string>();
    const expected = node.blocks.flatMap(({ logs }, block) =>
      logs.flatMap(({ address, topics: [topic], data }, idx) => {
        if (topic === made(1n).topics[0] && address === EXCHANGE)
          pools.add(`0x${data.slice(26, 66)}`);
        const isTrade = topic === swap(0n, 0n, 0n, 0n).topics[0] && pools.has(address);
        return isTrade ? [`${block} ${idx} ${address}`] : [];
      }),
    );
    const { rows } = await owner.query<{ row: string }>(
      `select concat_ws(' ', block, idx, lower(venue)) as row
      from dex_trade
      order by id`,
    );
    expect(rows.map(({ row }) => row)).toEqual(expected);
    return rows.length;
  };
  const traded = (number: bigint): Act =>
    act([sync(5n, 8n), sync(7n, 7n), swap(2n, 0n, 0n, 1n)], poolOf(number));
  const FACTORY = { EXCHANGE: `uniswap-v2:${EXCHANGE}` };

  it("is reported at the start where it answers as neither pair nor factory, since no row would come", async () => {
    const node = await startInventedNode(chainOf([[], []]), 0);
    const database = await makeDatabase();
    /** What it has to say of the contract. */
    const notices = async (last: number): Promise<unknown[]> => {
      const indexing = startIndexing(optionsOf(node, database, FACTORY));
      await indexing.wrote(last);
      await indexing.stop();
      return indexing.events.filter(
        (one) => one.event === "notice" && one.reason.includes("answers neither"),
      );
    };
    expect(await notices(1)).toMatchObject([
      {
        reason: expect.stringContaining(
          `${getAddress(EXCHANGE)} answers neither getReserves() nor allPairsLength()`,
        ),
      },
    ]);
    const count = toFunctionSelector("function allPairsLength()");
    node.lie = ({ params }: Call, truth) =>
      JSON.stringify(params).includes(count) ? padHex("0x", { size: 32 }) : truth;
    node.blocks = chainOf([[], [], []]);
    expect(await notices(2)).toEqual([]);
    await Promise.all([node.stop(), database.drop()]);
  });

  it("reads the pools of a factory from the log on that it made them by", async () => {
    const acts = Array.from({ length: 71 }, (): Act[] => []);
    // Before the factory has made it, and of another factory: none of them is read.
    acts[2] = [traded(1n), act([made(9n)], PAIR), traded(9n)];
    acts[3] = [act([made(1n)], EXCHANGE), traded(1n)];
    acts[5] = [act([made(2n)], EXCHANGE)];
    acts[6] = [traded(2n), traded(1n), traded(9n)];
    acts[40] = [act([made(3n)], EXCHANGE), traded(3n)];
    acts[60] = [traded(2n), act([made(4n)], EXCHANGE)];
    acts[66] = [traded(4n), act([made(5n)], EXCHANGE), traded(5n)];
    acts[70] = [traded(5n), traded(9n)];
    const node = await startInventedNode(chainOf(acts), 50);
    const database = await makeDatabase();
    const start = () =>
      startIndexing({ ...optionsOf(node, database, FACTORY), finality: undefined });
    let indexing = start();
    await indexing.wrote(70);
    expect(await expectTrades(node, database)).toBe(8);
    expect(node.calls.filter((method) => method === "eth_call").length).toBeLessThan(22);

    // Of two branches, the first does not make pool 5, and the second makes it later. Between them it is started again.
    acts[66] = [traded(4n)];
    acts[70] = [traded(4n)];
    node.blocks = chainOf([...acts, []], "b", node.blocks.slice(0, 65));
    await indexing.wrote(71);
    expect(await expectTrades(node, database)).toBe(7);
    await indexing.stop();
    acts[68] = [traded(5n)];
    acts[69] = [act([made(5n)], EXCHANGE)];
    acts[70] = [traded(5n)];
    node.blocks = chainOf([...acts, [], [traded(5n)]], "c", node.blocks.slice(0, 67));
    indexing = start();
    await indexing.wrote(72);
    expect(await expectTrades(node, database)).toBe(8);
    await indexing.stop();
    expect(await contractsOf(database)).toEqual(
      [3, 5, 40, 60, 69].map(
        (block, n) => `${poolOf(BigInt(n + 1))} ${block} ${n + 1} ${FIRST} ${SECOND}`,
      ),
    );

    // When all is final it is compared with a range, also by another start.
    node.blocks = chainOf(
      [...acts, [], [], ...Array.from({ length: 40 }, () => [traded(4n)])],
      "d",
      node.blocks,
    );
    node.finalized = 110;
    indexing = start();
    await indexing.wrote(112);
    await indexing.stop();
    expect(indexing.events.filter(({ event }) => event === "failure")).toEqual([]);
    expect(await expectTrades(node, database)).toBe(8 + 40);
    await Promise.all([node.stop(), database.drop()]);
  });

  it("names many pools no more where it asks for logs, and sorts them itself", async () => {
    const acts = Array.from({ length: 90 }, (_, n): Act[] => {
      const numbers = [5, 4, 3, 2, 1].map((one) => BigInt(5 * n - one + 1));
      if (n === 0) return [];
      return [
        ...numbers.map((one) => act([made(one)], EXCHANGE)),
        ...numbers.map(traded),
        act([made(9n)], PAIR),
      ];
    });
    const node = await startInventedNode(chainOf(acts), 89);
    const filters = new Set<number | undefined>();
    node.lie = ({ method, params }: Call, truth) => {
      const [filter = {}] = params as { address?: string[]; fromBlock?: Hex; toBlock?: Hex }[];
      const { address, fromBlock, toBlock } = filter;
      if (method !== "eth_getLogs" || fromBlock === undefined) return truth;
      filters.add(address === undefined ? undefined : [address].flat().length);
      // Ranges of 16 blocks are the longest.
      const isLong = Number(toBlock) - Number(fromBlock) > 15;
      return isLong ? new Error("too many blocks") : truth;
    };
    const database = await makeDatabase();
    const indexing = startIndexing(optionsOf(node, database, FACTORY));
    await indexing.wrote(89);
    await indexing.stop();
    expect(await expectTrades(node, database)).toBe(5 * 89);
    expect(filters).toContain(undefined);
    expect(Math.max(...[...filters].map((count) => count ?? 0))).toBeLessThanOrEqual(200);
    await Promise.all([node.stop(), database.drop()]);
  });

  it("notices that a log of the factory is missing, and reads again what may lack it", async () => {
    const acts = Array.from({ length: 12 }, (): Act[] => []);
    acts[2] = [act([made(3n)], EXCHANGE), traded(3n)];
    acts[4] = [act([made(4n)], EXCHANGE), traded(4n)];
    acts[6] = [traded(4n)];
    const blocks = chainOf(acts);
    const node = await startInventedNode(blocks.slice(0, 8), 0);
    // The bloom of the block with pool 4 has nothing of it at first.
    const bloom = blocks[4]!.header.logsBloom;
    blocks[4]!.header.logsBloom = blocks[5]!.header.logsBloom.replace(/0$/, "1") as Hex;
    const database = await makeDatabase();
    const indexing = startIndexing(optionsOf(node, database, FACTORY));
    await indexing.wrote(7);
    blocks[4]!.header.logsBloom = bloom;
    acts[9] = [act([made(5n)], EXCHANGE)];
    node.blocks = chainOf(acts, "", blocks.slice(0, 9));
    await indexing.wrote(11);
    await indexing.stop();
    expect(await expectTrades(node, database)).toBe(3);
    expect(indexing.events).toContainEqual({
      event: "failure",
      reason: `A log is missing or wrong: the factory ${EXCHANGE} makes its contract 5 in block 9, after contract 3 of block 2`,
    });
    expect(indexing.events).toContainEqual(
      expect.objectContaining({
        event: "leftOut",
        reason: expect.stringContaining("has made 2 contracts before block 2"),
      }),
    );
    await Promise.all([node.stop(), database.drop()]);
  });
});
