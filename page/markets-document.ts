// The document of all markets, with a table for browsers that run no script.
import { firstOrder, inOrder } from "./client/market-order.js";
import { totalsOf } from "./client/totals.js";
import { documentOf } from "./document.ts";
import { html, type Html } from "./html.ts";
import {
  cells,
  dollarsOf,
  linkTo,
  momentOf,
  percentOf,
  priceIn,
  tableOf,
  volumeOf,
} from "./shown-figures.ts";
import type { ListedMarket } from "./shown-market.ts";

type Market = Parameters<typeof totalsOf>[0][number];

/** Of the exchange over 24 hours. */
function totals(markets: readonly Market[], hasDollars: boolean): Html {
  const { dollars, valued, traded, trades } = totalsOf(markets);
  return html`<p class="totals">
    Last 24 hours:
    ${hasDollars ? html`${dollarsOf(dollars)} in ${valued} of ${traded} traded markets,` : ""}
    ${trades.toLocaleString("en")} trades${hasDollars ? "" : ` in ${traded} markets`}
  </p>`;
}

const rowOf = (
  { pair: { base, quote, active }, summary, dollars }: Market,
  hasDollars: boolean,
): Html =>
  html`<tr class="${active ? "" : "inactive"}">
    <th scope="row">${linkTo({ base, quote })}${active ? "" : " (inactive)"}</th>
    ${cells([
      priceIn(summary, "last"),
      percentOf(summary),
      ...(hasDollars ? [dollarsOf(dollars?.volumeInUsd ?? null, dollars?.through)] : []),
      volumeOf(summary, quote),
      priceIn(summary, "high"),
      priceIn(summary, "low"),
      summary.lastTime === null ? "–" : momentOf(summary.lastTime),
    ])}
  </tr>`;

/** Of the tokens that are worth a dollar, there may be none. */
export function marketsDocument(
  listed: readonly ListedMarket[],
  time: string,
  usdTokens: readonly string[],
): string {
  const hasDollars = usdTokens.length > 0;
  const markets = listed.map((market) => ({
    ...market,
    key: `${market.base}/${market.quote}`,
    pair: market,
  }));
  return documentOf({
    title: "Markets",
    description: "Every market of the exchange: prices and volumes of the last 24 hours.",
    page: "markets",
    main: html`<main
      id="page"
      data-page="markets"
      ${hasDollars ? html`data-usd-tokens="${JSON.stringify(usdTokens)}"` : ""}
    >
      <h1>Markets</h1>
      <p>As of ${time}</p>
      ${
        markets.length === 0
          ? html`<p>No market is registered yet.</p>`
          : html`${totals(markets, hasDollars)}
            ${tableOf(
              "The last 24 hours of each market",
              [
                ...["Market", "Last", "Change", ...(hasDollars ? ["Volume $"] : []), "Volume"],
                ...["High", "Low", "Last trade (UTC)"],
              ],
              markets
                .sort(inOrder(firstOrder(hasDollars), true))
                .map((market) => rowOf(market, hasDollars)),
            )}`
      }
    </main>`,
  });
}
