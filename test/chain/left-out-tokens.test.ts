// A token without usable decimals: what was left out stays left out, whatever the token says later and whoever starts when.
import { encodeAbiParameters, getAddress, numberToHex, toFunctionSelector, type Hex } from "viem";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { uniswapV2 } from "../../chain/exchanges/uniswap-v2.ts";
import { uniswapV3 } from "../../chain/exchanges/uniswap-v3.ts";
import type { IndexerOptions } from "../../chain/indexer-options.ts";
import { makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  DAI,
  EXCHANGE,
  startInventedNode,
  WETH,
  type Act,
  type Call,
  type InventedNode,
} from "./invented-chain.ts";
import { act, made, mint, poolOf, swap, sync } from "./pair-events.ts";
import { initialize, made as madeV3, mint as mintV3, swap as swapV3 } from "./pool-events.ts";

const DECIMALS = toFunctionSelector("function decimals()");

/** Replaces what DAI answers, to `decimals()` where nothing else is given. */
const daiSays =
  (answer: unknown, call: Hex = DECIMALS) =>
  ({ method, params }: Call, truth: unknown): unknown => {
    const [{ to = "", data = "" } = {}] = params as { to?: string; data?: string }[];
    const isAsked = method === "eth_call" && to.toLowerCase() === DAI && data === call;
    return isAsked ? answer : truth;
  };

const decimalsOf = (n: number): Hex => numberToHex(n, { size: 32 });

let database: TestDatabase;
let node: InventedNode;
let indexing: Indexing | undefined;

beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(async () => {
  await database.empty();
  node = await startInventedNode([], 0);
});
afterEach(async () => {
  await indexing?.stop().catch(() => undefined);
  await node.stop();
});
afterAll(() => database.drop());

/** Starts one that follows an exchange, in place of the one before. */
async function start(options: Partial<IndexerOptions> = {}): Promise<Indexing> {
  await indexing?.stop();
  indexing = startIndexing({
    ...{ databaseUrl: database.url, url: node.url, exchange: EXCHANGE, finality: 4, ...options },
  });
  return indexing;
}

const acts: Act[][] = [];
function adds(...blocks: Act[][]): void {
  acts.push(...blocks);
  node.blocks = chainOf(acts, "", node.blocks);
}
beforeEach(() => {
  acts.length = 0;
});
const empty = (n: number): Act[][] => Array.from({ length: n }, () => []);

/** The blocks of all rows with amounts of tokens. */
async function rows(): Promise<number[]> {
  const { rows: found } = await database.owner.query<{ block: number }>(
    `select block from dex_trade
    union
    select block from dex_offer
    union
    select block from dex_pool_state
    order by block`,
  );
  return found.map(({ block }) => block);
}

const said = ({ events }: Indexing): string[] =>
  events.flatMap((event) => (event.event === "leftOut" ? [event.reason] : []));

const POOL = poolOf(1n);
const swapsV3 = (n: bigint): Act => act([swapV3(100n, -90n, Number(n))], POOL);
const KINDS = {
  "matching-market": {
    decoder: matchingMarket,
    first: [{ do: "make" }, { do: "make" }] as Act[],
    later: (): Act[] => [{ do: "take", id: 1, lot: 1 }, { do: "make" }],
  },
  "uniswap-v2": {
    decoder: uniswapV2,
    first: [
      act([made(1n)], EXCHANGE),
      act([sync(1000n, 2000n), mint(1000n, 2000n)], POOL),
    ] as Act[],
    later: (n: number): Act[] => [
      n % 2 === 0
        ? act([sync(1100n, 1820n), swap(100n, 0n, 0n, 180n)], POOL)
        : act([sync(1000n, 2000n), swap(0n, 180n, 100n, 0n)], POOL),
    ],
  },
  "uniswap-v3": {
    decoder: uniswapV3,
    first: [
      act([madeV3(1n)], EXCHANGE),
      act([initialize(), mintV3(-100, 100, 1000n)], POOL),
    ] as Act[],
    later: (n: number): Act[] => [swapsV3(n % 2 === 0 ? 5n : -5n)],
  },
};

