// Computes every market figure from rows as in the loader's files, with integers of 10^-18 and without
// SQL. Tests compare the views with it.

export type Row = Record<string, string>;

export interface Recording {
  tokens: Row[];
  pairs: Row[];
  offers: Row[];
  trades: Row[];
  /** What pools add to the best prices. */
  pools?: readonly PoolPrice[];
}

/** A pool's best prices, in units of 10^-18 of the quote token, by the symbols of a pair. */
export interface PoolPrice {
  base: string;
  quote: string;
  bid: bigint;
  ask: bigint;
}

/** The time of the figures: that of the head, or a clock's without a head. */
export interface Moment {
  block?: number;
  time: number;
}

/** The columns of dex_market, dex_price, dex_volume and dex_summary for one pair. */
export interface Figures {
  pair: string;
  base: string;
  quote: string;
  active: boolean;
  price: string | null;
  last: string | null;
  vol: string | null;
  ask: string | null;
  bid: string | null;
  low: string | null;
  high: string | null;
  vwap24h: string | null;
  vwap12h: string | null;
  vwap6h: string | null;
  vwap1h: string | null;
  last_time: Date | null;
  open: string | null;
  change: string | null;
  percent: string | null;
  vwap: string | null;
  quote_vol: string | null;
  trades: number;
  spread: string | null;
}

const ONE = 10n ** 18n;
const HOUR = 3_600_000;

/** Parses a decimal of at most 18 fractional digits to units of 10^-18. */
export function units(decimal: string): bigint {
  const [whole = "", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(18, "0"));
}

/** Formats units of 10^-18 as a decimal with 18 fractional digits. */
export function decimal(value: bigint): string {
  if (value < 0n) return `-${decimal(-value)}`;
  const digits = value.toString().padStart(19, "0");
  return `${digits.slice(0, -18)}.${digits.slice(-18)}`;
}

/** a ÷ b in units of 10^-18, rounded half away from zero; null if b is 0. */
export function quotient(a: bigint, b: bigint): bigint | null {
  if (b === 0n) return null;
  if (a < 0n) return -quotient(-a, b)!;
  const down = (a * ONE) / b;
  const rest = (a * ONE) % b;
  return rest * 2n >= b ? down + 1n : down;
}

interface Dealt {
  block: number;
  idx: number;
  time: number;
  base: bigint;
  quote: bigint;
  price: bigint | null;
}

/** The remaining amounts of an open offer. */
interface Open {
  price: bigint;
  base: bigint;
  quote: bigint;
}

/** A pair's trades up to a moment, in recorded order, and its open offers. */
interface Market {
  dealt: Dealt[];
  selling: Open[];
  buying: Open[];
}

/** The figures of every pair of the recording, sorted by `pair`. */
export function bruteForce(recording: Recording, moment: Moment): Figures[] {
  return recording.pairs
    .map((pair) => figuresOf(pair, recording, moment))
    .sort((one, other) => (one.pair < other.pair ? -1 : 1));
}

