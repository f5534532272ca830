// The document of all markets, with a table for browsers that run no script.
import { BY_VOLUME, inOrder } from "./client/market-order.js";
import { documentOf, SHARED } from "./document.ts";
import { html } from "./html.ts";
import { cells, linkTo, momentOf, percentOf, priceOf, tableOf, volumeOf } from "./shown-figures.ts";
import type { ListedMarket } from "./shown-market.ts";

export const marketsDocument = (markets: readonly ListedMarket[], time: string): string =>
  documentOf({
    title: "Markets",
    description: "Every market of the exchange: prices and volumes of the last 24 hours.",
    modules: ["markets", "favourites", "market-row", "sparkline", ...SHARED],
    main: html`<main id="page" data-page="markets">
      <h1>Markets</h1>
      <p>As of ${time}</p>
      ${
        markets.length === 0
          ? html`<p>No market is registered yet.</p>`
          : tableOf(
              "The last 24 hours of each market",
              ["Market", "Last", "Change", "Volume", "High", "Low", "Last trade (UTC)"],
              markets
                .map((market) => ({
                  ...market,
                  key: `${market.base}/${market.quote}`,
                  pair: market,
                }))
                .sort(inOrder(BY_VOLUME, true))
                .map(
                  ({ base, quote, active, summary }) =>
                    html`<tr>
                      <th scope="row">${linkTo({ base, quote })}${active ? "" : " (inactive)"}</th>
                      ${cells([
                        priceOf(summary.last),
                        percentOf(summary),
                        volumeOf(summary, quote),
                        priceOf(summary.high),
                        priceOf(summary.low),
                        summary.lastTime === null ? "–" : momentOf(summary.lastTime),
                      ])}
                    </tr>`,
                ),
            )
      }
    </main>`,
  });
