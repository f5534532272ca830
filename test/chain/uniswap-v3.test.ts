// The logs of a Uniswap v3 pool as trades and states, and what shows that one is missing.
import {
  concatHex,
  getAddress,
  hexToBigInt,
  numberToHex,
  parseEventLogs,
  toFunctionSelector,
  type Hex,
} from "viem";
import type { ChainLog, Decoder } from "../../chain/exchange-facts.ts";
import { uniswapV3 } from "../../chain/exchanges/uniswap-v3.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Act,
  type Call,
  type InventedNode,
  type Log,
} from "./invented-chain.ts";
import { act, FIRST, PAIR, poolOf, SECOND, TO, type Event } from "./pair-events.ts";
import { ABI, burn, initialize, made, mint, ONE, priceAt, swap } from "./pool-events.ts";

let pool: Decoder;
beforeAll(async () => {
  const answers: Record<string, unknown> = {
    ...{ "token0()": FIRST, "token1()": SECOND, "fee()": 500, "tickSpacing()": 10 },
  };
  pool = (await uniswapV3.setUp?.(((call: { name: string }) =>
    Promise.resolve(answers[call.name])) as never))!;
});

/** The logs of one block after the other. */
const logsOf = (...blocks: Event[][]): ChainLog[] =>
  blocks.flatMap((events, n) =>
    events.map((one, idx) => ({
      ...{ address: PAIR, ...one, block: n + 1, hash: "0x", time: undefined },
      ...{ tx: numberToHex(n, { size: 32 }), idx },
    })),
  );
const factsOf = (...blocks: Event[][]) => pool.decode(logsOf(...blocks));
const statesOf = (...blocks: Event[][]): unknown[] =>
  factsOf(...blocks).map((fact) =>
    fact.kind === "ranges"
      ? [
          fact.block,
          fact.price,
          [...fact.changes].map(([tick, { net, gross }]) => [tick, net, gross]),
        ]
      : fact.kind,
  );

it.each([
  ["the first token for the second", swap(100n, -90n, 5), [SECOND, 90n, FIRST, 100n]],
  ["the second token for the first", swap(-80n, 100n, 5), [FIRST, 80n, SECOND, 100n]],
])("a swap of %s is a trade of what moved", (_name, swapped, [lotGem, lotAmt, bidGem, bidAmt]) => {
  expect(factsOf([swapped])[0]).toEqual({
    ...{ kind: "trade", offerId: null, maker: getAddress(PAIR), taker: TO },
    ...{ lotGem, lotAmt, bidGem, bidAmt, block: 1, hash: "0x", time: undefined, idx: 0 },
    tx: numberToHex(0, { size: 32 }),
  });
});

it("a swap that moves one token alone is no trade, and moves the price", () => {
  expect(statesOf([swap(7n, 0n, -3)])).toEqual([
    [1, { sqrtPrice: priceAt(-3), tick: -3, liquidity: 1000n }, []],
  ]);
});

it("a block has its last price, and what its ranges add to the ticks that they end at", () => {
  expect(
    statesOf(
      [initialize(), mint(-10, 10, 70n)],
      // In the range, from its first tick to before its last one, and beside it.
      [swap(1n, -1n, -20, 900n), mint(-20, 10, 5n), mint(-10, 0, 8n), burn(-40, -20, 3n)],
      [mint(20, 30, 4n)],
      // Nothing is burnt; and what is made is given back.
      [burn(20, 30, 0n)],
      [mint(0, 10, 6n), burn(0, 10, 6n)],
      // As much begins at 20 as ends there.
      [mint(10, 20, 6n), mint(20, 30, 6n)],
    ),
  ).toEqual([
    [
      1,
      { sqrtPrice: ONE, tick: 0, liquidity: 70n },
      [
        [-10, 70n, 70n],
        [10, -70n, 70n],
      ],
    ],
    "trade",
    [
      2,
      { sqrtPrice: priceAt(-20), tick: -20, liquidity: 905n },
      // -20 begins 5, and ends the 3 that are no more; 10 ends 5.
      [
        [-20, 8n, 2n],
        [10, -5n, 5n],
        [-10, 8n, 8n],
        [0, -8n, 8n],
        [-40, -3n, -3n],
      ],
    ],
    [
      3,
      undefined,
      [
        [20, 4n, 4n],
        [30, -4n, 4n],
      ],
    ],
    [
      6,
      undefined,
      [
        [10, 6n, 6n],
        [20, 0n, 12n],
        [30, -6n, 6n],
      ],
    ],
  ]);
});

