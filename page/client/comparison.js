// The market with which the chart compares: named in the page's address, with a copy of its candles.
import { segments } from "./figures.js";
import { MarketCopy } from "./market-copy.js";
import { topicName } from "./stream.js";

const PARAMETER = "compare";

/**
 * @typedef {import("./market-copy.js").Candle} Candle
 * @typedef {{ base: string, quote: string }} Pair
 */

/** The pair that the address names. @returns {Pair | undefined} */
function askedPair() {
  const asked = new URL(location.href).searchParams.get(PARAMETER) ?? "";
  try {
    const [base, quote, ...others] = asked.split("/").map(decodeURIComponent);
    return base && quote && others.length === 0 ? { base, quote } : undefined;
  } catch {
    return undefined;
  }
}

/** The page's address with another one, or without. @param {Pair} [pair] */
export function addressComparing(pair) {
  const address = new URL(location.href);
  if (pair) address.searchParams.set(PARAMETER, segments(pair));
  else address.searchParams.delete(PARAMETER);
  return address.href;
}

export class Comparison {
  #own;
  /** Undefined without one. @type {Pair | undefined} */
  pair;
  /** The pair that the address names, and is none. @type {Pair | undefined} */
  refused;
  copy;

  /** @param {Pair} own The market of the page. @param {string} interval */
  constructor(own, interval) {
    this.#own = own;
    this.copy = new MarketCopy(interval);
    this.choose(askedPair());
  }

  /** @param {Pair | undefined} pair */
  choose(pair) {
    this.pair = pair && topicName(pair) !== topicName(this.#own) ? pair : undefined;
    this.refused = undefined;
    this.copy.reset();
  }

  /** There is no such market. */
  refuse() {
    this.refused = this.pair;
    this.pair = undefined;
  }

  /** Of the stream. */
  topics() {
    return this.pair ? [`candles:${topicName(this.pair)}:${this.copy.interval}`] : [];
  }

  /**
   * Takes its own of the topics, and returns the others.
   * @param {Record<string, unknown>} topics
   */
  take(topics) {
    const [own = ""] = this.topics();
    const { [own]: candles, ...others } = topics;
    if (candles !== undefined) this.copy.update({ [own]: candles });
    return others;
  }

  /**
   * The last of its candles up to that of a time: it need not have traded since.
   * @param {string} time
   */
  at(time) {
    return this.copy.candles.findLast((candle) => candle.time <= time);
  }
}
