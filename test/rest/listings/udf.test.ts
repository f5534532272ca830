// TradingView's paths against its format, and against the candles of REST.
import { makeTestApp } from "../../app.ts";
import { makeDatabase } from "../../database.ts";
import {
  anAddress,
  aTrade,
  hours,
  registerPair,
  registerTokens,
  setHead,
  write,
} from "../../factories.ts";
import { shownDigits } from "../../../rest/listings/udf.ts";
import { wrongIn } from "./format-schemas.ts";
import { type Fields, fillListings, HEAD_MS, keyOf, PAIRS } from "./listing-exchange.ts";
import { serveDatabase } from "../../served.ts";

const { app } = serveDatabase(fillListings, {
  listings: { exchangeName: "oasis", usdTokens: [] },
});

async function bodyOf(path: string, from = app) {
  const { body } = await from.request.get(path).expect(200);
  expect(wrongIn(path, body)).toEqual([]);
  return body;
}

const at = (hour: number): number => Date.parse(hours(hour)) / 1000;

const RESOLUTIONS = [
  ["1", "1m"],
  ["5", "5m"],
  ["15", "15m"],
  ["30", "30m"],
  ["60", "1h"],
  ["240", "4h"],
  ["1D", "1d"],
  ["D", "1d"],
] as const;

const historyOf = (query: string, pair = PAIRS[0]!) =>
  bodyOf(`/udf/history?symbol=${encodeURIComponent(keyOf(pair))}&${query}`);

it("says what it supports", async () => {
  const config = await bodyOf("/udf/config");
  expect(config.supported_resolutions).toEqual(["1", "5", "15", "30", "60", "240", "1D"]);
  expect(config.exchanges).toEqual([{ value: "oasis", name: "oasis", desc: "oasis" }]);
});

it("has the head's time as plain text", async () => {
  const { text, headers } = await app.request.get("/udf/time").expect(200);
  expect(text).toBe(String(HEAD_MS / 1000));
  expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
});

it.each(PAIRS.map((pair) => [keyOf(pair)]))("resolves %s, in any case", async (key) => {
  const symbol = await bodyOf(`/udf/symbols?symbol=${encodeURIComponent(key.toLowerCase())}`);
  expect(symbol).toMatchObject({ name: key, ticker: key, "exchange-traded": "oasis" });
});

it.each([
  [null, 8],
  ["0", 8],
  ["130", 5],
  ["12345678901", 2],
  ["0.333333333333333333", 8],
  ["0.000001234", 13],
  ["0.000000000000000001", 18],
])("shows a price of %s with %i digits", (price, digits) => {
  expect(shownDigits(price)).toBe(digits);
});

describe("the search", () => {
  const keysOf = async (query: string): Promise<string[]> =>
    (await bodyOf(`/udf/search?${query}`)).map(({ ticker }: Fields) => ticker);

  it("finds each market whose name has the text, in any case", async () => {
    expect(await keysOf("query=&type=&exchange=&limit=30")).toHaveLength(PAIRS.length);
    expect(await keysOf("query=mkr")).toEqual(["MKR/DAI", "MKR/WETH"]);
    expect(await keysOf("query=ωMEGA")).toEqual(["X/Y/ΩMEGA-1.5"]);
    expect(await keysOf("query=50%25")).toEqual(["50%/WETH"]);
    expect(await keysOf("query=nowhere")).toEqual([]);
  });

  it("has no more than are asked for, and none of another type or exchange", async () => {
    expect(await keysOf("query=DAI&limit=2")).toHaveLength(2);
    expect(await keysOf("query=DAI&type=crypto&exchange=oasis")).toHaveLength(4);
    expect(await keysOf("type=stock")).toEqual([]);
    expect(await keysOf("exchange=NYSE")).toEqual([]);
  });

  it("finds a letter without a single capital, which PostgreSQL leaves as it is", async () => {
    await using odd = await makeDatabase();
    const [ess, dai] = [anAddress("ß"), anAddress("DAI")];
    await registerTokens(
      odd.writer,
      { address: ess, symbol: "ß1" },
      { address: dai, symbol: "DAI" },
    );
    await registerPair(odd.writer, ess, dai);
    await setHead(odd.writer, 1);
    await using service = await makeTestApp(odd.reader);
    const found = await bodyOf("/udf/search?query=%C3%9F1", service);
    expect(found).toMatchObject([{ ticker: "ß1/DAI" }]);
  });
});