it.each([
  ["a swap that has fallen to the end of its tick", swap(1n, -1n, -1, 5n, ONE), true],
  ["a swap of a tick below that of its price", swap(1n, -1n, -2, 5n, ONE), false],
  ["a swap of a tick above that of its price", swap(1n, -1n, 1, 5n, ONE), false],
  ["a swap without a price", swap(1n, -1n, 0, 5n, 0n), false],
  // The prices of the first tick and of the last one, as the contract has them.
  ["the lowest price", swap(1n, -1n, -887_272, 5n, 4_295_128_739n), true],
  [
    "the highest price",
    swap(-1n, 1n, 887_271, 5n, 1461446703485210103287273052203988822378723970341n),
    true,
  ],
])("%s is read where its tick is that of its price", (_name, swapped, isRead) => {
  const read = () => factsOf([swapped]).length > 0;
  if (isRead) expect(read()).toBe(true);
  else {
    expect(read).toThrow(/^The log 0 of block 1 is a Swap of 0x.*, which is not that of its price/);
  }
});

it("a log of the factory adds its pool with its tokens, fee and tick spacing", () => {
  const [log] = logsOf([made(7n)]);
  expect(uniswapV3.discover?.made(log!)).toEqual({
    ...{ address: poolOf(7n), number: null },
    answers: { "token0()": FIRST, "token1()": SECOND, "fee()": 500, "tickSpacing()": 10 },
  });
  expect(uniswapV3.discover?.topics).toEqual([log!.topics[0]]);
});

it.each([
  ["slot0()", 0, "0x"],
  ["slot0()", 0, numberToHex(1, { size: 64 })],
  ["liquidity()", 1, numberToHex(1, { size: 64 })],
])("an answer to %s of another form is none", (name, n, answer) => {
  const call = uniswapV3.poolState?.calls[n];
  expect([call?.name, call?.read(answer)]).toEqual([name, undefined]);
});

