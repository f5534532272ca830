// CoinGecko's paths against its format, against REST, and against the figures computed without SQL.
import { makeTestApp } from "../../app.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { quotient, decimal, units } from "../../brute-force.ts";
import { anAddress, anOffer, aTrade, hours, registerMarkets, write } from "../../factories.ts";
import { wrongIn } from "./format-schemas.ts";
import {
  dealtIn,
  FIGURES,
  type Fields,
  fillListings,
  HEAD_MS,
  idOf,
  keyOf,
  levelsOf,
  PAIRS,
  plain,
  TRADES,
} from "./listing-exchange.ts";
import { serveDatabase } from "../../served.ts";

const { app, database } = serveDatabase(fillListings);

async function bodyOf(path: string, from = app) {
  const { body } = await from.request.get(path).expect(200);
  expect(wrongIn(path, body)).toEqual([]);
  return body;
}

const active = PAIRS.filter((pair) => pair.active);

it("has each active market as a pair, under the addresses of its tokens", async () => {
  const pairs = await bodyOf("/coingecko/pairs");
  const expected = active.map((pair) => ({
    ticker_id: idOf(pair),
    base: pair.base_gem,
    target: pair.quote_gem,
    pool_id: idOf(pair),
  }));
  expect(pairs).toHaveLength(expected.length);
  expect(pairs).toEqual(expect.arrayContaining(expected));
  expect(new Set(pairs.map(({ ticker_id }: Fields) => ticker_id)).size).toBe(expected.length);
});

it("has the figures of each active market that was traded as its ticker", async () => {
  const tickers = await bodyOf("/coingecko/tickers");
  const expected = active.flatMap((pair) => {
    const figures = FIGURES.get(keyOf(pair))!;
    if (figures.last === null) return [];
    const { last, vol, quote_vol, bid, ask, high, low } = figures;
    const known = { bid, ask, high, low };
    return [
      {
        ticker_id: idOf(pair),
        base_currency: pair.base_gem,
        target_currency: pair.quote_gem,
        pool_id: idOf(pair),
        last_price: plain(last),
        base_volume: plain(vol) ?? "0",
        target_volume: plain(quote_vol) ?? "0",
        ...Object.fromEntries(
          Object.entries(known).flatMap(([name, value]) =>
            value === null ? [] : [[name, plain(value)]],
          ),
        ),
      },
    ];
  });
  // MKR/WETH was traded at 10^-38, which is 0 in 18 digits.
  expect(tickers).toHaveLength(expected.length);
  expect(tickers).toEqual(expect.arrayContaining(expected));
});

it("has the same figures as REST", async () => {
  const [tickers, summaries] = [
    await bodyOf("/coingecko/tickers"),
    await app.request.get("/v2/summary"),
  ];
  for (const pair of active) {
    const ticker = tickers.find(({ ticker_id }: Fields) => ticker_id === idOf(pair));
    const summary = summaries.body.data[keyOf(pair)];
    if (ticker === undefined) {
      expect(summary.lastTime).toBeNull();
      continue;
    }
    expect([ticker.last_price, ticker.base_volume, ticker.target_volume]).toEqual([
      summary.last,
      summary.vol,
      summary.quoteVol,
    ]);
    expect([ticker.bid ?? "0", ticker.ask ?? "0", ticker.high ?? "0", ticker.low ?? "0"]).toEqual([
      summary.bid,
      summary.ask,
      summary.high,
      summary.low,
    ]);
  }
});

describe("the book", () => {
  it.each(PAIRS.map((pair) => [keyOf(pair), pair] as const))(
    "of %s is what is left of the open offers",
    async (_key, pair) => {
      const book = await bodyOf(`/coingecko/orderbook?ticker_id=${idOf(pair)}`);
      const side = (act: "buy" | "sell") =>
        levelsOf(pair)
          .filter((level) => level.act === act)
          .map(({ price, vol }) => [plain(price), plain(vol)]);
      expect(book).toEqual({
        ticker_id: idOf(pair),
        timestamp: HEAD_MS,
        bids: side("buy"),
        asks: side("sell"),
      });
    },
  );

  it("has half of the depth on each side, rounded up, and all for 0", async () => {
    const depths = async (depth: string) => {
      const { bids, asks } = await bodyOf(
        `/coingecko/orderbook?ticker_id=${idOf(PAIRS[0]!)}&depth=${depth}`,
      );
      return [bids.length, asks.length];
    };
    expect(await depths("1")).toEqual([1, 1]);
    expect(await depths("2")).toEqual([1, 1]);
    expect(await depths("3")).toEqual([2, 2]);
    expect(await depths("0")).toEqual([2, 2]);
    expect(await depths("2000")).toEqual([2, 2]);
  });

  it("finds a market by addresses in any case", async () => {
    const [base, quote] = idOf(PAIRS[0]!).split("_");
    const id = `0x${base!.slice(2).toUpperCase()}_${quote}`;
    const { bids } = await bodyOf(`/coingecko/orderbook?ticker_id=${id}`);
    expect(bids).toHaveLength(2);
  });
});