function marketOf(pair: Row, { tokens, offers, trades }: Recording, moment: Moment): Market {
  const gemOf = (symbol: string): string =>
    value(tokens.find((token) => token["symbol"] === symbol) ?? {}, "address");
  const baseGem = pair["base_gem"] ?? gemOf(value(pair, "base"));
  const quoteGem = pair["quote_gem"] ?? gemOf(value(pair, "quote"));

  const isUpToHead = (row: Row): boolean =>
    moment.block === undefined
      ? Date.parse(value(row, "time")) <= moment.time
      : Number(value(row, "block")) <= moment.block;
  const sells = (row: Row): boolean => row["lot_gem"] === baseGem && row["bid_gem"] === quoteGem;
  const buys = (row: Row): boolean => row["lot_gem"] === quoteGem && row["bid_gem"] === baseGem;

  const ordinals = new Map<string, number>();
  const dealt: Dealt[] = [];
  const ofOffers = Map.groupBy(trades, (row) => row["offer_id"]);
  for (const row of trades) {
    const block = value(row, "block");
    const ordinal = ordinals.get(block) ?? 0;
    ordinals.set(block, ordinal + 1);
    if (!isUpToHead(row) || (!sells(row) && !buys(row))) continue;
    const [lot, bid] = [units(value(row, "lot_amt")), units(value(row, "bid_amt"))];
    const [baseAmount, quoteAmount] = sells(row) ? [lot, bid] : [bid, lot];
    dealt.push({
      block: Number(block),
      idx: Number(row["idx"] ?? ordinal),
      time: Date.parse(value(row, "time")),
      base: baseAmount,
      quote: quoteAmount,
      price: quotient(quoteAmount, baseAmount),
    });
  }

  const open = (side: (row: Row) => boolean): Open[] =>
    offers
      .filter((offer) => side(offer) && isUpToHead(offer))
      .filter((offer) => offer["filled"] !== "true")
      .filter((offer) => {
        const killed = Number(offer["killed"] ?? 0);
        return killed === 0 || (moment.block !== undefined && killed > moment.block);
      })
      .map((offer) => {
        const taken = (ofOffers.get(offer["id"]) ?? []).filter(isUpToHead);
        const [lot, bid] = [units(value(offer, "lot_amt")), units(value(offer, "bid_amt"))];
        const left = lot - sum(taken.map((row) => units(value(row, "lot_amt"))));
        // The same share of the bid: left × bid ÷ lot.
        const ofBid = lot === 0n ? 0n : quotient(left * bid, lot * ONE)!;
        const [base, quote] = side === sells ? [left, ofBid] : [ofBid, left];
        const price = side === sells ? quotient(bid, lot) : quotient(lot, bid);
        return { left, price, base, quote };
      })
      .filter(({ left }) => left > 0n)
      .flatMap(({ price, base, quote }) => (price === null ? [] : [{ price, base, quote }]));

  return { dealt, selling: open(sells), buying: open(buys) };
}

function figuresOf(pair: Row, recording: Recording, moment: Moment): Figures {
  const base = value(pair, "base");
  const quote = value(pair, "quote");
  const { dealt, selling, buying } = marketOf(pair, recording, moment);

  const window = (hours: number): Dealt[] =>
    dealt.filter((trade) => trade.time > moment.time - hours * HOUR && trade.time <= moment.time);
  const vwap = (hours: number): bigint | null => {
    const inside = window(hours);
    return quotient(
      sum(inside.map((trade) => trade.quote)),
      sum(inside.map((trade) => trade.base)),
    );
  };

  const day = window(24);
  const prices = day.map((trade) => trade.price).filter((price) => price !== null);
  const priced = dealt.filter((trade) => trade.price !== null);
  const newest = priced.toSorted(byBlock).at(-1);
  const opening = priced
    .filter((trade) => trade.time <= moment.time - 24 * HOUR)
    .sort(byTime)
    .at(-1);
  const [last, open] = [newest?.price ?? null, opening?.price ?? null];
  const change = difference(last, open);
  const pools = (recording.pools ?? []).filter(
    (pool) => pool.base === base && pool.quote === quote,
  );
  const ask = least([...selling.map(({ price }) => price), ...pools.map((pool) => pool.ask)]);
  const bid = greatest([...buying.map(({ price }) => price), ...pools.map((pool) => pool.bid)]);

  return {
    pair: `${base}/${quote}`,
    base,
    quote,
    active: pair["active"] !== "false",
    price: text(vwap(6)),
    last: text(last),
    vol: day.length === 0 ? null : text(sum(day.map((trade) => trade.base))),
    ask: text(ask),
    bid: text(bid),
    low: text(least(prices)),
    high: text(greatest(prices)),
    vwap24h: text(vwap(24)),
    vwap12h: text(vwap(12)),
    vwap6h: text(vwap(6)),
    vwap1h: text(vwap(1)),
    last_time: newest === undefined ? null : new Date(newest.time),
    open: text(open),
    change: text(change),
    percent: text(change === null || open === null ? null : quotient(change * 100n, open)),
    vwap: text(vwap(24)),
    quote_vol: day.length === 0 ? null : text(sum(day.map((trade) => trade.quote))),
    trades: day.length,
    spread: text(difference(ask, bid)),
  };
}

/** A level of dex_book. */
export interface Level {
  act: "buy" | "sell";
  price: string;
  vol: string;
  quote_vol: string;
  offers: number;
}

