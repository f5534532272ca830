// The candles of a market.
import { aTrade, registerMarkets, write } from "../factories.ts";
import { dataOf, errorsOf, type TradesPage } from "../graphql.ts";
import { serveDatabase } from "../served.ts";

const { app, database } = serveDatabase();
beforeAll(async () => {
  await registerMarkets(database.writer);
  await write(database.writer, {
    trades: [
      // Of one block: idx tells which is the first.
      aTrade({ hour: 1, idx: 2, base: "1", quote: "90" }),
      aTrade({ hour: 1, idx: 1, base: "2", quote: "200" }),
      aTrade({ hour: 1.5, base: "1", quote: "130" }),
      // Of no base, so without a price: in no candle.
      aTrade({ hour: 1.75, base: "0", quote: "5" }),
      aTrade({ hour: 2.5, base: "0", quote: "5" }),
      aTrade({ hour: 4.25, base: "3", quote: "330" }),
    ],
    head: 4.5,
  });
});

const TIME = "2026-01-01T04:30:00.000Z";
// 200 ÷ 2, then 90 ÷ 1, then 130 ÷ 1.
const HOUR_1 = {
  time: "2026-01-01T01:00:00.000Z",
  open: "100",
  high: "130",
  low: "90",
  close: "130",
  vol: "4",
  quoteVol: "420",
  trades: 3,
  complete: true,
};
const flatAt = (time: string) => ({
  time,
  ...{ open: "130", high: "130", low: "130", close: "130", vol: "0", quoteVol: "0", trades: 0 },
  complete: true,
});
const HOUR_4 = {
  time: "2026-01-01T04:00:00.000Z",
  ...{ open: "110", high: "110", low: "110", close: "110", vol: "3", quoteVol: "330", trades: 1 },
  complete: false,
};
const FLAT = [
  HOUR_1,
  flatAt("2026-01-01T02:00:00.000Z"),
  flatAt("2026-01-01T03:00:00.000Z"),
  HOUR_4,
];

const dataFor = async (query: string): Promise<{ time: string }[]> => {
  const { body } = await app.request.get(`/v2/candles/weth/dai${query}`).expect(200);
  return (body as { data: { time: string }[] }).data;
};

it("are of an hour each, and leave out the hours without trades", async () => {
  const { body } = await app.request.get("/v2/candles/weth/dai").expect(200);
  expect(body).toEqual({ data: [HOUR_1, HOUR_4], time: TIME, message: "success" });
});

it("are flat at the price before where that is asked for, from the first trade on", async () => {
  expect(await dataFor("?empty=flat")).toEqual(FLAT);
  expect(await dataFor("?empty=flat&from=2025-12-31T00:00:00Z")).toEqual(FLAT);
});

it.each([
  ["1m", ["01:00", "01:30", "04:15"]],
  ["5m", ["01:00", "01:30", "04:15"]],
  ["15m", ["01:00", "01:30", "04:15"]],
  ["30m", ["01:00", "01:30", "04:00"]],
  ["1h", ["01:00", "04:00"]],
  ["4h", ["00:00", "04:00"]],
  ["1d", ["00:00"]],
])("of %s are counted from the epoch", async (interval, starts) => {
  const candles = await dataFor(`?interval=${interval}`);
  expect(candles.map(({ time }) => time)).toEqual(
    starts.map((start) => `2026-01-01T${start}:00.000Z`),
  );
});

it("is complete once the head is at its end", async () => {
  // The head is at 04:30 exactly.
  const candles = await dataFor("?interval=30m&limit=1&empty=flat");
  expect(candles).toMatchObject([{ time: "2026-01-01T04:30:00.000Z", trades: 0, complete: false }]);
  const before = await dataFor("?interval=30m&limit=1&empty=flat&to=2026-01-01T04:30:00Z");
  expect(before).toMatchObject([{ time: "2026-01-01T04:00:00.000Z", trades: 1, complete: true }]);
});

it("are the last ones without from, and the first ones with it", async () => {
  expect(await dataFor("?empty=flat&limit=2")).toEqual(FLAT.slice(2));
  expect(await dataFor("?empty=flat&limit=2&from=2026-01-01T00:00:00Z")).toEqual(FLAT.slice(0, 2));
  expect(await dataFor("?limit=1")).toEqual([HOUR_4]);
  expect(await dataFor("?limit=1&from=2026-01-01T00:00:00Z")).toEqual([HOUR_1]);
});

