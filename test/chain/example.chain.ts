// The loop of a user: a chain with an exchange, the service that indexes it, and the README that shows it.
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createPublicClient, http, parseAbi, parseUnits, type Address } from "viem";
import { runFile } from "../service.ts";
import { startExample, type ExampleService } from "./example-service.ts";

let example: ExampleService;

const readme = (): Promise<string> => readFile(new URL("../../README.md", import.meta.url), "utf8");

describe("a book", () => {
  beforeAll(async () => {
    example = await startExample();
  });
  afterAll(() => example.stop());

  it("serves what the README shows", async () => {
    // The time of the chain's last block, which is no trade's.
    const markets = await example.until("/v1/markets/", '"time":1769860875');

    const page = await readme();
    expect(page).toContain(` EXCHANGE=${example.settings["EXCHANGE"]} `);
    const [, shown = ""] = /^## Index a chain$[^]*?```text\n(.*)$/m.exec(page) ?? [];
    expect(JSON.parse(shown)).toEqual(JSON.parse(markets));
  });

  it("is ready, with the indexer's metrics, and follows the next trade", async () => {
    await example.until("/ready", '"ready"');
    example.enter();
    // A tenth of a WETH at 2,490 DAI.
    await example.until("/v2/prices/weth/dai", '"last":"2490"');

    // The service may show a block a moment before its indexer has seen that it is committed.
    const metrics = await example.until("/metrics", "\ndex_chain_indexed_block 6\n");
    expect(metrics).toMatch(/^dex_chain_lag_blocks 0$/m);
    expect(metrics).toMatch(/^dex_chain_events_total 8$/m);
    // A newcomer could not read a warning.
    expect(example.logged()).not.toMatch(/"level":[4-6]0/);
  });
});

describe("pools", () => {
  const ABI = parseAbi([
    "function getPair(address, address) view returns (address)",
    "function token0() view returns (address)",
    "function getReserves() view returns (uint112, uint112, uint32)",
  ]);

  beforeAll(async () => {
    example = await startExample("uniswap-v2");
  });
  afterAll(() => example.stop());

  it("shows the markets, candles and best prices of pools that go on trading", async () => {
    const page = await readme();
    const { EXCHANGE = "", RPC_URL, TOKEN_LIST = "", QUOTES } = example.settings;
    expect(page).toContain(
      ` EXCHANGE=${EXCHANGE} FROM_BLOCK=0 TOKEN_LIST=${TOKEN_LIST} QUOTES=${QUOTES} `,
    );
    const client = createPublicClient({ transport: http(RPC_URL) });
    const played = Number(await client.getBlockNumber());
    // All answers are as of one block.
    let block = -1;
    while (block < played) {
      await sleep(50);
      block = Number((await example.get("/v1/markets/")).headers.get("x-head-block"));
    }
    const at = async <T>(path: string): Promise<T> => {
      const { data } = (await (await example.get(`${path}block=${block}`)).json()) as { data: T };
      return data;
    };
    const markets =
      await at<Record<string, { ask: string; bid: string; vol: string }>>("/v1/markets/?");
    expect(Object.keys(markets)).toEqual(["DAI/USDC", "WETH/DAI", "WETH/USDC"]);
    const candles = await at<{ trades: number }[]>("/v2/candles/weth/usdc?interval=15m&");
    expect(candles.length).toBeGreaterThan(6);

    // The prices that what the pair has gives: the quote for the base, less 3 of 1,000, and with it.
    const { tokens } = JSON.parse(
      await readFile(new URL(`../../${TOKEN_LIST}`, import.meta.url), "utf8"),
    ) as { tokens: { symbol: string; address: Address }[] };
    const [weth, , usdc] = tokens.map(({ address }) => address) as [Address, Address, Address];
    const call = { abi: ABI, blockNumber: BigInt(block) };
    const pair = await client.readContract({
      ...{ ...call, address: EXCHANGE.slice("uniswap-v2:".length) as Address },
      ...{ functionName: "getPair", args: [weth, usdc] },
    });
    const [first, second] = await client.readContract({
      ...{ ...call, address: pair, functionName: "getReserves" },
    });
    const token0 = await client.readContract({ ...call, address: pair, functionName: "token0" });
    const [base, quote] = token0 === weth ? [first, second] : [second, first];
    // A WETH has 12 decimals more than a USDC; 18 digits, rounded half up.
    const price = (above: bigint, below: bigint): bigint =>
      (2n * above * 10n ** 30n + below) / (2n * below);
    const market = markets["WETH/USDC"]!;
    expect(parseUnits(market.bid, 18)).toBe(price(quote * 997n, base * 1000n));
    expect(parseUnits(market.ask, 18)).toBe(price(quote * 1000n, base * 997n));

    interface Level {
      price: string;
      offers: number;
    }
    const { bids, asks } = await at<{ bids: Level[]; asks: Level[] }>("/v2/book/weth/usdc?");
    for (const side of [bids, asks])
      expect(side.map(({ offers }) => offers)).toEqual(Array(10).fill(0));

    // Users trade on, and the head has other prices.
    let { bid } = market;
    while (bid === market.bid) {
      await sleep(50);
      const answer = await example.get("/v1/markets/weth/usdc");
      ({ bid } = ((await answer.json()) as { data: typeof market }).data);
    }
    expect(example.logged()).not.toMatch(/"level":[4-6]0/);
  });
});

