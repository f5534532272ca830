// The HTML documents, with tables for browsers that run no script.
import type { BookRecord } from "../market/queries/book.ts";
import type { SummaryRecord } from "../market/queries/summaries.ts";
import type { Moment } from "../market/queries/snapshot.ts";
import { compact, shortened } from "./client/decimal.js";
import { BY_VOLUME, hasChange, inOrder } from "./client/market-order.js";
import { html, type Html } from "./html.ts";
import { INTERFACES, NOT_FOR_GET } from "./interfaces.ts";
import type { ListedMarket, PastMarket, ShownMarket } from "./shown-market.ts";

interface Document {
  title: string;
  description: string;
  main: Html;
  /** The module that takes over in a browser that runs scripts, and what it imports at once. */
  modules?: readonly string[];
  /** Reloads the document after so many seconds. */
  refresh?: number;
}

const documentOf = ({ title, description, main, modules = [], refresh }: Document): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="description" content="${description}" />
        ${refresh === undefined ? "" : html`<meta http-equiv="refresh" content="${refresh}" />`}
        <title>${title}</title>
        <link rel="icon" href="/page/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/page/colors.css" />
        <link rel="stylesheet" href="/page/page.css" />
        ${modules.map((name) => html`<link rel="modulepreload" href="/page/${name}.js" />`)}
        ${modules.slice(0, 1).map((name) => html`<script type="module" src="/page/${name}.js"></script>`)}
      </head>
      <body>
        ${main}
        <footer>
          <nav aria-label="Interfaces">
            <ul>
              ${INTERFACES.filter(({ path }) => path !== NOT_FOR_GET).map(
                ({ path, name, description }) =>
                  html`<li><a href="${path}" title="${path}: ${description}">${name}</a></li>`,
              )}
            </ul>
          </nav>
          <p>
            Figures are exact, and as of the head of the exchange where the page names no other
            block. Point at a number to see all its digits.
          </p>
          <p>
            Charts: TradingView Lightweight Charts™, Copyright (c) 2026 TradingView, Inc.
            <a href="https://www.tradingview.com/" rel="noopener">https://www.tradingview.com/</a>
          </p>
        </footer>
      </body>
    </html> `.text;

const SHARED = [
  "html",
  "preact",
  "htm",
  "age",
  "decimal",
  "figures",
  "frame",
  "market-order",
  "reading",
  "stored",
  "stream",
  "times",
  "asking",
  "past",
];

const tableOf = (caption: string, headings: readonly string[], rows: readonly Html[]): Html =>
  html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption>
        ${caption}
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

const cells = (values: readonly (string | Html)[]): Html[] =>
  values.map((value) => html`<td>${value}</td>`);

/** Shortened for the eye, with all its digits behind it. */
const numberOf = (value: string, text = shortened(value)): Html =>
  html`<data value="${value}" title="${value}">${text}</data>`;

/** REST gives "0" for a price that does not exist. */
const priceOf = (value: string): Html | string => (value === "0" ? "–" : numberOf(value));

const momentOf = (iso: string): Html =>
  html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 19).replace("T", " ")}</time>`;

const percentOf = (summary: SummaryRecord): Html | string =>
  hasChange(summary) ? html`${numberOf(summary.percent, shortened(summary.percent, 2))} %` : "–";

/** Of the last 24 hours, in units of the quote. */
const volumeOf = ({ trades, quoteVol }: SummaryRecord, quote: string): Html | string =>
  trades > 0 ? html`${numberOf(quoteVol, compact(quoteVol))} <bdi>${quote}</bdi>` : "–";

/** A name with symbols of any direction of writing. */
const nameOf = ({ base, quote }: { base: string; quote: string }): Html =>
  html`<bdi>${base}</bdi>/<bdi>${quote}</bdi>`;

