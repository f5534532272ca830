// CoinMarketCap's paths against its format, against REST, and against the figures computed without SQL.
import { makeTestApp } from "../../app.ts";
import { makeDatabase } from "../../database.ts";
import { decimal, quotient, units } from "../../brute-force.ts";
import { DAI, hours } from "../../factories.ts";
import { wrongIn } from "./format-schemas.ts";
import {
  dealtIn,
  FIGURES,
  type Fields,
  fillListings,
  HEAD_HOUR,
  HEAD_MS,
  keyOf,
  levelsOf,
  OTHER_DAI,
  PAIRS,
  plain,
  TRADES,
} from "./listing-exchange.ts";
import { serveDatabase } from "../../served.ts";

const { app } = serveDatabase(fillListings);

async function bodyOf(path: string, from = app) {
  const { body } = await from.request.get(path).expect(200);
  expect(wrongIn(path, body)).toEqual([]);
  return body;
}

type Pair = (typeof PAIRS)[number];

const escaped = (symbol: string): string => symbol.replaceAll("%", "%25").replaceAll("_", "%5F");
const nameOf = ({ base, quote }: Pair): string => `${escaped(base)}_${escaped(quote)}`;
const asked = (pair: Pair): string => encodeURIComponent(nameOf(pair));
const codeOf = (symbol: string, gem: string): string =>
  symbol === "DAI" ? `${symbol}:${gem}` : symbol;
const orZero = (value: string | null): string => plain(value) ?? "0";

it("has the figures of every registered market in its summary, under names that are unique", async () => {
  const summary = await bodyOf("/coinmarketcap/summary");
  const expected = PAIRS.map((pair) => {
    const figures = FIGURES.get(keyOf(pair))!;
    return {
      trading_pairs: nameOf(pair),
      base_currency: codeOf(pair.base, pair.base_gem),
      quote_currency: codeOf(pair.quote, pair.quote_gem),
      last_price: orZero(figures.last),
      lowest_ask: orZero(figures.ask),
      highest_bid: orZero(figures.bid),
      base_volume: orZero(figures.vol),
      quote_volume: orZero(figures.quote_vol),
      price_change_percent_24h: orZero(figures["percent" as keyof typeof figures] as string | null),
      highest_price_24h: orZero(figures.high),
      lowest_price_24h: orZero(figures.low),
    };
  });
  expect(summary).toHaveLength(PAIRS.length);
  expect(summary).toEqual(expect.arrayContaining(expected));
  // A_B/C and A/B_C would both be A_B_C.
  const names = summary.map(({ trading_pairs }: Fields) => trading_pairs);
  expect(names).toEqual(expect.arrayContaining(["A%5FB_C", "A_B%5FC"]));
  expect(new Set(names).size).toBe(PAIRS.length);
});

it("has the same figures as REST", async () => {
  const [summary, { body }] = [
    await bodyOf("/coinmarketcap/summary"),
    await app.request.get("/v2/summary"),
  ];
  const summaries = Object.values<Fields>(body.data);
  for (const [n, one] of summaries.entries()) {
    const { pair, last, bid, ask, vol, quoteVol, percent, high, low } = one;
    const { base_currency: _base, quote_currency: _quote, ...figures } = summary[n];
    expect(figures).toEqual({
      trading_pairs: nameOf(PAIRS.find((market) => keyOf(market) === pair)!),
      last_price: last,
      lowest_ask: ask,
      highest_bid: bid,
      base_volume: vol,
      quote_volume: quoteVol,
      price_change_percent_24h: percent,
      highest_price_24h: high,
      lowest_price_24h: low,
    });
  }
});

it("has each token of a market once, two of one symbol apart", async () => {
  const assets = await bodyOf("/coinmarketcap/assets");
  const gems = new Set(PAIRS.flatMap(({ base_gem, quote_gem }) => [base_gem, quote_gem]));
  expect(Object.keys(assets)).toHaveLength(gems.size);
  expect(
    new Set(Object.values<Fields>(assets).map(({ contractAddress }) => contractAddress)),
  ).toEqual(gems);
  expect(assets[`DAI:${DAI}`]).toEqual({ name: "Dai Stablecoin", contractAddress: DAI });
  expect(assets[`DAI:${OTHER_DAI}`]).toEqual({ name: "Dai", contractAddress: OTHER_DAI });
  expect(Object.keys(assets["A_B"])).toEqual(["contractAddress"]);
});

