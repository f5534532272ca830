// Numbers, times and names: shortened for the eye, whole on hover and when copied.
import { Component, h } from "preact";
import { compact, placesOf, shortened, shortPercent } from "./decimal.js";
import { html } from "./html.js";
import { hasPercent, hasPrice, hasSpread } from "./market-order.js";
import { clock, dayAndClock } from "./times.js";

const SETTLED_MS = 1500;

/** An element that the style marks, if it was made after the page had settled. */
class Marked extends Component {
  isFresh = performance.now() - drawnSince > SETTLED_MS;

  /** @param {{ tag: string, class?: string, children: import("preact").ComponentChildren }} props */
  render({ tag, class: others = "", children, ...props }) {
    return h(tag, { ...props, class: `${others} ${this.isFresh ? "changed" : ""}` }, children);
  }
}

let drawnSince = Infinity;

/** What is made some time after this has changed. */
export function beginToMark() {
  drawnSince = performance.now();
}

/** The key makes a new element of each new value. @param {string} value @param {string} text */
const marked = (value, text, title = value, direction = "") =>
  html`<${Marked} tag="data" key=${value} value=${value} title=${title} class=${direction}
    >${text}<//
  >`;

/** @param {number} id @param {unknown} cells */
export const tradeRow = (id, cells) =>
  html`<${Marked} tag="tr" key=${id} data-id=${id} class="trade">${cells}<//>`;

/** @param {string} value @param {number} [places] As in `shortened`. */
export const amount = (value, places) => marked(value, shortened(value, places));

/** A number that changes as the reader moves. @param {string} value @param {number} [places] As in `shortened`. */
export const unmarked = (value, places) =>
  html`<data value=${value} title=${value}>${shortened(value, places)}</data>`;

/** What does not exist, for which REST gives "0". @param {string} why */
export const absent = (why) => marked("0", "–", why);

/**
 * An amount as short as it can be compared, with its token.
 * @param {string} value
 * @param {string} token
 */
export const volume = (value, token) => html`${marked(value, compact(value))} ${symbol(token)}`;

/**
 * Dollars, and where a price of another market makes them, which one.
 * @param {{ volumeInUsd: string | null, through: string | null } | undefined} valued
 */
export function dollars(valued) {
  const { volumeInUsd: value, through } = valued ?? { volumeInUsd: null, through: null };
  if (value === null) return absent("no price in dollars, or no trade in 24 hours");
  if (through === null) return marked(value, `$${compact(value)}`);
  const title = `${value}, at the last price of ${through}`;
  return [
    html`<small class="wide">via ${symbol(through)}</small>`,
    " ",
    marked(value, `$${compact(value)}`, title),
  ];
}

/**
 * REST gives "0" for a price that does not exist. Each other has about six digits, also where the last are 0.
 * @param {string} value
 * @param {number} [places]
 */
export const price = (value, places = placesOf(value), exists = value !== "0") => {
  if (!exists) return absent("none");
  return value === "0" ? amount("0") : amount(value, places);
};

/** @param {Summary} summary @param {"last" | "high" | "low" | "vwap" | "bid" | "ask"} id */
export const priceOf = (summary, id) => price(summary[id], undefined, hasPrice(summary, id));

/** @param {Summary} summary */
export const spreadOf = (summary) => price(summary.spread, undefined, hasSpread(summary));

/**
 * With its sign, so that the color says nothing more.
 * @param {string} value
 * @param {string} [unit]
 */
export function change(value, unit = "") {
  const direction = value === "0" ? "" : value.startsWith("-") ? "down" : "up";
  const sign = direction === "up" ? "+" : "";
  const text = unit === PERCENT ? shortPercent(value) : shortened(value);
  return marked(value, `${sign}${text}${unit}`, `${value}${unit}`, direction);
}

const PERCENT = " %";

/** @typedef {import("./market-copy.js").Summary} Summary */

/** @param {Summary} summary */
export const percentChange = (summary) =>
  hasPercent(summary)
    ? change(summary.percent, PERCENT)
    : absent(summary.open === "0" ? "no price 24 hours ago" : "no trade in 24 hours");

/**
 * @param {string} iso
 * @param {boolean} [whole] With the day.
 */
export function moment(iso, whole = false) {
  const ms = Date.parse(iso);
  return html`<time datetime=${iso} title=${iso}>${whole ? dayAndClock(ms) : clock(ms)}</time>`;
}

/** It can be written from right to left, and be cut where it is long. @param {string} text */
export const symbol = (text) => html`<bdi title=${text}>${text}</bdi>`;

/** @param {{ base: string, quote: string }} pair */
export const name = ({ base, quote }) => html`${symbol(base)}/${symbol(quote)}`;

/** @param {{ base: string, quote: string }} pair */
export const segments = ({ base, quote }) =>
  `${encodeURIComponent(base)}/${encodeURIComponent(quote)}`;

/**
 * Browsers resolve a segment `.` or `..`, also if it is encoded.
 * @param {{ base: string, quote: string }} pair
 */
export const hasAddress = ({ base, quote }) =>
  [base, quote].every((symbol) => symbol !== "." && symbol !== "..");

/** A market without an address has no link. @param {{ base: string, quote: string }} pair */
export const marketLink = (pair) =>
  hasAddress(pair) ? html`<a href="/markets/${segments(pair)}">${name(pair)}</a>` : name(pair);
