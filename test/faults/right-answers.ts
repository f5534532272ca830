// What the service has to answer at a head, computed by brute force from the rows of its tables.
import type { Client } from "../../db/connect.ts";
import {
  bookOf,
  bruteForce,
  candlesOf,
  decimal,
  quotient,
  units,
  type Candle,
  type Figures,
  type Level,
  type Recording,
  type Row,
} from "../brute-force.ts";

/** All that was ever written, and the head when it was read. */
export interface Written {
  recording: Recording;
  head: Head;
  /** The blocks with rows, ascending. One in which offers were only cancelled has no other row with its time. */
  blocks: Head[];
}

/** A block, and its time in milliseconds. */
export interface Head {
  block: number;
  time: number;
}

const COLUMNS = {
  tokens: ["dex_token", "address, upper(symbol) as symbol, decimals::text", "address"],
  pairs: ["dex_pair", "base, quote, active::text", "base"],
  // What is left of an offer follows from its trades, which are all recorded.
  offers: [
    "dex_offer",
    "id::text, lot_gem, lot_amt::text, bid_gem, bid_amt::text, block::text, time::text, killed::text, 'false' as filled",
    "id",
  ],
  trades: [
    "dex_trade",
    "id::text, offer_id::text, market, taker, lot_gem, lot_amt::text, bid_gem, bid_amt::text, block::text, idx::text, time::text",
    "id",
  ],
} as const;

/** Reads everything in one snapshot. */
export async function readWritten(client: Client): Promise<Written> {
  await client.query("begin isolation level repeatable read read only");
  const rowsOf = async (name: keyof typeof COLUMNS): Promise<Row[]> => {
    const [table, columns, order] = COLUMNS[name];
    const { rows } = await client.query<Row>(
      `select ${columns} from ${table} order by ${table}.${order}`,
    );
    return rows;
  };
  const recording = {
    tokens: await rowsOf("tokens"),
    pairs: await rowsOf("pairs"),
    offers: await rowsOf("offers"),
    trades: await rowsOf("trades"),
  };
  const headsOf = async (sql: string): Promise<Head[]> => {
    const { rows } = await client.query<{ block: number; time: Date }>(sql);
    return rows.map(({ block, time }) => ({ block, time: time.getTime() }));
  };
  const [head] = await headsOf("select block, time from dex_head");
  const blocks = await headsOf(
    "select number as block, time from dex_block where has_rows order by number",
  );
  await client.query("commit");
  if (head === undefined) throw new Error("no block is written");
  return { recording, head, blocks };
}

/** A request, and the `data` or whole body of its right answer. */
export interface Case {
  path: string;
  /** A GraphQL query, for /graphql. */
  query?: string;
  right: unknown;
}

const GRAPHQL_MARKETS = `{
  dexHead { block time }
  allDexMarkets { nodes { pair price last vol ask bid low high active } }
}`;

const GRAPHQL_TRADES = `{
  allDexTrades(first: 50, orderBy: ID_DESC) { totalCount nodes { id offerId lotAmt bidAmt block } }
}`;

/** Summaries, book and candles, with the head that they are of. */
export const GRAPHQL_AT_HEAD = `{
  dexHead { block time }
  allDexSummaries(first: 50) {
    nodes {
      pair last lastTime open change percent low high vwap vol quoteVol trades bid ask spread
    }
  }
  dexBook(base: "weth", quote: "dai", depth: 5) { nodes { act price vol quoteVol offers } }
  dexCandles(base: "weth", quote: "dai", interval: "4h", limit: 20, empty: "flat") {
    nodes { time open high low close vol quoteVol trades complete }
  }
}`;

