// SQL, REST v1 and v2 and GraphQL return the same figures.
import {
  anOffer,
  aTrade,
  DAI,
  MKR,
  registerMarkets,
  registerPair,
  WETH,
  write,
} from "./factories.ts";
import { dataOf } from "./graphql.ts";
import { serveDatabase } from "./served.ts";

const { app, database } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  // A third market without trades.
  await registerPair(writer, MKR, DAI, false);
  await write(writer, {
    trades: [
      aTrade({ hour: 1, base: "3", quote: "1" }),
      aTrade({ hour: 20, base: "7", quote: "2000.000000000000000001" }),
      aTrade({
        hour: 29,
        side: "buy",
        base: "0.000000000000000003",
        quote: "0.000000000000000001",
      }),
      aTrade({ hour: 30, base: "1.5", quote: "600" }),
      aTrade({
        hour: 28,
        baseGem: MKR,
        quoteGem: WETH,
        base: "100000000000000000000.5",
        quote: "11",
      }),
    ],
    offers: [
      anOffer({ id: 101, side: "buy", base: "7", quote: "699" }),
      anOffer({ id: 102, side: "sell", base: "3", quote: "400" }),
    ],
    head: 30,
  });
});

type Figures = Record<string, string | number | boolean | null>;

/** Formats a decimal as REST does: without trailing zeros, "0" for null. */
const plain = (value: string | number | boolean | null): string | number | boolean =>
  typeof value === "string" && /^-?\d+\.\d+$/.test(value)
    ? value.replace(/\.?0+$/, "")
    : (value ?? "0");

const plainly = (figures: Figures): Record<string, string | number | boolean> =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, plain(value)]));

async function restData(path: string): Promise<Record<string, Record<string, unknown>>> {
  const response = await app.request.get(path).expect(200);
  return (response.body as { data: Record<string, Record<string, unknown>> }).data;
}

async function sqlRows(text: string): Promise<Figures[]> {
  return (await database.reader.query<Figures>(text)).rows;
}

it("SQL computes the figures of the trades", async () => {
  const [mkr, weth] = await sqlRows("select * from dex_market where active order by pair");
  expect(weth).toEqual({
    pair: "WETH/DAI",
    base: "WETH",
    quote: "DAI",
    // (24, 30]: 600.000000000000000001 ÷ 1.500000000000000003 = 399.999999999999999200666…
    price: "399.999999999999999201",
    last: "400.000000000000000000",
    // (6, 30]: 7 + 0.000000000000000003 + 1.5
    vol: "8.500000000000000003",
    // 400 ÷ 3 and 699 ÷ 7
    ask: "133.333333333333333333",
    bid: "99.857142857142857143",
    // 1 ÷ 3
    low: "0.333333333333333333",
    high: "400.000000000000000000",
    active: true,
  });
  expect(mkr).toMatchObject({
    vol: "100000000000000000000.500000000000000000",
    bid: null,
    ask: null,
  });
});

it("SQL, REST v1 and v2 and GraphQL return the same markets, prices, volumes and summaries", async () => {
  const markets = await sqlRows("select * from dex_market");
  const prices = await sqlRows("select * from dex_price");
  const volumes = await sqlRows("select * from dex_volume");
  const summaries = await sqlRows(
    `select
      dex_summary.*,
      to_char(last_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') as last_time
    from dex_summary`,
  );
  expect([markets.length, prices.length, volumes.length, summaries.length]).toEqual([3, 3, 3, 3]);

  const graphql = await dataOf<Record<string, { nodes: Figures[] }>>(
    app,
    `{
      allDexMarkets { nodes { pair base quote price last vol ask bid low high active } }
      allDexPrices { nodes { pair base quote vwap24h vwap12h vwap6h vwap1h last } }
      allDexVolumes { nodes { pair base quote vol } }
      allDexSummaries { nodes {
        pair base quote last last_time: lastTime open change percent low high vwap vol
        quote_vol: quoteVol trades bid ask spread
      } }
    }`,
  );
  const byPair = (rows: Figures[]): Figures[] =>
    rows.toSorted((a, b) => (String(a["pair"]) < String(b["pair"]) ? -1 : 1));
  expect(byPair(graphql["allDexMarkets"]!.nodes)).toEqual(byPair(markets));
  expect(byPair(graphql["allDexPrices"]!.nodes)).toEqual(byPair(prices));
  expect(byPair(graphql["allDexVolumes"]!.nodes)).toEqual(byPair(volumes));
  expect(byPair(graphql["allDexSummaries"]!.nodes)).toEqual(byPair(summaries));

  for (const row of markets) {
    const { base, quote, ...record } = plainly(row);
    expect(await restData(`/v1/markets/${String(base)}/${String(quote)}`)).toEqual(record);
  }
  for (const row of prices) {
    const { pair, vwap24h, vwap12h, vwap6h, vwap1h, last } = plainly(row);
    const record = {
      "24hrvwap": vwap24h,
      "12hrvwap": vwap12h,
      "6hrvwap": vwap6h,
      "1hrvwap": vwap1h,
      last,
    };
    for (const version of ["v1", "v2"]) {
      expect(await restData(`/${version}/prices/${String(pair)}`)).toEqual(record);
      expect((await restData(`/${version}/prices`))[String(pair)]).toEqual(record);
    }
  }
  for (const row of volumes) {
    const { pair, vol } = plainly(row);
    for (const version of ["v1", "v2"]) {
      expect(await restData(`/${version}/volumes/${String(pair)}`)).toEqual({ vol });
      expect((await restData(`/${version}/volumes`))[String(pair)]).toEqual({ vol });
    }
  }
  for (const row of summaries) {
    const { base, quote, quote_vol: quoteVol, last_time: _lastTime, ...record } = plainly(row);
    const lastTime = String(row["last_time"]).replace("000+00:00", "Z");
    const summary = { ...record, quoteVol, lastTime: row["last_time"] === null ? null : lastTime };
    expect(await restData(`/v2/summary/${String(base)}/${String(quote)}`)).toEqual(summary);
    expect((await restData("/v2/summary"))[String(row["pair"])]).toEqual(summary);
  }
});

it("REST v2 and GraphQL return the same trades", async () => {
  const rest = (await app.request.get("/v2/trades/weth/dai").expect(200)).body as {
    data: { id: number; price: string; volume: string; time: string }[];
  };
  const { allDexTrades } = await dataOf(
    app,
    `{ allDexTrades(condition: { market: "WETHDAI" }, orderBy: ID_DESC) {
      nodes { id price act lotAmt bidAmt time }
    } }`,
  );
  expect(rest.data).toHaveLength(4);
  expect(
    allDexTrades.nodes.map(({ id, price, act, lotAmt, bidAmt, time }) => ({
      id: Number(id),
      price: plain(price as string),
      volume: plain((act === "sell" ? lotAmt : bidAmt) as string),
      time: String(time).replace(/\.000000\+00:00$/, ".000Z"),
    })),
  ).toEqual(rest.data);
});

it("all interfaces return the same head time", async () => {
  const { dexHead } = await dataOf<{ dexHead: { time: string } }>(app, "{ dexHead { time } }");
  const head = Date.parse("2026-01-02T06:00:00Z");
  expect(Date.parse(dexHead.time)).toBe(head);
  const v1 = (await app.request.get("/v1/markets/")).body as { time: number };
  const v2 = (await app.request.get("/v2/prices")).body as { time: string };
  expect(v1.time).toBe(head / 1000);
  expect(v2.time).toBe("2026-01-02T06:00:00.000Z");
});