describe.each(Object.entries(KINDS))("of %s", (_kind, { decoder, first, later }) => {
  it.each([
    ["reverts", new Error("execution reverted"), decimalsOf(18)],
    ["has no code", "0x", decimalsOf(6)],
    ["says 24", decimalsOf(24), decimalsOf(18)],
  ])("rows of a token that %s at first stay left out", async (_says, before, after) => {
    node.lie = daiSays(before);
    adds([], [], first, later(0), ...empty(40));
    await (await start({ decoder })).wrote(43);
    adds(later(1), ...empty(8));
    await indexing?.wrote(52);
    expect(said(indexing!)).toEqual([
      expect.stringMatching(/^Token 0x6B17.* left out, from block 2 on/),
    ]);

    node.lie = daiSays(after);
    adds(later(2));
    await (await start({ decoder })).wrote(53);
    adds(later(3), ...empty(40));
    await indexing!.wrote(94);
    adds(later(4));
    await indexing!.wrote(95);
    expect(await rows()).toEqual([]);
    const [line] = said(indexing!);
    expect(line).toMatch(/0x6B17\w* \(DAI\) since block 2\b.*take_back\(N - 1\)/);

    // What the line names fills its history anew.
    await indexing!.stop();
    await database.owner.query("set role dex_writer; select ingest.take_back(1); reset role");
    await (await start({ decoder })).wrote(95);
    expect(await rows()).toEqual([2, 3, 44, 53, 54, 95]);
    expect(said(indexing!)).toEqual([]);
  });
});

it("counts what a token says on a branch that takes its first row back", async () => {
  node.lie = daiSays("0x");
  adds(...empty(10), [{ do: "make" }], []);
  await (await start({ finality: 8 })).wrote(11);
  node.lie = undefined;
  acts.length = 10;
  node.blocks = chainOf([...acts, [], [{ do: "make" }], [], []], "b", node.blocks.slice(0, 10));
  await indexing!.wrote(13);
  expect(await rows()).toEqual([11]);
  await (await start({ finality: 8 })).stop();
  expect(said(indexing!)).toEqual([]);
});

it("does not count what a token said before it had a row", async () => {
  node.lie = daiSays("0x");
  adds([], [{ do: "list" }], ...empty(10));
  await (await start()).wrote(11);
  node.lie = undefined;
  adds([{ do: "make" }]);
  await indexing!.wrote(12);
  expect(await rows()).toEqual([12]);
});

const LIST = {
  path: "list.json",
  quotes: [],
  tokens: [WETH, DAI].map((address, n) => ({
    ...{ address: getAddress(address), symbol: ["WETH", "DAI"][n]!, name: undefined, decimals: 18 },
  })),
};

it.each([
  ["no", "0x"],
  ["24", decimalsOf(24)],
])("waits where a node says that a listed token has %s decimals", async (shown, answer) => {
  node.lie = daiSays(answer);
  adds([], [{ do: "make" }], ...empty(10));
  await start({ tokenList: LIST });
  const failure = await indexing!.heard(({ event }) => event === "failure");
  expect(failure).toMatchObject({
    reason: expect.stringMatching(
      `^Token 0x6B17\\w* \\(DAI\\) has ${shown} decimals.* 18 in TOKEN_LIST.*leave it out of the list`,
    ),
  });
  expect(await rows()).toEqual([]);
  node.lie = undefined;
  await indexing!.wrote(11);
  expect(await rows()).toEqual([1]);
  expect(said(indexing!)).toEqual([]);
});

it.each([
  ["the call takes too long", new Error("execution timeout")],
  ["the node lacks the state", new Error("missing trie node")],
])("waits where %s, instead of leaving rows out", async (_fails, answer) => {
  node.lie = daiSays(answer);
  adds([], [{ do: "make" }], ...empty(10));
  await start();
  await indexing!.heard(({ event }) => event === "failure");
  node.lie = undefined;
  await indexing!.wrote(11);
  expect(await rows()).toEqual([1]);
});