describe("the trades", () => {
  const tradesOf = (pair: (typeof PAIRS)[number]) =>
    TRADES.flatMap((row) => {
      const dealt = dealtIn(pair, row);
      const price = dealt && quotient(units(dealt.quote), units(dealt.base));
      return dealt === undefined || price === null || price === undefined
        ? []
        : [
            {
              price: plain(decimal(price)),
              base_volume: plain(dealt.base),
              target_volume: plain(dealt.quote),
              trade_timestamp: Math.floor(Date.parse(row.time) / 1000),
              type: dealt.side,
            },
          ];
    }).reverse();
  const withoutIds = (trades: Fields[]) =>
    trades.map((trade) => ({ ...trade, trade_id: undefined }));

  it.each(PAIRS.map((pair) => [keyOf(pair), pair] as const))(
    "of %s are by the side of the taker, newest first",
    async (_key, pair) => {
      const { buy, sell } = await bodyOf(`/coingecko/historical_trades?ticker_id=${idOf(pair)}`);
      const expected = tradesOf(pair);
      expect(withoutIds(buy)).toEqual(expected.filter(({ type }) => type === "buy"));
      expect(withoutIds(sell)).toEqual(expected.filter(({ type }) => type === "sell"));
    },
  );

  it("have the ids of REST", async () => {
    const { body } = await app.request.get("/v2/trades/weth/dai?limit=1000");
    const { buy, sell } = await bodyOf(
      `/coingecko/historical_trades?ticker_id=${idOf(PAIRS[0]!)}&limit=0`,
    );
    const ids = [...buy, ...sell]
      .map(({ trade_id }: Fields) => trade_id)
      .sort((one, other) => Number(other) - Number(one));
    // The one without a price is missing.
    const priced = body.data.filter(({ volume }: Fields) => volume !== "0");
    expect(ids).toEqual(priced.map(({ id }: Fields) => id));
  });

  it("are of one side, of a time, and no more than are asked for", async () => {
    const id = idOf(PAIRS[0]!);
    const at = (hour: number): number => Date.parse(hours(hour)) / 1000;
    const times = async (query: string) => {
      const { buy, sell } = await bodyOf(`/coingecko/historical_trades?ticker_id=${id}&${query}`);
      return {
        buy: buy.map((t: Fields) => t.trade_timestamp),
        sell: sell.map((t: Fields) => t.trade_timestamp),
      };
    };
    expect(await times("type=sell")).toEqual({ buy: [], sell: [at(20)] });
    expect(await times("type=buy&limit=2")).toEqual({ buy: [at(29), at(21)], sell: [] });
    // Both ends are included.
    expect(await times(`start_time=${at(6)}&end_time=${at(20)}`)).toEqual({
      buy: [at(20), at(6) + 1, at(6)],
      sell: [at(20)],
    });
    expect(await times(`start_time=${at(6) + 1}&end_time=${at(20) - 1}`)).toEqual({
      buy: [at(6) + 1],
      sell: [],
    });
    // Within the second that begins at this time.
    expect(await times(`start_time=${at(20) + 2}&end_time=${at(20) + 2}`)).toEqual({
      buy: [at(20) + 2],
      sell: [],
    });
    expect(await times(`start_time=${at(20) + 3}&end_time=${at(21) - 1}`)).toEqual({
      buy: [],
      sell: [],
    });
    expect(await times(`start_time=${at(31)}`)).toEqual({ buy: [], sell: [] });
    expect(await times(`end_time=0`)).toEqual({ buy: [], sell: [] });
  });
});

it.each([
  ["/orderbook", "ticker_id must be the addresses of base and quote token in hex"],
  ["/orderbook?ticker_id=WETH_DAI", "ticker_id must be the addresses"],
  [`/orderbook?ticker_id=${anAddress("a")}`, "ticker_id must be the addresses"],
  ["/orderbook?ticker_id=ID&ticker_id=ID", "ticker_id must be the addresses"],
  ["/orderbook?ticker_id=ID&depth=2001", "depth must be an integer from 0 to 2000"],
  ["/orderbook?ticker_id=ID&depth=-1", "depth must be an integer from 0 to 2000"],
  ["/historical_trades?ticker_id=ID&type=both", "type must be one of buy, sell"],
  ["/historical_trades?ticker_id=ID&limit=20001", "limit must be an integer from 0 to 20000"],
  ["/historical_trades?ticker_id=ID&start_time=1e3", "start_time must be an integer from 0"],
  ["/historical_trades?ticker_id=ID&end_time=2026-01-01", "end_time must be an integer from 0"],
  [`/orderbook?ticker_id=${anAddress("a")}_${anAddress("b")}`, "Unknown pair"],
  ["/historical_trades?ticker_id=FLIPPED", "Unknown pair"],
])("refuses %s", async (path, message) => {
  const id = idOf(PAIRS[0]!);
  const asked = path.replaceAll("ID", id).replace("FLIPPED", id.split("_").reverse().join("_"));
  const { status, body } = await app.request.get(`/coingecko${asked}`);
  expect(status).toBe(400);
  expect(body).toEqual({ time: expect.any(String), message: expect.stringContaining(message) });
});

