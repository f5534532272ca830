// The summary and the trades of a market, as a list and as a table.
import { Component } from "preact";
import { address, transaction } from "./addresses.js";
import { Age } from "./age.js";
import { placesIn } from "./decimal.js";
import {
  absent,
  amount,
  change,
  moment,
  percentChange,
  price,
  priceOf,
  spreadOf,
  symbol,
  tradeRow,
  unmarked,
} from "./figures.js";
import { html } from "./html.js";
import { hasChange } from "./market-order.js";
import { inUtc } from "./times.js";

/** @param {string} title @param {unknown} value */
const figure = (title, value) =>
  html`<div>
    <dt>${title}</dt>
    <dd>${value}</dd>
  </div>`;

/**
 * @param {import("./market-copy.js").Summary} summary
 * @param {{ base: string, quote: string }} pair
 * @param {boolean} hasUnpriced Whether it was traded, and no trade has a price.
 */
export function summaryList(summary, { base, quote }, hasUnpriced) {
  const { change: moved, vol, quoteVol, trades, lastTime } = summary;
  return html`<dl>
    ${figure("Last", priceOf(summary, "last"))}
    ${figure("Last trade", lastTime ? moment(lastTime, true) : hasUnpriced ? "none with a price" : "none")}
    ${figure("Change", hasChange(summary) ? change(moved) : absent("none"))}
    ${figure("Change in %", percentChange(summary))} ${figure("High", priceOf(summary, "high"))}
    ${figure("Low", priceOf(summary, "low"))} ${figure("Average (vwap)", priceOf(summary, "vwap"))}
    ${figure("Volume", html`${amount(vol)} ${symbol(base)}`)}
    ${figure("Turnover", html`${amount(quoteVol)} ${symbol(quote)}`)}
    ${figure("Trades", html`<span key=${trades}>${trades.toLocaleString("en")}</span>`)}
    ${figure("Bid", priceOf(summary, "bid"))} ${figure("Ask", priceOf(summary, "ask"))}
    ${figure("Spread", spreadOf(summary))}
  </dl>`;
}

/**
 * @typedef {{ price: number, base: number, quote: number }} Places How many fractional digits each column has.
 * @typedef {import("./market-copy.js").Trade} Trade
 * @typedef {import("./trade-details.js").Details} Details
 * @typedef {{ trade: Trade, details: Details | undefined, places: Places, isUtc: boolean }} Shown
 */

/** The side of the taker: who takes an offer that sells base, buys. */
export const SIDES =
  /** @type {Record<string, { word: string, style: string, inQuote: "lotAmt" | "bidAmt" }>} */ ({
    sell: { word: "Buy", style: "up", inQuote: "bidAmt" },
    buy: { word: "Sell", style: "down", inQuote: "lotAmt" },
  });

/** @param {Details | undefined} details */
function inQuote(details) {
  const side = SIDES[details?.act ?? ""];
  return side && details?.[side.inQuote];
}

/** What a trade is, before its details are read. */
const PENDING = html`<td colspan="4" class="pending">…</td>`;

/** @extends {Component<Shown>} */
class TradeRow extends Component {
  /** @param {Shown} next */
  shouldComponentUpdate(next) {
    const shown = this.props;
    return (
      shown.trade !== next.trade ||
      shown.details !== next.details ||
      shown.places.price !== next.places.price ||
      shown.places.base !== next.places.base ||
      shown.places.quote !== next.places.quote ||
      shown.isUtc !== next.isUtc
    );
  }

  render() {
    const { trade, details, places } = this.props;
    const { id, time, price: at, volume } = trade;
    const side = SIDES[details?.act ?? ""];
    return tradeRow(
      id,
      html`<td>${moment(time)}</td>
        <td class=${side?.style}>${side?.word ?? "…"}</td>
        <td>${price(at, places.price, at !== "0" || volume !== "0")}</td>
        <td>${amount(volume, places.base)}</td>
        ${
          details && side
            ? html`<td>${unmarked(details[side.inQuote], places.quote)}</td>
                <td>${address(details.maker)}</td>
                <td>${address(details.taker)}</td>
                <td>${transaction(details.tx)}</td>`
            : PENDING
        }
        <td><${Age} time=${time} /></td>`,
    );
  }
}

/**
 * @param {readonly Trade[]} trades
 * @param {{ base: string, quote: string }} pair
 * @param {(id: number) => Details | undefined} detailsOf
 */
export const tradesTable = (trades, { base, quote }, detailsOf) => {
  const places = {
    price: placesIn(trades.map((trade) => trade.price)),
    base: placesIn(trades.map(({ volume }) => volume)),
    quote: placesIn(trades.flatMap(({ id }) => inQuote(detailsOf(id)) ?? [])),
  };
  return newestTable({
    label: "Trades, newest first",
    style: "tape",
    headings: [
      ...["Time", "Side", "Price", html`Amount in ${symbol(base)}`],
      ...[html`Total in ${symbol(quote)}`, "Maker", "Taker", "Transaction", "Age"],
    ],
    rows: trades.map(
      (trade) =>
        html`<${TradeRow}
          key=${trade.id}
          trade=${trade}
          details=${detailsOf(trade.id)}
          places=${places}
          isUtc=${inUtc()}
        />`,
    ),
  });
};

/** @param {{ label: string, style?: string, headings: readonly unknown[], rows: readonly unknown[] }} shown */
export const newestTable = ({ label, style = "", headings, rows }) =>
  html`<div class="scroll ${style}" role="region" aria-label=${label} tabindex="0">
    <table>
      <caption>
        Newest first. The side is the taker's.
      </caption>
      <thead>
        <tr>
          ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
