// A client of the event stream with the methods of ccxt pro (https://docs.ccxt.com/#/ccxt.pro.manual), decimals as
// strings: a binary float would lose digits.
//
// `watchTrades` and its relatives resolve with the next change. What a chain reorganisation has made void is gone from
// `trades`, and from what the methods return from then on.
import { EventSource } from "eventsource";

export interface Trade {
  id: string;
  timestamp: number;
  datetime: string;
  symbol: string;
  price: string;
  amount: string;
}

export interface Ticker {
  symbol: string;
  timestamp: number;
  datetime: string;
  high: string;
  low: string;
  bid: string;
  ask: string;
  vwap: string;
  open: string;
  close: string;
  last: string;
  change: string;
  percentage: string;
  baseVolume: string;
  quoteVolume: string;
}

export type OHLCV = [
  timestamp: number,
  open: string,
  high: string,
  low: string,
  close: string,
  volume: string,
];

export interface OrderBook {
  symbol: string;
  timestamp: number;
  datetime: string;
  /** By price from the highest down, and from the lowest up. */
  bids: [price: string, amount: string][];
  asks: [price: string, amount: string][];
}

/** The records of the interface. */
interface Records {
  trades: { id: number; price: string; volume: string; time: string }[];
  summary: Record<string, string>;
  candles: Record<"time" | "open" | "high" | "low" | "close" | "vol", string>[];
  book: { whole: boolean; bids: Level[]; asks: Level[] };
}

interface Level {
  price: string;
  vol: string;
  offers: number;
}

interface Update {
  time: string;
  topics: Record<string, never>;
}

interface Retraction {
  /** The time of the last block that stands; null for none. */
  time: string | null;
  /** The id of the last trade that stands. */
  trade: number;
}

/** A state of one topic, and who waits for its next change. */
interface Watched<State> {
  state: State;
  waiting: ((state: State) => void)[];
  close: () => void;
}

/** A new stream is opened after so long, and after up to `maxMs` while it is refused again. */
export interface Retry {
  minMs: number;
  maxMs: number;
}

const RETRY: Retry = { minMs: 3000, maxMs: 60_000 };

/** How many trades and candles are kept. */
const KEPT = 1000;

export class DexMarketData {
  readonly #url: string;
  readonly #retry: Retry;
  readonly #watched = new Map<string, Watched<unknown>>();

  constructor(url: string, retry = RETRY) {
    this.#url = url;
    this.#retry = retry;
  }

  close(): void {
    for (const { close } of this.#watched.values()) close();
    this.#watched.clear();
  }

  /** The last trades that stand, oldest first. */
  trades(symbol: string): Trade[] {
    const watched = this.#watched.get(`trades:${symbol}`) as Watched<Kept<Trade>> | undefined;
    return watched?.state.all ?? [];
  }

  /** The new trades of the next block that has some. */
  async watchTrades(symbol: string): Promise<Trade[]> {
    const topic = `trades:${symbol}`;
    const { fresh } = await this.#next<Kept<Trade>, Records["trades"]>(topic, {
      begin: { all: [], fresh: [] },
      apply({ all }, records) {
        const fresh = records.map(({ id, price, volume, time }) => ({
          ...{ id: String(id), timestamp: Date.parse(time), datetime: time },
          ...{ symbol, price, amount: volume },
        }));
        return { all: [...all, ...fresh].slice(-KEPT), fresh };
      },
      retract: ({ all }, { trade }) => ({
        all: all.filter(({ id }) => Number(id) <= trade),
        fresh: [],
      }),
    });
    return fresh;
  }

  async watchTicker(symbol: string): Promise<Ticker> {
    return this.#next<Ticker, Records["summary"]>(`summary:${symbol}`, {
      begin: {} as Ticker,
      apply: (_before, record, time) => ({
        ...{ symbol, timestamp: Date.parse(time), datetime: time },
        ...(record as unknown as Ticker),
        ...{ close: record["last"] ?? "0", percentage: record["percent"] ?? "0" },
        ...{ baseVolume: record["vol"] ?? "0", quoteVolume: record["quoteVol"] ?? "0" },
      }),
      retract: (ticker) => ticker,
    });
  }

  /** The candles since the first call; the last may change still. */
  async watchOHLCV(symbol: string, timeframe = "1m"): Promise<OHLCV[]> {
    const length = millisecondsOf(timeframe);
    return this.#next<OHLCV[], Records["candles"]>(`candles:${symbol}:${timeframe}`, {
      begin: [],
      apply(before, records) {
        const candles = new Map(before.map((candle) => [candle[0], candle]));
        for (const { time, open, high, low, close, vol } of records) {
          const start = Date.parse(time);
          candles.set(start, [start, open, high, low, close, vol]);
        }
        return [...candles.values()].sort(([one], [other]) => one - other).slice(-KEPT);
      },
      retract: (candles, { time }) =>
        candles.filter(([start]) => time !== null && start + length <= Date.parse(time)),
    });
  }

  async watchOrderBook(symbol: string, limit = 50): Promise<OrderBook> {
    return this.#next<OrderBook, Records["book"]>(`book:${symbol}:${limit}`, {
      begin: { symbol, timestamp: 0, datetime: "", bids: [], asks: [] },
      apply: (before, { whole, bids, asks }, time) => ({
        ...{ symbol, timestamp: Date.parse(time), datetime: time },
        bids: sideOf(whole ? [] : before.bids, bids, -1),
        asks: sideOf(whole ? [] : before.asks, asks, 1),
      }),
      retract: (book) => book,
    });
  }

  /** The state after the next change of a topic. */
  #next<State, Data>(topic: string, kind: Kind<State, Data>): Promise<State> {
    const watched = this.#watched.get(topic) ?? this.#watch(topic, kind as Kind<unknown, unknown>);
    return new Promise((resolve) => {
      watched.waiting.push(resolve as (state: unknown) => void);
    });
  }

  #watch(topic: string, { begin, apply, retract }: Kind<unknown, unknown>): Watched<unknown> {
    const watched: Watched<unknown> = { state: begin, waiting: [], close: () => undefined };
    this.#watched.set(topic, watched);
    const follower: Follower = {
      update({ topics, time }) {
        if (!(topic in topics)) return;
        watched.state = apply(watched.state, topics[topic], time);
        for (const resolve of watched.waiting.splice(0)) resolve(watched.state);
      },
      retract: (retraction) => (watched.state = retract(watched.state, retraction)),
      reset: () => (watched.state = begin),
    };
    watched.close = follow(`${this.#url}/v2/stream`, topic, follower, this.#retry);
    return watched;
  }
}

