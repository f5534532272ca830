// What stays on the screen of a market's page: its name, price and change, and the way to another market.
import { name, percentChange, priceOf, segments, symbol } from "./figures.js";
import { html } from "./html.js";
import { MarketPicker } from "./market-picker.js";

/** @param {import("./market-order.js").Pair} pair */
const addressOf = (pair) => `/markets/${segments(pair)}${location.search}`;

/**
 * @param {{
 *   pair: { base: string, quote: string },
 *   isActive: boolean,
 *   summary: import("./market-copy.js").Summary | undefined,
 *   isPast: boolean,
 * }} shown
 */
export const marketHeader = ({ pair, isActive, summary, isPast }) =>
  html`<header class="bar">
    <a href="/">All markets${isPast && " now"}</a>
    <h1>${name(pair)}${!isActive && html` <span class="tag">inactive</span>`}</h1>
    ${
      summary &&
      html`<p class="price">
        ${priceOf(summary, "last")} ${symbol(pair.quote)} ${percentChange(summary)}
      </p>`
    }
    <${MarketPicker} title="Other market" style="switch" byKey addressOf=${addressOf} />
  </header>`;