describe("an indexer", () => {
  const POOL = poolOf(1n);
  const NAME = getAddress(POOL);
  let database: TestDatabase;
  let node: InventedNode;
  let indexing: Indexing;
  /** What the pool says that it has from a block on: the square root of its price, its tick and liquidity. */
  let says: [number, bigint, number, bigint][];

  const SIGNED = { signed: true, size: 32 } as const;
  const answer = ({ method, params }: Call, truth: unknown): unknown => {
    const [call, block] = params as unknown as [{ to: Hex; data: Hex }, { blockHash: Hex }];
    if (method !== "eth_call" || call.to.toLowerCase() !== POOL) return truth;
    const end = node.blocks.findIndex(({ header }) => header.hash === block.blockHash);
    const [, price = 0n, tick = 0, liquidity = 0n] = says.findLast(([from]) => from <= end) ?? [];
    if (call.data === toFunctionSelector("function liquidity()")) {
      return numberToHex(liquidity, { size: 32 });
    }
    const selector = call.data.slice(0, 10);
    const word: Hex = `0x${call.data.slice(10)}`;
    if (selector === toFunctionSelector("function ticks(int24)")) {
      const { gross = 0n, net = 0n } = ticksUpTo(end).get(Number(hexToBigInt(word, SIGNED))) ?? {};
      const words = [gross, BigInt.asUintN(256, net), 0n, 0n, 0n, 0n, 0n, 1n];
      return concatHex(words.map((one) => numberToHex(one, { size: 32 })));
    }
    if (selector === toFunctionSelector("function tickBitmap(int16)")) {
      const first = 256 * Number(hexToBigInt(word, SIGNED));
      const places = [...ticksUpTo(end)]
        .filter(([, { gross }]) => gross > 0n)
        .map(([tick]) => tick / 10 - first)
        .filter((place) => place >= 0 && place < 256);
      return numberToHex(
        places.reduce((bits, place) => bits | (1n << BigInt(place)), 0n),
        { size: 32 },
      );
    }
    if (call.data !== toFunctionSelector("function slot0()")) return truth;
    const words = [price, BigInt.asUintN(256, BigInt(tick)), 0n, 0n, 0n, 0n, 1n];
    return concatHex(words.map((word) => numberToHex(word, { size: 32 })));
  };

  /** The ticks of the pool, by all that it has emitted up to a block. */
  const ticksUpTo = (end: number): Map<number, { gross: bigint; net: bigint }> => {
    const ticks = new Map<number, { gross: bigint; net: bigint }>();
    const logs = node.blocks.slice(0, end + 1).flatMap((block) => block.logs);
    for (const { eventName, args } of parseEventLogs({ abi: ABI, logs: logs as never })) {
      if (eventName !== "Mint" && eventName !== "Burn") continue;
      const amount = eventName === "Mint" ? args.amount : -args.amount;
      for (const [tick, change] of [
        [args.tickLower, amount],
        [args.tickUpper, -amount],
      ] as const) {
        const { gross = 0n, net = 0n } = ticks.get(tick) ?? {};
        ticks.set(tick, { gross: gross + amount, net: net + change });
      }
    }
    return ticks;
  };

  /** A chain of 40 blocks in which the factory makes the pool in block 1; it has these events. */
  const serve = async (events: Record<number, Event[]>, without?: number): Promise<void> => {
    const acts = Array.from({ length: 40 }, (): Act[] => []);
    acts[1] = [act([made(1n)], EXCHANGE)];
    for (const [block, some] of Object.entries(events)) acts[Number(block)]!.push(act(some, POOL));
    node = await startInventedNode(chainOf(acts), 39);
    node.lie = answer;
    if (without === undefined) return;
    node.logs = (all) =>
      all
        .flatMap(({ logs }) => logs)
        .filter(
          ({ address, blockNumber }: Log) => address !== POOL || Number(blockNumber) !== without,
        );
  };
  const start = (exchange: string = EXCHANGE): Indexing => {
    indexing = startIndexing({
      ...{ databaseUrl: database.url, url: node.url, exchange, decoder: uniswapV3 },
      ...{ finality: undefined, taker: "event" },
    });
    return indexing;
  };

  beforeEach(async () => {
    database = await makeDatabase();
  });
  afterEach(async () => {
    await indexing.stop().catch(() => undefined);
    await Promise.all([node.stop(), database.drop()]);
  });

  it("keeps the state of a pool after each block, and goes on from it after another start", async () => {
    says = [[2, ONE, 0, 70n]];
    await serve({
      2: [initialize(), mint(-10, 10, 70n)],
      4: [mint(-20, 0, 5n), mint(-20, 20, 6n)],
    });
    says.push([4, ONE, 0, 76n]);
    start();
    await indexing.wrote(39);
    await indexing.stop();
    // The price falls through -10: 5 and 6 are left of 70, 5 and 6.
    const more = Array.from({ length: 40 }, (): Act[] => []);
    more[2] = [act([swap(3n, -2n, -15, 11n)], POOL), act([burn(-20, 0, 5n)], POOL)];
    more[3] = [act([mint(20, 40, 6n)], POOL)];
    const acts = Array.from({ length: 40 }, (): Act[] => []);
    node.blocks = chainOf([...acts, ...more], "", node.blocks);
    node.finalized = 79;
    says.push([42, priceAt(-15), -15, 6n]);
    start();
    await indexing.wrote(79);
    const { rows } = await database.owner.query<{ row: string }>(
      "select concat_ws(' ', block, sqrt_price, tick, liquidity, nets) as row from dex_pool_state order by block",
    );
    expect(rows.map(({ row }) => row)).toEqual([
      `2 ${ONE} 0 70 -10:70 10:-70`,
      `4 ${ONE} 0 76 -20:11 0:-5 20:-6`,
      `42 ${priceAt(-15)} -15 6 -20:6 0:0`,
      `43 ${priceAt(-15)} -15 6 20:0:12 40:-6`,
    ]);
    expect(indexing.events.filter(({ event }) => event === "failure")).toEqual([]);
  });

  it.each([
    [
      "a swap",
      4,
      `${ONE}, 0 and 70 by its logs up to block 39, the last one of block 2, and ${priceAt(3)}, 3 and 70`,
    ],
    [
      "a change of its liquidity",
      6,
      `${priceAt(3)}, 3 and 70 by its logs up to block 39, the last one of block 4, and ${priceAt(3)}, 3 and 78`,
    ],
  ])(
    "halts where %s is missing, which the pool's own state shows",
    async (_name, without, values) => {
      says = [
        [2, ONE, 0, 70n],
        [4, priceAt(3), 3, 70n],
        [6, priceAt(3), 3, 78n],
      ];
      const events = {
        2: [initialize(), mint(-10, 10, 70n)],
        4: [swap(1n, -1n, 3, 70n)],
        6: [mint(0, 10, 8n)],
      };
      const served = without === 4 ? { 2: events[2], 4: events[4] } : events;
      if (without === 4) says.pop();
      await serve(served, without);
      await expect(start().ended).rejects.toThrow(
        `the square root of the price, tick and liquidity of the pool ${NAME} are ${values} by the contract`,
      );
    },
  );

  it.each([
    ["a range beside the price", { 4: [mint(20, 30, 8n)] }, "tick 20", "0 and 0", "8 and 8"],
    [
      "more of a range beside the price",
      { 2: [mint(20, 30, 5n)], 4: [mint(20, 30, 8n)] },
      "tick 20",
      "5 and 5",
      "13 and 13",
    ],
    [
      "the end of a range beside the price",
      { 2: [mint(-30, -20, 8n)], 4: [burn(-30, -20, 8n)] },
      "tick -20",
      "-8 and 8",
      "0 and 0",
    ],
    [
      "what makes one of two ranges that meet",
      {
        2: [mint(20, 30, 8n), mint(30, 40, 8n)],
        4: [burn(20, 30, 8n), burn(30, 40, 8n), mint(20, 40, 8n)],
      },
      "tick 30",
      "0 and 16",
      "0 and 0",
    ],
    [
      "a range that is far away, near the end of a later one",
      { 4: [mint(50_000, 90_000, 8n)], 30: [mint(50_010, 90_010, 1n)] },
      "tick 50000",
      "0 and 0",
      "8 and 8",
    ],
  ])(
    "halts where %s is missing, which the pool's ticks show",
    async (_name, events: Record<number, Event[]>, tick: string, kept: string, onChain: string) => {
      says = [[2, ONE, 0, 70n]];
      const begun = [initialize(), mint(-10, 10, 70n), ...(events[2] ?? [])];
      await serve({ ...events, 2: begun }, 4);
      await expect(start().ended).rejects.toThrow(
        `the net and gross liquidity of the ${tick} of the pool ${NAME} are ${kept} by its logs up to block 39, and ${onChain} by the contract. The database has what is certain, the blocks up to none.`,
      );
    },
  );

  it("leaves out the ticks of a pool that does not return them, and says so", async () => {
    says = [[2, ONE, 0, 70n]];
    await serve({ 2: [initialize(), mint(-10, 10, 70n)], 4: [mint(20, 30, 8n)] }, 4);
    const bitmap = toFunctionSelector("function tickBitmap(int16)");
    node.lie = (call, truth) => {
      const [{ data = "" } = {}] = call.params as { data?: string }[];
      return data.startsWith(bitmap) ? "0x" : answer(call, truth);
    };
    start();
    await indexing.heard((event) => event.event === "audit" && !event.isDue);
    expect(indexing.events.filter(({ event }) => event === "doubt")).toEqual([
      {
        event: "doubt",
        reason: `The pool ${NAME} does not return tickBitmap(-1) in block 39: its logs are not compared with its ticks`,
      },
    ]);
  });

  it("halts where the price crosses the end of a range that is missing", async () => {
    says = [];
    await serve(
      {
        2: [initialize(), mint(-10, 10, 70n)],
        4: [mint(20, 30, 8n)],
        30: [swap(-1n, 1n, 25, 8n)],
      },
      4,
    );
    await expect(start().ended).rejects.toThrow(
      `the pool ${NAME} has the liquidity 8 at tick 25 after block 30, and 0 by its ticks: a change of its liquidity is missing`,
    );
  });

  it("halts where more of a range is burned than was made", async () => {
    says = [];
    await serve(
      {
        2: [initialize(), mint(-10, 10, 70n)],
        4: [mint(20, 30, 8n)],
        30: [burn(20, 30, 8n)],
      },
      4,
    );
    await expect(start().ended).rejects.toThrow(
      `the tick 20 of the pool ${NAME} has the net liquidity -8 and the gross liquidity -8 after block 30: a change of its liquidity is missing`,
    );
  });

  it("halts where a pool is given with a later block than that in which it was made", async () => {
    says = [];
    await serve({ 4: [mint(20, 30, 8n)] });
    const names = ["token0()", "token1()", "fee()", "tickSpacing()"];
    const values = [BigInt(FIRST), BigInt(SECOND), 500n, 10n];
    node.lie = ({ method, params }, truth) => {
      const [{ data = "" } = {}] = params as { data?: string }[];
      const n = names.findIndex((name) => toFunctionSelector(`function ${name}`) === data);
      return method === "eth_call" && n >= 0 ? numberToHex(values[n]!, { size: 32 }) : truth;
    };
    await expect(start(NAME).ended).rejects.toThrow(
      `the pool ${NAME} has a change of its liquidity in block 4, and no Initialize before it`,
    );
  });
});
