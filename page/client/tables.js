// The summary and the trades of a market, as a list and as a table.
import { amount, change, moment, price, tradeRow } from "./figures.js";
import { html } from "./html.js";

/** @param {string} title @param {unknown} value */
const figure = (title, value) =>
  html`<div>
    <dt>${title}</dt>
    <dd>${value}</dd>
  </div>`;

/**
 * @param {import("./market-copy.js").Summary} summary
 * @param {{ base: string, quote: string }} pair
 */
export function summaryList(summary, { base, quote }) {
  const { last, change: moved, percent, high, low, vol, quoteVol, trades, vwap } = summary;
  const { bid, ask, spread, lastTime } = summary;
  return html`<dl>
    ${figure("Last", price(last))}
    ${figure("Last trade", lastTime ? moment(lastTime, true) : "none")}
    ${figure("Change", html`${change(moved)} (${change(percent, " %")})`)}
    ${figure("High", price(high))} ${figure("Low", price(low))}
    ${figure("Average (vwap)", price(vwap))}
    ${figure("Volume", html`${amount(vol)} <bdi>${base}</bdi>`)}
    ${figure("Turnover", html`${amount(quoteVol)} <bdi>${quote}</bdi>`)}
    ${figure("Trades", html`<span key=${trades}>${trades}</span>`)} ${figure("Bid", price(bid))}
    ${figure("Ask", price(ask))} ${figure("Spread", price(spread))}
  </dl>`;
}

/** @param {readonly import("./market-copy.js").Trade[]} trades */
export const tradesTable = (trades) =>
  html`<div class="scroll tape" role="region" aria-label="Trades, newest first" tabindex="0">
    <table>
      <caption>
        Newest first
      </caption>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Price</th>
          <th scope="col">Amount</th>
        </tr>
      </thead>
      <tbody>
        ${trades.map(({ id, time, price: at, volume }) =>
          tradeRow(
            id,
            html`<td>${moment(time)}</td>
              <td>${price(at)}</td>
              <td>${amount(volume)}</td>`,
          ),
        )}
      </tbody>
    </table>
  </div>`;