it("has every registered market as a ticker, frozen where it is inactive", async () => {
  const ticker = await bodyOf("/coinmarketcap/ticker");
  expect(ticker).toEqual(
    Object.fromEntries(
      PAIRS.map((pair) => {
        const figures = FIGURES.get(keyOf(pair))!;
        return [
          nameOf(pair),
          {
            last_price: orZero(figures.last),
            base_volume: orZero(figures.vol),
            quote_volume: orZero(figures.quote_vol),
            isFrozen: pair.active ? 0 : 1,
          },
        ];
      }),
    ),
  );
});

describe.each(PAIRS.map((pair) => [keyOf(pair), pair] as const))("%s", (_key, pair) => {
  it("has a book of what is left of the open offers", async () => {
    const book = await bodyOf(`/coinmarketcap/orderbook?market_pair=${asked(pair)}`);
    const side = (act: "buy" | "sell") =>
      levelsOf(pair)
        .filter((level) => level.act === act)
        .map(({ price, vol }) => [plain(price), plain(vol)]);
    expect(book).toEqual({ timestamp: HEAD_MS, bids: side("buy"), asks: side("sell") });
  });

  it("has the trades of the last 24 hours that have a price, newest first", async () => {
    const trades = await bodyOf(`/coinmarketcap/trades?market_pair=${asked(pair)}`);
    const opened = Date.parse(hours(HEAD_HOUR - 24));
    const expected = TRADES.flatMap((row) => {
      const dealt = dealtIn(pair, row);
      const price = dealt && quotient(units(dealt.quote), units(dealt.base));
      if (!dealt || price === null || price === undefined) return [];
      // A trade exactly 24 hours old is out.
      if (Date.parse(row.time) <= opened) return [];
      return [
        {
          price: plain(decimal(price)),
          base_volume: plain(dealt.base),
          quote_volume: plain(dealt.quote),
          timestamp: Date.parse(row.time),
          type: dealt.side,
        },
      ];
    }).reverse();
    expect(trades.map((trade: Fields) => ({ ...trade, trade_id: undefined }))).toEqual(expected);
  });
});

it("adds the trades of the day up to its volume", async () => {
  const trades = await bodyOf("/coinmarketcap/trades?market_pair=WETH_DAI");
  const ticker = await bodyOf("/coinmarketcap/ticker");
  const total = (name: string): bigint =>
    trades
      .map((trade: Fields) => units(trade[name]!))
      .reduce((sum: bigint, one: bigint) => sum + one, 0n);
  expect(plain(decimal(total("base_volume")))).toBe(ticker["WETH_DAI"].base_volume);
  // The trade without a price brought 5 more.
  expect(plain(decimal(total("quote_volume") + units("5")))).toBe(ticker["WETH_DAI"].quote_volume);
});

it("has the best prices alone at level 1, and half of the depth on each side at level 2", async () => {
  const sizes = async (query: string) => {
    const { bids, asks } = await bodyOf(`/coinmarketcap/orderbook?market_pair=weth_dai&${query}`);
    return [bids.length, asks.length];
  };
  expect(await sizes("level=1")).toEqual([1, 1]);
  expect(await sizes("level=1&depth=100")).toEqual([1, 1]);
  expect(await sizes("level=2&depth=2")).toEqual([1, 1]);
  expect(await sizes("depth=5")).toEqual([2, 2]);
});

it.each([
  ["/orderbook", "market_pair must be BASE_QUOTE"],
  ["/orderbook?market_pair=WETHDAI", "market_pair must be BASE_QUOTE"],
  ["/trades?market_pair=A_B_C", "market_pair must be BASE_QUOTE"],
  ["/trades?market_pair=WETH_%00", "market_pair must be BASE_QUOTE"],
  ["/trades?market_pair=DAI_WETH", "Unknown pair"],
  ["/orderbook?market_pair=DAI_WETH", "Unknown pair"],
  ["/orderbook?market_pair=WETH_DAI&level=3", "level must be one of 1, 2, given once"],
  ["/orderbook?market_pair=WETH_DAI&depth=1.5", "depth must be an integer from 0 to 2000"],
])("refuses %s", async (path, message) => {
  const { status, body } = await app.request.get(`/coinmarketcap${path}`);
  expect(status).toBe(400);
  expect(body).toEqual({ time: expect.any(String), message: expect.stringContaining(message) });
});

it("is served for an exchange without anything", async () => {
  await using empty = await makeDatabase();
  await using service = await makeTestApp(empty.reader);
  expect(await bodyOf("/coinmarketcap/summary", service)).toEqual([]);
  expect(await bodyOf("/coinmarketcap/assets", service)).toEqual({});
  expect(await bodyOf("/coinmarketcap/ticker", service)).toEqual({});
});