it("asks a new token in the block of its first row, and not in another one of that number", async () => {
  adds([], [], ...empty(10));
  await (await start()).wrote(11);
  // By the number, the node answers from a block in which the token was not made.
  node.lie = (call, truth) => {
    const isByNumber = call.method === "eth_call" && typeof call.params[1] === "string";
    return isByNumber ? daiSays("0x")(call, truth) : truth;
  };
  adds([{ do: "make" }], ...empty(5));
  await indexing!.wrote(17);
  node.lie = undefined;
  expect(await rows()).toEqual([12]);
  expect(said(indexing!)).toEqual([]);
});

it("does not believe one of two nodes, however often it says that a token has no decimals", async () => {
  const other = await startInventedNode([], 0);
  try {
    node.lie = daiSays("0x");
    adds([], [{ do: "make" }], ...empty(10));
    other.blocks = node.blocks;
    await start({ rpcUrls: [node.url, other.url] });
    const failure = indexing!.heard(({ event }) => event === "failure");
    await Promise.race([failure, indexing!.wrote(11)]);
    expect(said(indexing!)).toEqual([]);
    node.lie = undefined;
    await indexing!.wrote(11);
    expect(await rows()).toEqual([1]);
  } finally {
    await indexing?.stop();
    await other.stop();
  }
});

const textOf = (text: string): Hex => encodeAbiParameters([{ type: "string" }], [text]);

it.each<[string, string, unknown, unknown, string, string]>([
  ["symbol()", "symbol()", textOf("DAI"), textOf("DAY"), '"DAI"', '"DAY"'],
  ["decimals()", "decimals()", decimalsOf(18), decimalsOf(6), "18", "6"],
  ["bytes", "name()", textOf("DAI"), "0xff", '"DAI"', "0xff"],
])("two nodes that differ are both named with what they answer: %s", async (...given) => {
  const [, name, one, two, shown, otherShown] = given;
  const call = toFunctionSelector(`function ${name}`);
  const other = await startInventedNode([], 0);
  try {
    adds([], [{ do: "make" }], ...empty(10));
    other.blocks = node.blocks;
    node.lie = daiSays(one, call);
    other.lie = daiSays(two, call);
    await start({ rpcUrls: [node.url, other.url] });
    const failure = await indexing!.heard(({ event }) => event === "failure");
    const answers = [
      `${shown} of ${new URL(node.url).host}`,
      `${otherShown} of ${new URL(other.url).host}`,
    ];
    const { reason } = failure as { reason: string };
    for (const answer of answers) expect(reason).toContain(answer);
    expect(reason).toMatch(
      /^token 0x6B17\w* answers \w+\(\) otherwise .* leave the wrong one out of RPC_URL/,
    );
    expect(await rows()).toEqual([]);
    other.lie = daiSays(one, call);
    await indexing!.wrote(11);
  } finally {
    await indexing?.stop();
    await other.stop();
  }
});

it("are named at a start, the first ten, with the query that lists all of them", async () => {
  adds([], []);
  await (await start()).wrote(1);
  await indexing!.stop();
  const tokens = Array.from({ length: 12 }, (_, n) => {
    const address = numberToHex(n + 1, { size: 20 });
    return { address, kind: "token", block: 1, answers: { symbol: null } };
  });
  await using client = await openClient(database.url);
  await client.query("set role dex_writer");
  await client.query("select ingest.found_contracts($1)", [JSON.stringify(tokens)]);
  await start();
  const line = await indexing!.heard(({ event }) => event === "leftOut");
  const { reason } = line as { reason: string };
  expect(reason.match(/since block 1/g)).toHaveLength(10);
  const [, query = ""] = /and 2 others \(all: `(.*?)`\)/.exec(reason) ?? [];
  const { rows: listed } = await client.query<{ address: string }>(query);
  expect(listed.map(({ address }) => address)).toEqual(tokens.map(({ address }) => address));
});
