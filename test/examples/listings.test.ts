// The readers of the listing formats, as their users run them, and DefiLlama's adapter.
import { createServer } from "node:http";
import { toEventSelector } from "viem";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import adapter, { LOG_TAKE, volumeOf } from "../../examples/defillama/dex.ts";
import { listen } from "../../http/listen.ts";
import { units } from "../brute-force.ts";
import { blockAt, hours } from "../factories.ts";
import {
  fillListings,
  HEAD_HOUR,
  idOf,
  keyOf,
  PAIRS,
  TRADES,
} from "../rest/listings/listing-exchange.ts";
import { runFile } from "../service.ts";
import { serveDatabase } from "../served.ts";

const { app } = serveDatabase(fillListings);

async function linesOf(program: string, ...args: string[]): Promise<string[]> {
  const file = `examples/listings/${program}.ts`;
  const { code, stdout, stderr } = await runFile(file, {}, [app.url, ...args]).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.trim().split("\n");
}

it("CoinGecko's reader prints each active market", async () => {
  const lines = await linesOf("coingecko");
  expect(lines).toHaveLength(PAIRS.filter(({ active }) => active).length);
  expect(lines).toContain(
    `${idOf(PAIRS[0]!)} last 130, bid 99.5, ask 133.3, ` +
      "volume 20 for 1937, book 2 + 2, trades 7 + 1, liquidity unknown",
  );
  expect(lines).toContain(`${idOf(PAIRS[8]!)} was never traded`);
});

it("CoinMarketCap's reader prints each registered market", async () => {
  const lines = await linesOf("coinmarketcap");
  expect(lines).toHaveLength(PAIRS.length);
  expect(lines.find((line) => line.startsWith("GONE_DAI"))).toContain("last 2, ");
  expect(lines.find((line) => line.startsWith("GONE_DAI"))).toMatch(/, frozen$/);
  expect(lines.find((line) => line.startsWith("WETH_DAI"))).toContain(
    `(${PAIRS[0]!.base_gem}, ${PAIRS[0]!.quote_gem}) last 130, 4 %, bid 99.5, ask 133.3, volume 20 in 6 trades`,
  );
});

it("DEX Screener's reader prints each swap once", async () => {
  const lines = await linesOf("dexscreener", "0");
  expect(lines).toHaveLength(TRADES.length - 3);
  expect(lines.slice(3, 5)).toEqual([
    `${blockAt(20)}.0.7 WETH/DAI bought 1 for 130 at 130`,
    `${blockAt(20)}.1.9 WETH/DAI sold 7 for 900 at 128.57142857142857142857142857142857142857142857142857`,
  ]);
});

it("DEX Screener's reader begins with the first recorded block", async () => {
  const answers: Record<string, object> = {
    "/dexscreener/latest-block": { block: { blockNumber: 20_014_400 } },
    "/v2/head": { data: { basis: { firstBlock: 20_013_000 } } },
  };
  const ranges: string[] = [];
  const server = createServer(({ url = "" }, res) => {
    const [, range] = /^\/dexscreener\/events\?(.*)/.exec(url) ?? [];
    if (range !== undefined) ranges.push(range);
    res.end(JSON.stringify(answers[url] ?? { events: [] }));
  });
  const service = await listen(server, { host: "127.0.0.1", port: 0 });
  for (const first of ["0", "20014000"]) {
    const file = "examples/listings/dexscreener.ts";
    expect((await runFile(file, {}, [service, first]).ended).code).toBe(0);
  }
  server.close();
  expect(ranges).toEqual([
    "fromBlock=20013000&toBlock=20013999",
    "fromBlock=20014000&toBlock=20014400",
    "fromBlock=20014000&toBlock=20014400",
  ]);
});

it("TradingView's reader prints all bars, oldest first", async () => {
  const lines = await linesOf("udf", "WETH/DAI", "60");
  expect(lines).toHaveLength(5);
  expect(lines.at(-1)).toBe(`${hours(29)} 130 130 130 130 4`);
  const { code, stderr } = await runFile("examples/listings/udf.ts", {}, [app.url, "DAI/WETH"])
    .ended;
  expect(code).toBe(1);
  expect(stderr).toContain("Error: Unknown pair");
});

describe("DefiLlama's adapter", () => {
  it("reads an event that the indexer reads", () => {
    expect(matchingMarket.topics).toContain(toEventSelector(LOG_TAKE));
    expect(adapter.version).toBe(2);
  });

  it("comes to the daily volume of the service", async () => {
    // Every token has 18 decimals, so units of 10^-18 are its smallest.
    const ofTheDay = TRADES.filter(({ time }) => time > hours(HEAD_HOUR - 24));
    const sums = new Map<string, bigint>();
    const asked: object[] = [];
    await volumeOf(
      "the exchange",
      PAIRS.map(({ base_gem, quote_gem }) => [base_gem, quote_gem] as const),
    )({
      getLogs(params) {
        asked.push(params);
        return Promise.resolve(
          ofTheDay.map(({ lot_gem, lot_amt, bid_gem, bid_amt }) => ({
            ...{ pay_gem: lot_gem, take_amt: units(lot_amt) },
            ...{ buy_gem: bid_gem, give_amt: units(bid_amt) },
          })),
        );
      },
      createBalances: () => ({
        add: (token, amount) => sums.set(token, (sums.get(token) ?? 0n) + amount),
      }),
    });

    const { body } = await app.request.get("/v2/summary");
    const ours = new Map<string, bigint>();
    for (const pair of PAIRS) {
      const volume = units(body.data[keyOf(pair)].quoteVol);
      if (volume > 0n) ours.set(pair.quote_gem, (ours.get(pair.quote_gem) ?? 0n) + volume);
    }
    expect(asked).toEqual([{ target: "the exchange", eventAbi: LOG_TAKE }]);
    expect(ours.size).toBeGreaterThan(4);
    expect(sums).toEqual(ours);
  });
});
