// The document of the newest trades of all markets, with a table for browsers that run no script.
import type { DealtTrade } from "../market/queries/deals.ts";
import type { Moment } from "../market/queries/snapshot.ts";
import { documentOf, explorerData, type Explorer } from "./document.ts";
import { html, type Html } from "./html.ts";
import { accountOf, transactionOf } from "./shown-addresses.ts";
import { bidOf, lotOf, marketOf, priceOf, sideOf } from "./shown-deals.ts";
import { cells, momentOf, tableOf } from "./shown-figures.ts";

function rowOf(trade: DealtTrade, explorer: Explorer): Html {
  // The amount of base, and what it is in quote.
  const [amount, total] =
    trade.act === "buy" ? [bidOf(trade), lotOf(trade)] : [lotOf(trade), bidOf(trade)];
  return html`<tr class="trade" data-id="${trade.key}">
    ${cells([
      momentOf(trade.time),
      marketOf(trade),
      sideOf(trade.act, false),
      priceOf(trade),
      amount,
      total,
      accountOf(trade.maker, explorer),
      accountOf(trade.taker, explorer),
      transactionOf(trade.tx, explorer),
    ])}
  </tr>`;
}

export const tradesDocument = (
  trades: readonly DealtTrade[],
  { time, block }: Moment,
  explorer: Explorer,
): string =>
  documentOf({
    title: "All trades",
    description: "The newest trades of all markets.",
    page: "trades",
    main: html`<main id="page" data-page="trades" ${explorerData(explorer)}>
      <h1>All trades</h1>
      <p>As of ${block === null ? "" : html`block ${block}, `}${momentOf(time)} UTC</p>
      ${
        trades.length === 0
          ? html`<p>No trade yet.</p>`
          : tableOf(
              "Newest first. The side is the taker's.",
              [
                ...["Time (UTC)", "Market", "Side", "Price", "Amount", "Total"],
                ...["Maker", "Taker", "Transaction"],
              ],
              trades.map((trade) => rowOf(trade, explorer)),
            )
      }
    </main>`,
  });