/** What REST and GraphQL are asked while faults are thrown in; `right` is the answer's whole body. */
export function casesAt({ recording, head }: Omit<Written, "blocks">): Case[] {
  const all = bruteForce(recording, head);
  const newest = recording.trades.slice(-50).reverse();
  const rest = restCases(restDataAt(recording, head, all), head);
  return [
    ...rest,
    {
      path: "/graphql",
      query: GRAPHQL_TRADES,
      right: {
        data: {
          allDexTrades: { totalCount: recording.trades.length, nodes: newest.map(graphqlTrade) },
        },
      },
    },
    {
      path: "/graphql",
      query: GRAPHQL_MARKETS,
      right: {
        data: {
          dexHead: { block: head.block, time: graphqlTime(head.time) },
          allDexMarkets: { nodes: all.map(graphqlMarket) },
        },
      },
    },
    {
      path: "/graphql",
      query: GRAPHQL_AT_HEAD,
      right: { data: graphqlAtHead(recording, head, all) },
    },
  ];
}

type Named<T> = Record<string, T>;

/** Data by path in their envelopes. */
export function restCases(data: Named<unknown>, { time }: Head): Case[] {
  const times = { v1: Math.floor(time / 1000), v2: new Date(time).toISOString() };
  return Object.entries(data).map(([path, of]) => ({
    path,
    right: { data: of, time: path.startsWith("/v1") ? times.v1 : times.v2, message: "success" },
  }));
}

/** The `data` that REST answers with by path, at a moment with these figures. */
export function restDataAt(recording: Recording, moment: Head, all: Figures[]): Named<unknown> {
  const { markets, prices, volumes, summaries, active } = restFiguresOf(all);
  const wethDai = pairOf(recording, "WETH/DAI");
  const hours = { minutes: 60, from: null, to: null, limit: 100, empty: "omit" } as const;
  const days = { ...hours, minutes: 1440, limit: 5, empty: "flat" } as const;
  return {
    "/v1/markets/": active,
    "/v1/markets/weth/dai": markets["WETH/DAI"],
    "/v1/prices/": prices,
    "/v1/prices/mkr/weth": prices["MKR/WETH"],
    "/v1/volumes/": volumes,
    "/v1/volumes/dai/usdc": volumes["DAI/USDC"],
    "/v2/prices": prices,
    "/v2/volumes": volumes,
    "/v2/volumes/weth/usdc": volumes["WETH/USDC"],
    "/v2/summary": summaries,
    "/v2/summary/weth/dai": summaries["WETH/DAI"],
    "/v2/trades/weth/dai?limit=40": tradesOf(recording, moment, "WETH/DAI", 40),
    "/v2/trades/dai/usdc": tradesOf(recording, moment, "DAI/USDC", 100),
    "/v2/book/weth/dai": restBook(bookOf(wethDai, recording, moment, 50)),
    "/v2/book/weth/dai?depth=3": restBook(bookOf(wethDai, recording, moment, 3)),
    "/v2/candles/weth/dai": candlesOf(wethDai, recording, moment, hours).map(restCandle),
    "/v2/candles/weth/dai?interval=1d&limit=5&empty=flat": candlesOf(
      wethDai,
      recording,
      moment,
      days,
    ).map(restCandle),
  };
}

/** The `data` of every REST endpoint that has figures, by path: of all markets, and of each market. */
export function allRestDataAt(recording: Recording, head: Head): Named<unknown> {
  const { markets, prices, volumes, summaries, active } = restFiguresOf(
    bruteForce(recording, head),
  );
  const pairs = restPairsOf(recording);
  const lists = {
    "/v1/markets/": active,
    "/v1/pairs/": pairs,
    "/v1/prices/": prices,
    "/v1/volumes/": volumes,
    "/v2/prices": prices,
    "/v2/volumes": volumes,
    "/v2/summary": summaries,
  };
  const each = recording.pairs.map((pair) => {
    const name = `${pair["base"]}/${pair["quote"]}`;
    const trades = tradesOf(recording, head, name, Infinity);
    const middle = trades[Math.floor(trades.length / 2)]?.id ?? 1;
    const candles = (minutes: number, empty: "omit" | "flat", limit: number) =>
      candlesOf(pair, recording, head, { minutes, from: null, to: null, limit, empty }).map(
        restCandle,
      );
    return {
      [`/v1/markets/${name}`]: markets[name],
      [`/v1/pairs/${name}`]: pairs[name],
      [`/v1/prices/${name}`]: prices[name],
      [`/v1/volumes/${name}`]: volumes[name],
      [`/v2/prices/${name}`]: prices[name],
      [`/v2/volumes/${name}`]: volumes[name],
      [`/v2/summary/${name}`]: summaries[name],
      [`/v2/trades/${name}?limit=1000`]: trades.slice(0, 1000),
      [`/v2/trades/${name}?limit=3&fromId=${middle}`]: trades
        .filter(({ id }) => id <= middle)
        .slice(0, 3),
      [`/v2/book/${name}`]: restBook(bookOf(pair, recording, head, 50)),
      [`/v2/book/${name}?depth=1`]: restBook(bookOf(pair, recording, head, 1)),
      [`/v2/candles/${name}`]: candles(60, "omit", 100),
      [`/v2/candles/${name}?interval=15m&limit=1000`]: candles(15, "omit", 1000),
      [`/v2/candles/${name}?interval=1d&limit=5&empty=flat`]: candles(1440, "flat", 5),
    };
  });
  return Object.assign({}, lists, ...each) as Named<unknown>;
}