describe("the history", () => {
  it.each(PAIRS.flatMap((pair) => RESOLUTIONS.map((names) => [keyOf(pair), ...names] as const)))(
    "of %s by %s is the candles of REST",
    async (key, resolution, interval) => {
      const [base, quote] = [PAIRS.find((one) => keyOf(one) === key)!].flatMap((pair) => [
        encodeURIComponent(pair.base),
        encodeURIComponent(pair.quote),
      ]);
      const { body } = await app.request.get(
        `/v2/candles/${base}/${quote}?interval=${interval}&limit=1000`,
      );
      const bars = await historyOf(
        `resolution=${resolution}&from=0&to=${at(48)}`,
        PAIRS.find((one) => keyOf(one) === key),
      );
      if (body.data.length === 0) {
        expect(bars).toEqual({ s: "no_data" });
        return;
      }
      const each = (name: string): number[] =>
        body.data.map((candle: Fields) => Number(candle[name]));
      expect(bars).toEqual({
        s: "ok",
        t: body.data.map(({ time }: Fields) => Date.parse(time!) / 1000),
        o: each("open"),
        h: each("high"),
        l: each("low"),
        c: each("close"),
        v: each("vol"),
      });
    },
  );

  it("includes `from` and not `to`", async () => {
    const times = async (query: string) => (await historyOf(`resolution=60&${query}`)).t;
    expect(await times(`from=${at(6)}&to=${at(20)}`)).toEqual([at(6)]);
    expect(await times(`from=${at(6)}&to=${at(20) + 1}`)).toEqual([at(6), at(20)]);
    expect(await times(`from=${at(6) + 1}&to=${at(20) + 1}`)).toEqual([at(20)]);
    expect(await times(`from=-5&to=${at(2)}`)).toEqual([at(1)]);
  });

  it("has the last bars for `countback`, whatever `from` is", async () => {
    const times = async (query: string) => (await historyOf(`resolution=60&${query}`)).t;
    expect(await times(`from=${at(29)}&to=${at(48)}&countback=3`)).toEqual([
      at(20),
      at(21),
      at(29),
    ]);
    expect(await times(`to=${at(21)}&countback=2`)).toEqual([at(6), at(20)]);
    expect(await times(`from=${at(47)}&to=${at(48)}&countback=1000000`)).toHaveLength(5);
  });

  it("without bars says where the last one before is", async () => {
    expect(await historyOf(`resolution=60&from=${at(8)}&to=${at(19)}`)).toEqual({
      s: "no_data",
      nextTime: at(6),
    });
    expect(await historyOf(`resolution=1&from=${at(100)}&to=${at(101)}`)).toEqual({
      s: "no_data",
      nextTime: at(29),
    });
    // Before the first trade there is none.
    expect(await historyOf(`resolution=60&from=0&to=${at(1)}`)).toEqual({ s: "no_data" });
    expect(await historyOf(`resolution=60&to=${at(1)}&countback=10`)).toEqual({ s: "no_data" });
    expect(await historyOf(`resolution=60&from=${at(8)}&to=${at(8)}`)).toEqual({
      s: "no_data",
      nextTime: at(6),
    });
  });

  it("has the last 1000 bars of a longer time", async () => {
    await using long = await makeDatabase();
    await using service = await makeTestApp(long.reader);
    await fillListings(long.writer);
    const { baseGem, quoteGem } = { baseGem: PAIRS[8]!.base_gem, quoteGem: PAIRS[8]!.quote_gem };
    const trades = Array.from({ length: 1100 }, (_, n) =>
      aTrade({ hour: 31 + n / 60, baseGem, quoteGem, offer_id: 998 }),
    );
    await write(long.writer, { trades });
    await setHead(long.writer, 60);
    const symbol = encodeURIComponent(keyOf(PAIRS[8]!));
    for (const query of [`from=${at(31)}`, "countback=2000", `from=${at(40)}&countback=1000`]) {
      const { t } = await bodyOf(
        `/udf/history?symbol=${symbol}&resolution=1&to=${at(60)}&${query}`,
        service,
      );
      expect(t).toHaveLength(1000);
      expect(t[0]).toBe(at(31) + 100 * 60);
      expect(t.at(-1)).toBe(at(31) + 1099 * 60);
    }
  });

  it("has the double that is nearest to each decimal", async () => {
    for (const pair of PAIRS) {
      const { body } = await app.request.get(
        `/v2/candles/${encodeURIComponent(pair.base)}/${encodeURIComponent(pair.quote)}?interval=1m`,
      );
      const bars = await historyOf(`resolution=1&from=0&to=${at(48)}`, pair);
      for (const [n, candle] of body.data.entries()) {
        expectNearest(bars.c[n], candle.close);
        expectNearest(bars.v[n], candle.vol);
      }
    }
  });
});

