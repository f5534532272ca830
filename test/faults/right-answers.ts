// What the service has to answer at a head, computed the long way from the rows of its tables.
import type { Client } from "../../db/connect.ts";
import {
  bruteForce,
  decimal,
  quotient,
  units,
  type Figures,
  type Moment,
  type Recording,
  type Row,
} from "../brute-force.ts";

/** All that was ever written, and the head when it was read. */
export interface Written {
  recording: Recording;
  head: { block: number; time: number };
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
  const { rows } = await client.query<{ block: number; time: Date }>(
    "select block, time from dex_head",
  );
  await client.query("commit");
  const [head] = rows;
  if (head === undefined) throw new Error("no head is declared");
  return { recording, head: { block: head.block, time: head.time.getTime() } };
}

/** A request, and the `data` or whole body of its right answer. */
export interface Case {
  path: string;
  /** A GraphQL query, for /graphql. */
  query?: string;
  right: unknown;
}

const GRAPHQL_FIGURES = `{
  dexHead { block time }
  allDexMarkets(orderBy: NATURAL) { nodes { pair price last vol ask bid low high active } }
}`.replace("(orderBy: NATURAL)", "");

const GRAPHQL_TRADES = `{
  allDexTrades(first: 50, orderBy: ID_DESC) { totalCount nodes { id offerId lotAmt bidAmt block } }
}`;

/** What REST and GraphQL are asked while faults are thrown in; `right` is the answer's whole body. */
export function casesAt({ recording, head }: Written): Case[] {
  const figures = restFigures(recording, head);
  const iso = new Date(head.time).toISOString();
  const seconds = Math.floor(head.time / 1000);
  const v1 = (data: unknown): object => ({ data, time: seconds, message: "success" });
  const v2 = (data: unknown): object => ({ data, time: iso, message: "success" });
  const { markets, prices, volumes, summaries, active } = figures;
  const newest = recording.trades.slice(-50).reverse();
  return [
    { path: "/v1/markets/", right: v1(active) },
    { path: "/v1/markets/weth/dai", right: v1(markets["WETH/DAI"]) },
    { path: "/v1/prices/", right: v1(prices) },
    { path: "/v1/prices/mkr/weth", right: v1(prices["MKR/WETH"]) },
    { path: "/v1/volumes/dai/usdc", right: v1(volumes["DAI/USDC"]) },
    { path: "/v2/prices", right: v2(prices) },
    { path: "/v2/volumes", right: v2(volumes) },
    { path: "/v2/volumes/weth/usdc", right: v2(volumes["WETH/USDC"]) },
    { path: "/v2/summary", right: v2(summaries) },
    { path: "/v2/trades/weth/dai?limit=40", right: v2(tradesOf(recording, head, "WETH/DAI", 40)) },
    { path: "/v2/trades/dai/usdc", right: v2(tradesOf(recording, head, "DAI/USDC", 100)) },
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
      query: GRAPHQL_FIGURES,
      right: {
        data: {
          dexHead: { block: head.block, time: iso.replace("Z", "000+00:00") },
          allDexMarkets: { nodes: bruteForce(recording, head).map(graphqlMarket) },
        },
      },
    },
  ];
}

type Named<T> = Record<string, T>;

/** The `data` of REST's lists at a moment. */
export const restFigures = (recording: Recording, moment: Moment): RestFigures =>
  restFiguresOf(bruteForce(recording, moment));

export interface RestFigures {
  markets: Named<object>;
  active: Named<object>;
  prices: Named<object>;
  volumes: Named<object>;
  summaries: Named<object>;
}

/** Figures as REST lists them. */
export function restFiguresOf(all: Figures[]): RestFigures {
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
export function tradesOf(
  { tokens, trades }: Recording,
  moment: { block: number },
  pair: string,
  limit: number,
): object[] {
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

/** A figure as REST prints it: without trailing zeros, and "0" where there is none. */
function rest(figure: string | null): string {
  if (figure === null) return "0";
  return figure.replace(/\.?0+$/, "");
}
