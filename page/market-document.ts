// The document of one market, with tables for browsers that run no script.
import { hasChange } from "./client/market-order.js";
import type { BookRecord } from "../market/queries/book.ts";
import type { Moment } from "../market/queries/snapshot.ts";
import type { TradeDetails, TradeRecord } from "../market/queries/trades.ts";
import { documentOf, explorerData, type Explorer } from "./document.ts";
import { dataOf, html, type Html } from "./html.ts";
import {
  cells,
  momentOf,
  nameOf,
  numberOf,
  percentOf,
  priceIn,
  priceOf,
  spreadOf,
  symbolOf,
  tableOf,
} from "./shown-figures.ts";
import { accountOf, transactionOf } from "./shown-addresses.ts";
import type { PastMarket, ShownMarket } from "./shown-market.ts";

/** How many levels of each side the tables have. */
const LEVELS = 15;

/** For the module: the past block, and those beside it. */
const blocksOf = ({ neighbours }: PastMarket, { block }: Moment): Html =>
  html`data-block="${block ?? ""}" data-previous="${neighbours.previous ?? ""}"
  data-next="${neighbours.next ?? ""}"`;

/** What the module shows of a past block, by topics as those of the stream. */
function topicsOf(past: PastMarket, { block, time }: Moment): Html {
  const { summary, trades, details, book, candles } = past;
  const head = { block, time };
  const topics = { head, summary, trades, details, book: { whole: true, ...book }, candles };
  return dataOf("past", topics);
}

/** Links to other blocks, for browsers that run no script. */
function blockLinks(block: number | null, past: PastMarket | undefined): Html {
  const interval = past && { interval: past.interval };
  const at = (to: number | null): URLSearchParams =>
    new URLSearchParams({ ...interval, block: String(to) });
  const previous = past === undefined ? block && block - 1 : past.neighbours.previous;
  const next = past?.neighbours.next ?? null;
  return html`<nav class="blocks" aria-label="Blocks">
    ${previous === null ? "" : html`<a href="?${at(previous).toString()}">Previous block</a>`}
    ${next === null ? "" : html`<a href="?${at(next).toString()}">Next block</a>`}
    ${past === undefined ? "" : html`<a href="?${new URLSearchParams(interval).toString()}">Now</a>`}
  </nav>`;
}

/** The summary, in words. */
function figuresOf({ base, quote, summary, trades }: ShownMarket): [string, Html | string][] {
  const orDash = (value: string): Html | string => (hasChange(summary) ? numberOf(value) : "–");
  const none = trades.length > 0 ? "none with a price" : "none";
  const during = (value: string, symbol: string): Html =>
    html`${numberOf(value)} ${symbolOf(symbol)}`;
  return [
    ["Last", priceIn(summary, "last")],
    ["Last trade (UTC)", summary.lastTime === null ? none : momentOf(summary.lastTime)],
    ["Change", orDash(summary.change)],
    ["Change in %", percentOf(summary)],
    ["High", priceIn(summary, "high")],
    ["Low", priceIn(summary, "low")],
    ["Average (vwap)", priceIn(summary, "vwap")],
    ["Volume", during(summary.vol, base)],
    ["Turnover", during(summary.quoteVol, quote)],
    ["Trades", summary.trades.toLocaleString("en")],
    ["Bid", priceIn(summary, "bid")],
    ["Ask", priceIn(summary, "ask")],
    ["Spread", spreadOf(summary)],
  ];
}

/** The side is the taker's: who takes an offer that sells base, buys. */
const tradeRow = (
  { time, price, volume }: TradeRecord,
  details: TradeDetails | undefined,
  explorer: Explorer,
): Html =>
  html`<tr>
    ${cells([
      momentOf(time),
      details === undefined ? "–" : details.act === "sell" ? "Buy" : "Sell",
      priceOf(price, price !== "0" || volume !== "0"),
      numberOf(volume),
      ...(details === undefined
        ? []
        : [
            numberOf(details.act === "sell" ? details.bidAmt : details.lotAmt),
            accountOf(details.maker, explorer),
            accountOf(details.taker, explorer),
            transactionOf(details.tx, explorer),
          ]),
    ])}
  </tr>`;

/** As of a past block, if that is given. */
export function marketDocument(
  market: ShownMarket,
  moment: Moment,
  { explorer, past }: { explorer: Explorer; past?: PastMarket },
): string {
  const { base, quote, active, book, trades } = market;
  const detailsById = new Map(market.details.map((one) => [one.id, one]));
  const { time, block } = moment;
  const at = past === undefined ? "" : ` at block ${block}`;
  const side = (name: string, levels: BookRecord["bids"]): Html =>
    tableOf(
      name,
      [html`Price in ${symbolOf(quote)}`, html`Amount in ${symbolOf(base)}`],
      levels.slice(0, LEVELS).map(
        ({ price, vol }) =>
          html`<tr>
            ${cells([numberOf(price), numberOf(vol)])}
          </tr>`,
      ),
    );
  return documentOf({
    title: `${base}/${quote}${at}`,
    description: `The market ${base}/${quote}: candles, depth, book and trades.`,
    page: "market",
    main: html`<main
        id="page"
        data-page="market"
        data-base="${base}"
        data-quote="${quote}"
        data-active="${String(active)}"
        ${explorerData(explorer)}
        ${past === undefined ? "" : blocksOf(past, moment)}
      >
        <p><a href="/">All markets${past === undefined ? "" : " now"}</a></p>
        <h1>${nameOf({ base, quote })}${active ? "" : " (inactive)"}</h1>
        <p>As of ${past === undefined ? "" : `block ${block}, `}${time}</p>
        ${blockLinks(block, past)}
        <h2>Last 24 hours${at}</h2>
        <dl>
          ${figuresOf(market).map(
            ([name, value]) =>
              html`<div>
                <dt>${name}</dt>
                <dd>${value}</dd>
              </div>`,
          )}
        </dl>
        <h2>Book${at}</h2>
        ${side("Bids", book.bids)} ${side("Asks", book.asks)}
        <h2>Trades${at}</h2>
        ${tableOf(
          "Newest trades",
          [
            ...["Time (UTC)", "Side of the taker", html`Price in ${symbolOf(quote)}`],
            ...[html`Amount in ${symbolOf(base)}`, html`Total in ${symbolOf(quote)}`],
            ...["Maker", "Taker", "Transaction"],
          ],
          trades.map((trade) => tradeRow(trade, detailsById.get(String(trade.id)), explorer)),
        )}
      </main>
      ${past === undefined ? "" : topicsOf(past, moment)}`,
  });
}