/** A link to the market. Browsers resolve a segment `.` or `..`, also if it is encoded: this market has no link. */
const linkTo = (pair: { base: string; quote: string }): Html => {
  const symbols = [pair.base, pair.quote];
  if (symbols.some((symbol) => symbol === "." || symbol === "..")) return nameOf(pair);
  return html`<a href="/markets/${symbols.map(encodeURIComponent).join("/")}">${nameOf(pair)}</a>`;
};

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

/** How many levels of each side the tables have. */
const LEVELS = 15;

/** What the module shows of a past block: the blocks beside it, and the topics of the stream. */
function pastData(past: PastMarket, { block, time }: Moment): Html {
  const { neighbours, summary, trades, book, candles } = past;
  const head = { block, time };
  const topics = { head, summary, trades, book: { whole: true, ...book }, candles };
  return html`data-block="${block ?? ""}" data-previous="${neighbours.previous ?? ""}"
  data-next="${neighbours.next ?? ""}" data-topics="${JSON.stringify(topics)}"`;
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

/** As of a past block, if that is given. */
export function marketDocument(market: ShownMarket, moment: Moment, past?: PastMarket): string {
  const { base, quote, active, summary, book, trades } = market;
  const { time, block } = moment;
  const at = past === undefined ? "" : ` at block ${block}`;
  const side = (name: string, levels: BookRecord["bids"]): Html =>
    tableOf(
      name,
      ["Price", "Amount"],
      levels.slice(0, LEVELS).map(
        ({ price, vol }) =>
          html`<tr>
            ${cells([price, vol])}
          </tr>`,
      ),
    );
  return documentOf({
    title: `${base}/${quote}${at}`,
    description: `The market ${base}/${quote}: candles, depth, book and trades.`,
    modules: ["market", "market-copy", "depth", "tables", ...SHARED],
    main: html`<main
      id="page"
      data-page="market"
      data-base="${base}"
      data-quote="${quote}"
      data-active="${String(active)}"
      ${past === undefined ? "" : pastData(past, moment)}
    >
      <p><a href="/">All markets${past === undefined ? "" : " now"}</a></p>
      <h1>${nameOf({ base, quote })}${active ? "" : " (inactive)"}</h1>
      <p>As of ${past === undefined ? "" : `block ${block}, `}${time}</p>
      ${blockLinks(block, past)}
      <h2>Last 24 hours${at}</h2>
      <dl>
        ${Object.entries(summary).map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${value ?? "none"}</dd>
            </div>`,
        )}
      </dl>
      <h2>Book${at}</h2>
      ${side("Bids", book.bids)} ${side("Asks", book.asks)}
      <h2>Trades${at}</h2>
      ${tableOf(
        "Newest trades",
        ["Time", "Price", "Amount"],
        trades.map(
          ({ time, price, volume }) =>
            html`<tr>
              ${cells([time, price, volume])}
            </tr>`,
        ),
      )}
    </main>`,
  });
}

export const unknownMarketDocument = (base: string, quote: string): string =>
  documentOf({
    title: "Unknown market",
    description: "No such market.",
    main: html`<main>
      <h1>Unknown market</h1>
      <p>
        No pair ${nameOf({ base, quote })} is registered. A pair is registered in one direction.
        <a href="/">All markets</a>
      </p>
    </main>`,
  });

/** Where a past block is asked for that is none. */
export const absentBlockDocument = (
  { base, quote }: { base: string; quote: string },
  message: string,
): string =>
  documentOf({
    title: "No such block",
    description: "The market has no figures as of this block.",
    main: html`<main>
      <h1>${nameOf({ base, quote })}: no such block</h1>
      <p>${message}.</p>
      <p><a href="?">The market now</a></p>
    </main>`,
  });

const RETRY_SECONDS = 5;

export const unavailableDocument = (message: string): string =>
  documentOf({
    title: "The markets cannot be shown",
    description: "The markets cannot be shown at the moment.",
    refresh: RETRY_SECONDS,
    main: html`<main>
      <h1>The markets cannot be shown at the moment</h1>
      <p>${message}. This page tries again every ${RETRY_SECONDS} seconds.</p>
    </main>`,
  });
