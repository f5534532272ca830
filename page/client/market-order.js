// The order of markets by each column of their list, and those of a name, for the browser and for the server.
import { compare } from "./decimal.js";

/**
 * @typedef {import("./market-copy.js").Summary} Summary
 * @typedef {{ base: string, quote: string, active: boolean }} Pair
 * @typedef {{ volumeInUsd: string | null, through: string | null }} Dollars
 * @typedef {{ key: string, pair: Pair, summary: Summary, dollars?: Dollars | undefined }} Market
 * @typedef {{
 *   id: string,
 *   title: string,
 *   only?: string,
 *   exists: (market: Market) => boolean,
 *   order: (one: Market, other: Market) => number,
 * }} Column
 */

/** Whether the price can have changed in percent: there is one of 24 hours ago, and a trade since. @param {Summary} summary */
export const hasPercent = ({ open, trades }) => open !== "0" && trades > 0;

/** From a price that rounds to 0 there is a change, but no percent. @param {Summary} summary */
export const hasChange = (summary) =>
  hasPercent(summary) || (summary.trades > 0 && summary.change !== "0");

/**
 * Whether both sides have an offer: where one has none, REST gives a spread of "0". A price that rounds to 0 is "0" too.
 * @param {Summary} summary
 */
export const hasSpread = ({ bid, ask, spread }) => (bid !== "0" && ask !== "0") || spread !== "0";

/**
 * Whether there is such a price: one of so little quote that it rounds to 0 is "0" too, as REST gives what does not exist.
 * @param {Summary} summary
 * @param {"last" | "high" | "low" | "vwap" | "bid" | "ask"} id
 */
export function hasPrice(summary, id) {
  if (summary[id] !== "0") return true;
  if (id === "bid" || id === "ask") return hasSpread(summary);
  return id === "last" ? summary.lastTime !== null : summary.vol !== "0";
}

/** @param {"last" | "high" | "low"} id @param {string} title */
const priceColumn = (id, title) => ({
  id,
  title,
  only: id === "last" ? "" : "wide range",
  /** @param {Market} market */
  exists: ({ summary }) => hasPrice(summary, id),
  /** @param {Market} one @param {Market} other */
  order: (one, other) => compare(one.summary[id], other.summary[id]),
});

/** @type {Column} */
export const BY_NAME = {
  id: "market",
  title: "Market",
  exists: () => true,
  order: (one, other) => (one.key < other.key ? -1 : 1),
};

/** @type {Column} */
export const BY_VOLUME = {
  id: "volume",
  title: "Volume",
  // That of 24 hours without a trade is 0. A market that was never traded comes last.
  exists: ({ summary: { trades, lastTime } }) => trades > 0 || lastTime !== null,
  order: (one, other) => compare(one.summary.quoteVol, other.summary.quoteVol),
};

/** @type {Column} */
export const BY_DOLLARS = {
  id: "dollars",
  title: "Volume $",
  exists: ({ dollars }) => dollars?.volumeInUsd != null,
  order: (one, other) =>
    compare(one.dollars?.volumeInUsd ?? "0", other.dollars?.volumeInUsd ?? "0"),
};

/** @type {Column} */
export const BY_CHANGE = {
  id: "percent",
  title: "Change",
  exists: ({ summary }) => hasPercent(summary),
  order: (one, other) => compare(one.summary.percent, other.summary.percent),
};

/**
 * Those of class `wide` are left out on a phone, and of `range` on a tablet too.
 * @param {boolean} hasDollars Whether the operator names tokens that are worth a dollar.
 * @returns {readonly Column[]}
 */
export const columnsWith = (hasDollars) => [
  BY_NAME,
  LAST,
  BY_CHANGE,
  ...(hasDollars ? [BY_DOLLARS, { ...BY_VOLUME, only: "wide" }] : [BY_VOLUME]),
  ...OTHERS,
];

/** The order at first. @param {boolean} hasDollars */
export const firstOrder = (hasDollars) => (hasDollars ? BY_DOLLARS : BY_VOLUME);

/** @type {Column} */
const LAST = priceColumn("last", "Last");

/** @type {readonly Column[]} */
const OTHERS = [
  priceColumn("high", "High"),
  priceColumn("low", "Low"),
  {
    id: "age",
    title: "Last trade",
    only: "wide",
    exists: ({ summary }) => summary.lastTime !== null,
    // The newest is the greatest.
    order: (one, other) => ((one.summary.lastTime ?? "") < (other.summary.lastTime ?? "") ? -1 : 1),
  },
];

/**
 * What does not exist comes last in both directions, behind it the markets never traded, and equals are in the order of
 * their names.
 * @param {Column} column
 * @param {boolean} isDescending
 * @returns {(one: Market, other: Market) => number}
 */
export const inOrder = (column, isDescending) => (one, other) => {
  const [exists, otherExists] = [column.exists(one), column.exists(other)];
  if (exists !== otherExists) return exists ? -1 : 1;
  const isTraded = one.summary.lastTime !== null;
  if (!exists && isTraded !== (other.summary.lastTime !== null)) return isTraded ? -1 : 1;
  const order = exists ? column.order(one, other) : 0;
  if (order === 0) return BY_NAME.order(one, other);
  return isDescending ? -order : order;
};

/**
 * Those whose names have each word of a text.
 * @template {{ key: string }} Named
 * @param {readonly Named[]} markets
 * @param {string} text
 */
export function marketsNamed(markets, text) {
  const words = text
    .trim()
    .toUpperCase()
    .split(/[\s/]+/);
  // PostgreSQL leaves letters as they are that have no single capital, such as ß.
  return markets.filter(({ key }) => words.every((word) => key.toUpperCase().includes(word)));
}