function restPairsOf({ pairs, tokens }: Recording): Named<object> {
  const precision = (symbol?: string) =>
    tokens.find((token) => token["symbol"] === symbol)?.["decimals"];
  const inOrder = pairs.map(({ base, quote, active }): [string, object] => [
    `${base}/${quote}`,
    {
      ...{ base, quote, basePrecision: precision(base), quotePrecision: precision(quote) },
      active: active !== "false",
    },
  ]);
  return Object.fromEntries(inOrder.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The `data` of GRAPHQL_AT_HEAD at a head with these figures. */
export function graphqlAtHead(recording: Recording, head: Head, all: Figures[]): object {
  const wethDai = pairOf(recording, "WETH/DAI");
  const asked = { minutes: 240, from: null, to: null, limit: 20, empty: "flat" } as const;
  return {
    dexHead: { block: head.block, time: graphqlTime(head.time) },
    allDexSummaries: { nodes: all.map(graphqlSummary) },
    dexBook: { nodes: bookOf(wethDai, recording, head, 5).map(graphqlLevel) },
    dexCandles: { nodes: candlesOf(wethDai, recording, head, asked).map(graphqlCandle) },
  };
}

function pairOf({ pairs }: Recording, name: string): Row {
  const pair = pairs.find((row) => `${row["base"]}/${row["quote"]}` === name);
  if (pair === undefined) throw new Error(`the exchange has no pair ${name}`);
  return pair;
}

interface RestFigures {
  markets: Named<object>;
  active: Named<object>;
  prices: Named<object>;
  volumes: Named<object>;
  summaries: Named<object>;
}

/** Figures as REST lists them. */
function restFiguresOf(all: Figures[]): RestFigures {
  const by = (shape: (row: Figures) => object): Named<object> =>
    Object.fromEntries(all.map((row) => [row.pair, shape(row)]));
  const markets = by((row) => ({
    pair: row.pair,
    price: rest(row.price),
    last: rest(row.last),
    vol: rest(row.vol),
    ask: rest(row.ask),
    bid: rest(row.bid),
    low: rest(row.low),
    high: rest(row.high),
    active: row.active,
  }));
  return {
    markets,
    active: Object.fromEntries(
      all.filter((row) => row.active).map((row) => [row.pair, markets[row.pair]!]),
    ),
    prices: by((row) => ({
      "24hrvwap": rest(row.vwap24h),
      "12hrvwap": rest(row.vwap12h),
      "6hrvwap": rest(row.vwap6h),
      "1hrvwap": rest(row.vwap1h),
      last: rest(row.last),
    })),
    volumes: by((row) => ({ vol: rest(row.vol) })),
    summaries: by((row) => ({
      pair: row.pair,
      last: rest(row.last),
      lastTime: row.last_time?.toISOString() ?? null,
      open: rest(row.open),
      change: rest(row.change),
      percent: rest(row.percent),
      low: rest(row.low),
      high: rest(row.high),
      vwap: rest(row.vwap),
      vol: rest(row.vol),
      quoteVol: rest(row.quote_vol),
      trades: row.trades,
      bid: rest(row.bid),
      ask: rest(row.ask),
      spread: rest(row.spread),
    })),
  };
}

/** REST's newest trades of a pair up to the moment's block. */
function tradesOf(
  { tokens, trades }: Recording,
  moment: { block: number },
  pair: string,
  limit: number,
): { id: number; price: string; volume: string; time: string }[] {
  const [base, quote] = pair.split("/");
  const gemOf = (symbol?: string): string =>
    tokens.find((row) => row["symbol"] === symbol)?.["address"] ?? "";
  const gems = [gemOf(base), gemOf(quote)];
  return trades
    .filter((row) => Number(row["block"]) <= moment.block)
    .filter((row) => gems.includes(row["lot_gem"]!) && gems.includes(row["bid_gem"]!))
    .slice(-limit)
    .reverse()
    .map((row) => {
      const sells = row["lot_gem"] === gems[0];
      const baseAmount = units((sells ? row["lot_amt"] : row["bid_amt"])!);
      const quoteAmount = units((sells ? row["bid_amt"] : row["lot_amt"])!);
      const price = quotient(quoteAmount, baseAmount);
      return {
        id: Number(row["id"]),
        price: rest(price === null ? null : decimal(price)),
        volume: rest(decimal(baseAmount)),
        time: new Date(row["time"]!).toISOString(),
      };
    });
}

const restBook = (levels: Level[]): object => {
  const side = (act: Level["act"]): object[] =>
    levels
      .filter((level) => level.act === act)
      .map(({ price, vol, quote_vol, offers }) => ({
        price: rest(price),
        vol: rest(vol),
        quoteVol: rest(quote_vol),
        offers,
      }));
  return { bids: side("buy"), asks: side("sell") };
};

const restCandle = (candle: Candle): object => ({
  time: candle.time.toISOString(),
  open: rest(candle.open),
  high: rest(candle.high),
  low: rest(candle.low),
  close: rest(candle.close),
  vol: rest(candle.vol),
  quoteVol: rest(candle.quote_vol),
  trades: candle.trades,
  complete: candle.complete,
});

/** As GraphQL prints times, to the microsecond. */
const graphqlTime = (time: number): string =>
  new Date(time).toISOString().replace("Z", "000+00:00");

const graphqlTrade = (row: Row): object => ({
  id: row["id"],
  offerId: Number(row["offer_id"]),
  lotAmt: row["lot_amt"],
  bidAmt: row["bid_amt"],
  block: Number(row["block"]),
});

const graphqlMarket = (row: Figures): object => ({
  pair: row.pair,
  price: row.price,
  last: row.last,
  vol: row.vol,
  ask: row.ask,
  bid: row.bid,
  low: row.low,
  high: row.high,
  active: row.active,
});

const graphqlSummary = (row: Figures): object => ({
  pair: row.pair,
  last: row.last,
  lastTime: row.last_time && graphqlTime(row.last_time.getTime()),
  open: row.open,
  change: row.change,
  percent: row.percent,
  low: row.low,
  high: row.high,
  vwap: row.vwap,
  vol: row.vol,
  quoteVol: row.quote_vol,
  trades: row.trades,
  bid: row.bid,
  ask: row.ask,
  spread: row.spread,
});

const graphqlLevel = ({ act, price, vol, quote_vol, offers }: Level): object => ({
  act,
  price,
  vol,
  quoteVol: quote_vol,
  offers,
});

const graphqlCandle = (candle: Candle): object => ({
  time: graphqlTime(candle.time.getTime()),
  open: candle.open,
  high: candle.high,
  low: candle.low,
  close: candle.close,
  vol: candle.vol,
  quoteVol: candle.quote_vol,
  trades: candle.trades,
  complete: candle.complete,
});

/** A figure as REST prints it: without trailing zeros, and "0" where there is none. */
function rest(figure: string | null): string {
  if (figure === null) return "0";
  return figure.replace(/\.?0+$/, "");
}