interface Follower {
  update: (update: Update) => void;
  retract: (retraction: Retraction) => void;
  reset: () => void;
}

/** Follows a topic for ever. Returns the function that ends it. */
function follow(
  url: string,
  topic: string,
  follower: Follower,
  { minMs, maxMs }: Retry,
): () => void {
  const asked = new URLSearchParams({ topics: topic });
  let retryMs = minMs;
  let retry: NodeJS.Timeout | undefined;
  let source: EventSource;

  const open = (): void => {
    source = new EventSource(`${url}?${asked.toString()}`);
    const on = (kind: keyof Follower, apply: (data: never) => void): void => {
      source.addEventListener(kind, ({ data, lastEventId }) => {
        // For a new stream; this one sends the id by itself when its connection is lost.
        if (lastEventId !== "") asked.set("from", lastEventId);
        apply(JSON.parse(data as string) as never);
      });
    };
    on("update", follower.update);
    on("retract", follower.retract);
    on("reset", follower.reset);
    source.addEventListener("open", () => (retryMs = minMs));
    source.addEventListener("error", () => {
      // It reconnects when a connection is lost, but gives up for ever after another status than 200.
      if (source.readyState !== EventSource.CLOSED) return;
      retry = setTimeout(open, retryMs * (0.5 + Math.random() / 2));
      retryMs = Math.min(2 * retryMs, maxMs);
    });
  };
  open();
  return () => {
    clearTimeout(retry);
    source.close();
  };
}

interface Kept<Item> {
  all: Item[];
  fresh: Item[];
}

interface Kind<State, Data> {
  begin: State;
  apply: (before: State, data: Data, time: string) => State;
  retract: (before: State, retraction: Retraction) => State;
}

const MILLISECONDS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

const millisecondsOf = (timeframe: string): number =>
  Number.parseInt(timeframe) * (MILLISECONDS[timeframe.at(-1) ?? ""] ?? 0);

/** One side with the levels that have changed; those without an amount are gone. */
function sideOf(before: OrderBook["bids"], changed: Level[], direction: 1 | -1): OrderBook["bids"] {
  const levels = new Map(before);
  for (const { price, vol, offers } of changed) {
    if (offers === 0 && vol === "0") levels.delete(price);
    else levels.set(price, vol);
  }
  return [...levels].sort(([one], [other]) => direction * compareDecimals(one, other));
}

/** Of decimals without a sign, exactly. */
function compareDecimals(one: string, other: string): number {
  const [whole = "", fraction = ""] = one.split(".");
  const [otherWhole = "", otherFraction = ""] = other.split(".");
  if (whole.length !== otherWhole.length) return whole.length - otherWhole.length;
  const digits = `${whole}.${fraction}`;
  const otherDigits = `${otherWhole}.${otherFraction}`;
  return digits < otherDigits ? -1 : Number(digits > otherDigits);
}