describe("pools with ranges", () => {
  beforeAll(async () => {
    example = await startExample("uniswap-v3");
  });
  afterAll(() => example.stop());

  it("shows their markets, candles, best prices and levels, as the README has it", async () => {
    const { EXCHANGE, RPC_URL, TOKEN_LIST, QUOTES } = example.settings;
    expect(await readme()).toContain(
      ` EXCHANGE=${EXCHANGE} FROM_BLOCK=0 TOKEN_LIST=${TOKEN_LIST} QUOTES=${QUOTES} `,
    );
    const client = createPublicClient({ transport: http(RPC_URL) });
    const played = Number(await client.getBlockNumber());
    const dataOf = async <T>(path: string): Promise<T> =>
      ((await (await example.get(path)).json()) as { data: T }).data;
    const headers = async () => (await example.get("/v1/markets/")).headers;
    while (Number((await headers()).get("x-head-block")) < played) await sleep(50);

    const markets =
      await dataOf<Record<string, { bid: string; ask: string; vol: string }>>("/v1/markets/");
    expect(Object.keys(markets).sort()).toEqual(["DAI/USDC", "WETH/DAI", "WETH/USDC"]);
    for (const { bid, ask, vol } of Object.values(markets)) {
      for (const figure of [bid, ask, vol]) expect(figure).not.toBe("0");
    }
    const candles = await dataOf<object[]>("/v2/candles/weth/usdc?interval=15m");
    expect(candles.length).toBeGreaterThan(6);
    // Ten of each of two pools.
    const { bids, asks } = await dataOf<{ bids: object[]; asks: object[] }>("/v2/book/weth/usdc");
    expect([bids.length, asks.length]).toEqual([20, 20]);

    // Users trade on.
    const before = markets["WETH/USDC"]!.bid;
    while ((await dataOf<typeof markets>("/v1/markets/"))["WETH/USDC"]!.bid === before) {
      await sleep(50);
    }
    expect(example.logged()).not.toMatch(/"level":[4-6]0/);
  });
});

it("names the exchanges that it has", async () => {
  const { ended } = runFile("examples/chain/main.ts", {}, ["uniswap-v9"]);
  const { code, stderr } = await ended;
  expect([code, stderr]).toEqual([
    2,
    "'uniswap-v9' is not one of the exchanges: matching-market, uniswap-v2, uniswap-v3. `--help` shows what is accepted.\n",
  ]);
});