it("start at or after from, and before to", async () => {
  const query = "?empty=flat&from=2026-01-01T02:00:00Z&to=2026-01-01T04:00:00.000Z";
  expect(await dataFor(query)).toEqual(FLAT.slice(1, 3));
  expect(await dataFor("?empty=flat&from=2026-01-01T01:00:00.001Z")).toEqual(FLAT.slice(1));
  expect(await dataFor("?empty=flat&to=2026-01-01T04:00:00.001Z")).toEqual(FLAT);
  expect(await dataFor("?from=2026-01-01T03:00:00Z&to=2026-01-01T02:00:00Z")).toEqual([]);
  expect(await dataFor("?from=9999-12-31T23:59:59Z")).toEqual([]);
});

it("there are none of a market that never traded", async () => {
  const { body } = await app.request.get("/v2/candles/mkr/weth?empty=flat").expect(200);
  expect(body.data).toEqual([]);
});

const INTERVAL = "interval must be one of 1m, 5m, 15m, 30m, 1h, 4h, 1d, given once";
const momentError = (name: string): string =>
  `${name} must be a time from 1970 on in ISO 8601 UTC, with seconds and at most milliseconds, such as 2026-01-31T12:00:00Z, given once`;

it.each([
  ["interval=2h", INTERVAL],
  ["interval=", INTERVAL],
  ["interval=1h&interval=1h", INTERVAL],
  ["from=2026-01-01", momentError("from")],
  ["from=2026-02-30T00:00:00Z", momentError("from")],
  ["from=2026-01-01T24:00:00Z", momentError("from")],
  ["from=2026-01-01T00:00:00%2B01:00", momentError("from")],
  ["to=1769860800", momentError("to")],
  ["to=0000-01-01T00:00:00Z", momentError("to")],
  ["empty=null", "empty must be one of omit, flat, given once"],
  [
    "limit=1001",
    "limit must be an integer from 1 to 1000, given once and in digits only, without a leading zero",
  ],
])("?%s is refused", async (query, message) => {
  const { body } = await app.request.get(`/v2/candles/weth/dai?${query}`).expect(400);
  expect(body).toEqual({ time: TIME, message });
  const unknown = await app.request.get(`/v2/candles/dai/weth?${query}`).expect(400);
  expect(unknown.body).toEqual({ time: TIME, message: "Unknown pair" });
});

it("are the same by GraphQL, by pages", async () => {
  const { dexCandles } = await dataOf<{ dexCandles: TradesPage }>(
    app,
    `{ dexCandles(base: "weth", quote: "dai", interval: "1h", empty: "flat", first: 2) {
      totalCount
      nodes { time open high low close vol quoteVol trades complete }
      pageInfo { hasNextPage }
    } }`,
  );
  expect(dexCandles).toMatchObject({
    totalCount: 4,
    nodes: [
      { time: "2026-01-01T01:00:00.000000+00:00", open: "100.000000000000000000", trades: 3 },
      { vol: "0.000000000000000000", close: "130.000000000000000000", complete: true },
    ],
    pageInfo: { hasNextPage: true },
  });
});

it("are by GraphQL as without an argument where it is null", async () => {
  const ask = async (args: string) =>
    dataOf(app, `{ dexCandles(base: "weth", quote: "dai"${args}) { nodes { time close } } }`);
  const plain = await ask("");
  expect(plain).toMatchObject({ dexCandles: { nodes: [{}, {}] } });
  for (const argument of ["interval", "from", "to", "limit", "empty"]) {
    expect(await ask(`, ${argument}: null`)).toEqual(plain);
  }
});

it("are refused by GraphQL where an argument is not what it must be", async () => {
  const messages = (args: string): Promise<string[]> =>
    errorsOf(app, `{ dexCandles(base: "weth", quote: "dai", ${args}) { nodes { time } } }`);
  expect(await messages('interval: "2h"')).toEqual([
    "interval must be 1m, 5m, 15m, 30m, 1h, 4h or 1d, not 2h",
  ]);
  expect(await messages("limit: 1001")).toEqual([
    "limit must be an integer from 1 to 1000, not 1001",
  ]);
  expect(await messages('empty: "no"')).toEqual(["empty must be omit or flat, not no"]);
});