/** The exact value of a double, in units of 2^-1074. */
function exactly(double: number): bigint {
  const bits = new BigUint64Array(new Float64Array([double]).buffer)[0]!;
  const exponent = bits >> 52n;
  const fraction = bits & ((1n << 52n) - 1n);
  return exponent === 0n ? fraction : (fraction + (1n << 52n)) << (exponent - 1n);
}

function neighbour(double: number, step: bigint): number {
  const bits = new BigUint64Array(new Float64Array([double]).buffer)[0]!;
  return new Float64Array(new BigUint64Array([bits + step]).buffer)[0]!;
}

/** No neighbour of the double is nearer to the decimal. */
function expectNearest(double: number, text: string): void {
  const [whole = "", fraction = ""] = text.split(".");
  const scale = 10n ** BigInt(fraction.length);
  const exact = BigInt(whole + fraction) << 1074n;
  const off = (candidate: number): bigint => {
    const distance = exactly(candidate) * scale - exact;
    return distance < 0n ? -distance : distance;
  };
  expect(off(double) <= off(neighbour(double, 1n))).toBe(true);
  if (double > 0) expect(off(double) <= off(neighbour(double, -1n))).toBe(true);
}

it.each([
  ["0.1", 0.1],
  ["9007199254740993", 9007199254740992],
  // Half way between two doubles but for the last digit, the 35th.
  ["9007199254740993.000000000000000001", 9007199254740994],
])("the nearest double of %s is %d", (text, double) => {
  expect(Number(text)).toBe(double);
  expectNearest(Number(text), text);
});

it.each([
  ["/symbols", "symbol must be BASE/QUOTE, given once"],
  ["/symbols?symbol=WETHDAI", "symbol must be BASE/QUOTE, given once"],
  ["/symbols?symbol=DAI/WETH", "Unknown pair"],
  ["/history?symbol=DAI/WETH&resolution=60&from=0&to=1", "Unknown pair"],
  [
    "/history?symbol=WETH/DAI&from=0&to=1",
    "resolution must be one of 1, 5, 15, 30, 60, 240, 1D, D",
  ],
  ["/history?symbol=WETH/DAI&resolution=2&from=0&to=1", "resolution must be one of 1, 5"],
  ["/history?symbol=WETH/DAI&resolution=60&from=0", "to must be an integer from"],
  ["/history?symbol=WETH/DAI&resolution=60&from=2&to=1", "from must be at most to, 1"],
  ["/history?symbol=WETH/DAI&resolution=60&from=a&to=1", "from must be an integer from"],
  ["/history?symbol=WETH/DAI&resolution=60&to=999999999999", "to must be an integer from"],
  [
    "/history?symbol=WETH/DAI&resolution=60&to=1&countback=0",
    "countback must be an integer from 1",
  ],
  ["/search?limit=0", "limit must be an integer from 1 to 1000"],
  [`/search?query=${"a".repeat(101)}`, "query must be a text of at most 100 characters"],
])("refuses %s in its own form", async (path, message) => {
  const { status, body } = await app.request.get(`/udf${path}`);
  expect(status).toBe(400);
  expect(body).toEqual({ s: "error", errmsg: expect.stringContaining(message) });
});

it("refuses an unknown path in its own form too", async () => {
  const { status, body } = await app.request.get("/udf/marks");
  expect(status).toBe(404);
  expect(body).toEqual({ s: "error", errmsg: "Unknown path" });
});
