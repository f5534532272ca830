// A copy of one market, kept equal to the service's data by the events of its stream.

/**
 * @typedef {import("../../rest/openapi/market-data.js").components["schemas"]} Schemas
 * @typedef {Schemas["Summary"]} Summary
 * @typedef {Schemas["Trade"]} Trade
 * @typedef {Schemas["Candle"]} Candle
 * @typedef {{ price: string, vol: string, offers: number }} Level
 * @typedef {{ whole: boolean, bids: Level[], asks: Level[] }} BookChange
 */

const KEPT_TRADES = 200;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** @type {Record<string, number>} */
export const INTERVALS = {
  "1m": MINUTE_MS,
  "5m": 5 * MINUTE_MS,
  "15m": 15 * MINUTE_MS,
  "30m": 30 * MINUTE_MS,
  "1h": HOUR_MS,
  "4h": 4 * HOUR_MS,
  "1d": 24 * HOUR_MS,
};

/** The interval in the page's address; any other is an hour. */
export function askedInterval() {
  const asked = new URL(location.href).searchParams.get("interval") ?? "";
  return Object.hasOwn(INTERVALS, asked) ? asked : "1h";
}

export class MarketCopy {
  /** @type {{ block: number, time: string } | undefined} */
  head;
  /** @type {Summary | undefined} */
  summary;
  /** Newest first. @type {Trade[]} */
  trades = [];
  /** By price. @type {Map<string, Level>} */
  bids = new Map();
  /** @type {Map<string, Level>} */
  asks = new Map();
  interval;
  /** Whether the trades of before the stream have been read. */
  isRead = false;
  /** Grows where what REST has sent before may be void. */
  generation = 0;
  /** Grows with each change of the candles. */
  candleChanges = 0;
  /** Grows with each change of the book. */
  bookChanges = 0;
  /** Oldest first. @type {Candle[]} */
  #candles = [];
  /** The candles that the stream has sent: they are newer than REST's. @type {Set<string>} */
  #fromStream = new Set();

  /** @param {string} interval */
  constructor(interval) {
    this.interval = interval;
  }

  get candles() {
    return this.#candles;
  }

  /** What stands in place of trades and candles while there are none. */
  get nothing() {
    if (this.summary?.lastTime) return "What was traded is being read.";
    if (this.hasUnpriced) return "There are trades, none with a price.";
    return this.isRead ? "No trade yet." : "What was traded is being read.";
  }

  /** Trades without base, or of so little that it is 0, have no price: no candle is of them. */
  get hasUnpriced() {
    return this.summary?.lastTime === null && this.trades.length > 0;
  }

  /** @param {Record<string, unknown>} topics */
  update(topics) {
    for (const [topic, data] of Object.entries(topics)) {
      const [kind] = topic.split(":");
      if (kind === "head") this.head = /** @type {typeof this.head} */ (data ?? undefined);
      else if (kind === "summary") this.summary = /** @type {Summary} */ (data);
      else if (kind === "trades") this.addTrades(/** @type {Trade[]} */ (data));
      else if (kind === "book") this.#changeBook(/** @type {BookChange} */ (data));
      else if (kind === "candles") this.#receive(/** @type {Candle[]} */ (data));
    }
  }

  /** @param {{ time: string | null, trade: number }} retraction */
  retract({ time, trade }) {
    this.generation += 1;
    this.trades = this.trades.filter(({ id }) => id <= trade);
    const until = time === null ? -Infinity : Date.parse(time);
    const length = INTERVALS[this.interval] ?? 0;
    this.#setCandles(this.#candles.filter(({ time }) => Date.parse(time) + length <= until));
    this.#fromStream = new Set(
      this.#candles.map(({ time }) => time).filter((t) => this.#fromStream.has(t)),
    );
  }

  /** Drops everything. */
  reset() {
    this.trades = [];
    this.isRead = false;
    this.bids.clear();
    this.asks.clear();
    this.bookChanges += 1;
    this.setInterval(this.interval);
  }

  /** Drops the candles. @param {string} interval */
  setInterval(interval) {
    this.generation += 1;
    this.interval = interval;
    this.#fromStream.clear();
    this.#setCandles([]);
  }

  /** @param {readonly Trade[]} trades */
  addTrades(trades) {
    const byId = new Map([...this.trades, ...trades].map((trade) => [trade.id, trade]));
    this.trades = [...byId.values()].sort((one, other) => other.id - one.id).slice(0, KEPT_TRADES);
  }

  /** Adds what REST has sent. @param {readonly Candle[]} candles */
  addCandles(candles) {
    this.#merge(candles.filter(({ time }) => !this.#fromStream.has(time)));
  }

  /** @param {readonly Candle[]} candles */
  #receive(candles) {
    for (const { time } of candles) this.#fromStream.add(time);
    this.#merge(candles);
  }

  /** @param {readonly Candle[]} candles */
  #merge(candles) {
    const byTime = new Map([...this.#candles, ...candles].map((candle) => [candle.time, candle]));
    this.#setCandles([...byTime.values()].sort((one, other) => (one.time < other.time ? -1 : 1)));
  }

  /** @param {Candle[]} candles */
  #setCandles(candles) {
    this.#candles = candles;
    this.candleChanges += 1;
  }

  /** @param {BookChange} change */
  #changeBook({ whole, bids, asks }) {
    if (whole) {
      this.bids.clear();
      this.asks.clear();
    }
    changeSide(this.bids, bids);
    changeSide(this.asks, asks);
    this.bookChanges += 1;
  }
}

/**
 * @param {Map<string, Level>} side
 * @param {readonly Level[]} levels
 */
function changeSide(side, levels) {
  for (const level of levels) {
    // A level of pools has no offers.
    if (level.offers === 0 && level.vol === "0") side.delete(level.price);
    else side.set(level.price, level);
  }
}
