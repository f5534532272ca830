// Our answers hold what ccxt's unified structures are made of: each maps to one, and back, without loss.
//
// The structures are those of its manual (https://docs.ccxt.com/#/README, "Ticker structure", "Trade
// structure", "OHLCV structure", "Order book structure"), with ccxt's own option of numbers as strings
// (`exchange.number = String`), as floats would lose digits.
import { fillExchange } from "./exchange.ts";
import { serveDatabase } from "../served.ts";

interface Ticker {
  symbol: string;
  timestamp: number;
  datetime: string;
  high: string;
  low: string;
  bid: string;
  bidVolume: string | undefined;
  ask: string;
  askVolume: string | undefined;
  vwap: string;
  open: string;
  close: string;
  last: string;
  change: string;
  percentage: string;
  baseVolume: string;
  quoteVolume: string;
  info: object;
}

interface Trade {
  id: string;
  timestamp: number;
  datetime: string;
  symbol: string;
  price: string;
  amount: string;
  info: object;
}

type OHLCV = [
  timestamp: number,
  open: string,
  high: string,
  low: string,
  close: string,
  volume: string,
];

interface OrderBook {
  symbol: string;
  timestamp: number;
  datetime: string;
  bids: [price: string, amount: string][];
  asks: [price: string, amount: string][];
}

type Fields = Record<string, string>;
interface Level {
  price: string;
  vol: string;
}

/** The `data` of our answers. */
interface Answers {
  summary: Fields;
  trades: { id: number; price: string; volume: string; time: string }[];
  candles: Fields[];
  book: { bids: Level[]; asks: Level[] };
}

interface Answered<Kind extends keyof Answers> {
  data: Answers[Kind];
  time: string;
}

const { app, database } = serveDatabase();
beforeAll(async () => {
  await fillExchange(database.writer);
});

async function answer<Kind extends keyof Answers>(kind: Kind, query = ""): Promise<Answered<Kind>> {
  const { body } = await app.request.get(`/v2/${kind}/weth/dai${query}`).expect(200);
  return body as Answered<Kind>;
}

const symbol = "WETH/DAI";

it("the summary is a ticker", async () => {
  const { data: summary, time } = await answer("summary");
  const book = await answer("book", "?depth=1");

  const ticker: Ticker = {
    symbol: summary["pair"]!,
    timestamp: Date.parse(time),
    datetime: time,
    high: summary["high"]!,
    low: summary["low"]!,
    bid: summary["bid"]!,
    bidVolume: book.data.bids[0]?.vol,
    ask: summary["ask"]!,
    askVolume: book.data.asks[0]?.vol,
    vwap: summary["vwap"]!,
    open: summary["open"]!,
    close: summary["last"]!,
    last: summary["last"]!,
    change: summary["change"]!,
    percentage: summary["percent"]!,
    baseVolume: summary["vol"]!,
    quoteVolume: summary["quoteVol"]!,
    info: summary,
  };

  expect(ticker).toEqual({
    symbol,
    timestamp: 1_767_312_000_000,
    datetime: "2026-01-02T00:00:00.000Z",
    ...{ high: "150", low: "100", bid: "120", bidVolume: "10", ask: "130", askVolume: "10" },
    ...{ vwap: "127.5", open: "0", close: "125", last: "125", change: "0", percentage: "0" },
    ...{ baseVolume: "8", quoteVolume: "1020" },
    info: summary,
  });
});

it("a trade is a trade", async () => {
  const { data } = await answer("trades", "?limit=1");

  const trades = data.map((row): Trade => ({
    id: String(row.id),
    timestamp: Date.parse(row.time),
    datetime: row.time,
    symbol,
    price: row.price,
    amount: row.volume,
    info: row,
  }));

  expect(trades).toEqual([
    {
      id: "50",
      timestamp: 1_767_310_200_000,
      datetime: "2026-01-01T23:30:00.000Z",
      ...{ symbol, price: "125", amount: "4" },
      info: data[0],
    },
  ]);
});

it("candles are OHLCV, oldest first, and a page goes on from since", async () => {
  const ohlcv = async (since: number, limit: number): Promise<OHLCV[]> => {
    const from = new Date(since).toISOString();
    const { data } = await answer("candles", `?interval=4h&from=${from}&limit=${limit}`);
    return data.map(({ time, open, high, low, close, vol }) => [
      Date.parse(time!),
      ...([open!, high!, low!, close!, vol!] as const),
    ]);
  };

  // The trades of hours 1, 13, 19 and 23.5; 1,767,225,600 is genesis.
  const first = await ohlcv(1_767_225_600_000, 2);
  expect(first).toEqual([
    [1_767_225_600_000, "100", "100", "100", "100", "1"],
    [1_767_268_800_000, "150", "150", "150", "150", "2"],
  ]);
  expect(await ohlcv(first.at(-1)![0] + 4 * 3_600_000, 2)).toEqual([
    [1_767_283_200_000, "120", "120", "120", "120", "1"],
    [1_767_297_600_000, "125", "125", "125", "125", "4"],
  ]);
});

it("the book is an order book", async () => {
  const { data, time } = await answer("book");
  const side = (levels: Level[]): [string, string][] =>
    levels.map(({ price, vol }) => [price, vol]);

  const book: OrderBook = {
    symbol,
    timestamp: Date.parse(time),
    datetime: time,
    bids: side(data.bids),
    asks: side(data.asks),
  };

  expect(book).toEqual({
    symbol,
    timestamp: 1_767_312_000_000,
    datetime: "2026-01-02T00:00:00.000Z",
    bids: [
      ["120", "10"],
      ["110", "10"],
    ],
    asks: [
      ["130", "10"],
      ["140", "10"],
    ],
  });
});