/** The book of a pair: `depth` levels of bids from the highest down, and of asks from the lowest up. */
export function bookOf(pair: Row, recording: Recording, moment: Moment, depth: number): Level[] {
  const { selling, buying } = marketOf(pair, recording, moment);
  const levels = (act: Level["act"], offers: Open[]): Level[] => {
    const prices = [...new Set(offers.map(({ price }) => price))].sort(ascending);
    const best = (act === "buy" ? prices.reverse() : prices).slice(0, depth);
    return best.map((price) => {
      const atPrice = offers.filter((offer) => offer.price === price);
      return {
        act,
        price: decimal(price),
        vol: decimal(sum(atPrice.map((offer) => offer.base))),
        quote_vol: decimal(sum(atPrice.map((offer) => offer.quote))),
        offers: atPrice.length,
      };
    });
  };
  return [...levels("buy", buying), ...levels("sell", selling)];
}

/** A candle of dex_candles. */
export interface Candle {
  time: Date;
  open: string;
  high: string;
  low: string;
  close: string;
  vol: string;
  quote_vol: string;
  trades: number;
  complete: boolean;
}

/** The arguments of dex_candles; times in milliseconds. */
export interface CandlesAsked {
  minutes: number;
  from: number | null;
  to: number | null;
  limit: number;
  empty: "omit" | "flat";
}

/** The candles of a pair: loops over every interval from the first trade to the moment. */
export function candlesOf(
  pair: Row,
  recording: Recording,
  moment: Moment,
  { minutes, from, to, limit, empty }: CandlesAsked,
): Candle[] {
  const span = minutes * 60_000;
  const priced = marketOf(pair, recording, moment)
    .dealt.filter((trade) => trade.price !== null && trade.time <= moment.time)
    .sort(byTime);
  const isAsked = (time: number): boolean => time >= (from ?? -Infinity) && time < (to ?? Infinity);
  // Made when the others are left out: a flat candle for each minute of a day is many digits.
  const candles: (() => Candle)[] = [];
  const [first] = priced;
  if (first === undefined) return [];
  let before = 0n;
  for (let time = Math.floor(first.time / span) * span; time <= moment.time; time += span) {
    const inside = priced.filter((trade) => trade.time >= time && trade.time < time + span);
    const prices = inside.map((trade) => trade.price!);
    const price = before;
    const close = prices.at(-1) ?? price;
    before = close;
    if (!isAsked(time) || (inside.length === 0 && empty !== "flat")) continue;
    candles.push(() => ({
      time: new Date(time),
      open: decimal(prices[0] ?? price),
      high: decimal(greatest(prices) ?? price),
      low: decimal(least(prices) ?? price),
      close: decimal(close),
      vol: decimal(sum(inside.map((trade) => trade.base))),
      quote_vol: decimal(sum(inside.map((trade) => trade.quote))),
      trades: inside.length,
      complete: time + span <= moment.time,
    }));
  }
  const answered = from === null ? candles.slice(-limit) : candles.slice(0, limit);
  return answered.map((make) => make());
}

function value(row: Row, column: string): string {
  const found = row[column];
  if (found === undefined) throw new Error(`a row has no ${column}: ${JSON.stringify(row)}`);
  return found;
}

const sum = (values: bigint[]): bigint => values.reduce((total, one) => total + one, 0n);
const least = (values: bigint[]): bigint | null =>
  values.reduce<bigint | null>((kept, one) => (kept === null || one < kept ? one : kept), null);
const greatest = (values: bigint[]): bigint | null =>
  values.reduce<bigint | null>((kept, one) => (kept === null || one > kept ? one : kept), null);
const ascending = (one: bigint, other: bigint): number => (one < other ? -1 : Number(one > other));
const difference = (one: bigint | null, other: bigint | null): bigint | null =>
  one === null || other === null ? null : one - other;
/** Chain order, oldest first. */
const byBlock = (one: Dealt, other: Dealt): number =>
  one.block - other.block || one.idx - other.idx;
/** By time, ties in chain order. */
const byTime = (one: Dealt, other: Dealt): number => one.time - other.time || byBlock(one, other);
const text = (value: bigint | null): string | null => (value === null ? null : decimal(value));