describe("liquidity in dollars", () => {
  const valuedWith = async (...usdTokens: string[]) => {
    await using valued = await makeTestApp(database.reader, {
      listings: { exchangeName: "dex", usdTokens },
    });
    const tickers = await bodyOf("/coingecko/tickers", valued);
    return new Map<string, string | undefined>(
      tickers.map((ticker: Fields) => [ticker.ticker_id, ticker.liquidity_in_usd]),
    );
  };

  it("is left out without tokens that are worth a dollar", async () => {
    expect([...(await valuedWith()).values()].every((value) => value === undefined)).toBe(true);
  });

  it("is what is left of the book, the base at the last price", async () => {
    const values = await valuedWith(PAIRS[0]!.quote_gem.toLowerCase());
    // Bids: 600 + 99.5 quote. Asks: 10 - 3 + 5 = 12 base at 130.
    expect(values.get(idOf(PAIRS[0]!))).toBe(String(699.5 + 12 * 130));
    // DAI of MKR/DAI is another token.
    expect(values.get(idOf(PAIRS[2]!))).toBeUndefined();
  });

  it("is of a base token that is worth a dollar too, its quote at the last price", async () => {
    const values = await valuedWith("MKR");
    // MKR/DAI: 3 quote for bids, at a price of 10^38 quote per base: 3 × 10^-38, which rounds to 0.
    expect(values.get(idOf(PAIRS[2]!))).toBe("0");
  });

  it("is of both tokens without a price where each is worth a dollar", async () => {
    const { base_gem, quote_gem } = PAIRS[0]!;
    const values = await valuedWith(base_gem, quote_gem);
    expect(values.get(idOf(PAIRS[0]!))).toBe(String(699.5 + 12));
  });

  it("is what GraphQL shows for the same tokens, by symbol or address in any case", async () => {
    for (const token of [PAIRS[0]!.quote_gem.toLowerCase(), "mkr", "DAI"]) {
      const values = await valuedWith(token);
      const { body } = await app.request.post("/graphql").send({
        query: `query ($usdTokens: [String]) {
          dexLiquidity(usdTokens: $usdTokens) { nodes { pair liquidityInUsd } }
        }`,
        variables: { usdTokens: [token] },
      });
      const shown = new Map<string, string | null>(
        body.data.dexLiquidity.nodes.map((node: Fields) => [node.pair, node.liquidityInUsd]),
      );
      expect(shown.size).toBe(PAIRS.length);
      for (const pair of PAIRS) {
        const value = values.get(idOf(pair));
        const { active } = pair;
        if (active && FIGURES.get(keyOf(pair))!.last !== null) {
          expect(plain(shown.get(keyOf(pair)) ?? null) ?? undefined).toBe(value);
        }
      }
    }
  });

  it("is left out for a symbol of two tokens, as either may be meant", async () => {
    const values = await valuedWith("DAI");
    expect(values.get(idOf(PAIRS[0]!))).toBeUndefined();
  });
});

describe("an exchange", () => {
  let other: TestDatabase;
  beforeAll(async () => (other = await makeDatabase()));
  afterAll(() => other.drop());

  it("without blocks, without offers, and then with one trade is served throughout", async () => {
    await using service = await makeTestApp(other.reader);
    expect(await bodyOf("/coingecko/tickers", service)).toEqual([]);
    expect(await bodyOf("/coingecko/pairs", service)).toEqual([]);
    await registerMarkets(other.writer);
    const id = idOf(PAIRS[0]!);
    expect(await bodyOf("/coingecko/tickers", service)).toEqual([]);
    expect(await bodyOf("/coingecko/pairs", service)).toHaveLength(2);
    expect(await bodyOf(`/coingecko/orderbook?ticker_id=${id}`, service)).toMatchObject({
      bids: [],
      asks: [],
    });
    expect(await bodyOf(`/coingecko/historical_trades?ticker_id=${id}`, service)).toEqual({
      buy: [],
      sell: [],
    });
    await write(other.writer, { trades: [aTrade({})], offers: [anOffer({})] });
    expect(await bodyOf("/coingecko/tickers", service)).toHaveLength(1);
  });
});
