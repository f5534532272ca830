// The frame of each HTML document, and the modules that it starts.
import { modulesOf } from "./files.ts";
import { html, type Html } from "./html.ts";
import { INTERFACES, NOT_FOR_GET } from "./interfaces.ts";

/** Where an explorer of the chain has a transaction {tx}, and an account {address}. */
export interface Explorer {
  tx?: string;
  address?: string;
}

/** For the modules of the page. */
export const explorerData = ({ tx, address }: Explorer): Html =>
  html`${tx === undefined ? "" : html`data-explorer-tx="${tx}"`}
  ${address === undefined ? "" : html`data-explorer-address="${address}"`}`;

/** What leads to each other. */
const PAGES = [
  { path: "/", name: "Markets", page: "markets" },
  { path: "/trades", name: "All trades", page: "trades" },
  { path: "/state", name: "State", page: "state" },
];

/** Of each page the module that takes over in a browser that runs scripts, and what it imports at once. */
const MODULES = new Map(
  ["markets", "market", "trades", "account", "state"].map((page) => [page, [...modulesOf(page)]]),
);

interface Document {
  title: string;
  description: string;
  main: Html;
  /** Default: one without a module. */
  page?: string;
  /** Reloads the document after so many seconds. */
  refresh?: number;
}

export const documentOf = ({ title, description, main, page = "", refresh }: Document): string =>
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
        <link rel="stylesheet" href="/page/panels.css" />
        <link rel="stylesheet" href="/page/chart.css" />
        <link rel="stylesheet" href="/page/tables.css" />
        ${(MODULES.get(page) ?? []).map((name) => html`<link rel="modulepreload" href="/page/${name}.js" />`)}
        ${MODULES.has(page) ? html`<script type="module" src="/page/${page}.js"></script>` : ""}
      </head>
      <body>
        <nav class="pages" aria-label="Pages">
          <ul>
            ${PAGES.map((one) => html`<li><a href="${one.path}" ${one.page === page ? html`aria-current="page"` : ""}>${one.name}</a></li>`)}
          </ul>
        </nav>
        ${main}
        <footer>
          <nav aria-label="Interfaces">
            <ul>
              ${INTERFACES.filter(({ path }) => path !== NOT_FOR_GET).map(
                ({ path, name, description }) =>
                  html`<li><a href="${path}" title="${path}: ${description}">${name}</a></li>`,
              )}
              <li><a href="/files" title="/files: every day as CSV and Parquet">Files</a></li>
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
