// The page of all markets.
import { asking } from "./how-to-ask.js";
import { QUERY as USD_QUERY, UsdVolumes } from "./dollars.js";
import { isFavourite } from "./favourites.js";
import { dollars, hasAddress, marketLink, percentChange, segments } from "./figures.js";
import { placeOnPage, startPage, statusLine } from "./frame.js";
import { html } from "./html.js";
import {
  BY_CHANGE,
  BY_NAME,
  columnsWith,
  firstOrder,
  hasPercent,
  inOrder,
  marketsNamed,
} from "./market-order.js";
import { onRowSeen, Row } from "./market-row.js";
import { read } from "./read-service.js";
import { Sparklines } from "./sparkline.js";
import { follow } from "./stream.js";
import { totalsOf } from "./totals.js";

/**
 * @typedef {import("./market-order.js").Market} Market
 * @typedef {import("./market-order.js").Pair} Pair
 * @typedef {import("./market-copy.js").Summary} Summary
 */

const MOVERS = 3;

const place = placeOnPage("page");
/** The tokens that are worth a dollar. @type {readonly string[]} */
const usdTokens = JSON.parse(place.dataset["usdTokens"] ?? "[]");
const hasDollars = usdTokens.length > 0;
const COLUMNS = columnsWith(hasDollars);
const volumes = new UsdVolumes(usdTokens, () => draw());

/** @type {Map<string, Summary>} */
const summaries = new Map();
/** @type {Map<string, Pair>} */
let pairs = new Map();
/** @type {{ block: number, time: string } | undefined} */
let head;
/** @type {import("./stream.js").Connection} */
let connection = "connecting";
let isTold = false;
let isReadingPairs = false;
let isPairsReadDue = false;
let sought = "";
let onlyFavourites = false;
let sortedBy = firstOrder(hasDollars);
let isDescending = true;

/** @returns {Market[]} */
const allMarkets = () =>
  [...pairs].flatMap(([key, pair]) => {
    const summary = summaries.get(key);
    return summary ? [{ key, pair, summary, dollars: volumes.of(key) }] : [];
  });

const marketsFound = () =>
  marketsNamed(allMarkets(), sought)
    .filter(({ key }) => !onlyFavourites || isFavourite(key))
    .sort(inOrder(sortedBy, isDescending));

/** @param {typeof COLUMNS[number]} column */
function sortBy(column) {
  // The largest figures come first, and the first names.
  isDescending = sortedBy === column ? !isDescending : column !== BY_NAME;
  sortedBy = column;
  draw();
}

/** @param {string} title @param {readonly Market[]} found */
const moversList = (title, found) =>
  found.length > 0 &&
  html`<div>
    <h2>${title}</h2>
    <ol>
      ${found.map(
        ({ key, pair, summary }) =>
          html`<li key=${key}>${marketLink(pair)} ${percentChange(summary)}</li>`,
      )}
    </ol>
  </div>`;

/** Which prices rose and fell most. */
function movers() {
  const moved = allMarkets().filter(
    ({ pair, summary }) => hasPercent(summary) && summary.percent !== "0" && hasAddress(pair),
  );
  /** @param {boolean} isFall */
  const of = (isFall) =>
    moved
      .filter(({ summary }) => summary.percent.startsWith("-") === isFall)
      .sort(inOrder(BY_CHANGE, !isFall))
      .slice(0, MOVERS);
  return html`<div class="movers">
    ${moversList("Risen most", of(false))} ${moversList("Fallen most", of(true))}
  </div>`;
}

/** Of the exchange, with what no figure is said of. */
function totals() {
  const { dollars: sum, valued, traded, trades } = totalsOf(allMarkets());
  return html`<p class="totals">
    Last 24 hours:
    ${" "}${hasDollars && [dollars({ volumeInUsd: sum, through: null }), ` in ${valued} of ${traded} traded markets, `]}<span
      >${trades.toLocaleString("en")} trades</span
    >${!hasDollars && ` in ${traded} markets`}
  </p>`;
}

const QUERY = `{
  dexHead { block time }
  allDexSummaries {
    nodes { pair last lastTime percent quoteVol high low }
  }
}`;

const usdQuestions = hasDollars ? [{ title: "Volumes in dollars", query: inlined(USD_QUERY) }] : [];

/** As GraphiQL takes it from an address: without variables. @param {string} query */
function inlined(query) {
  return query
    .replace("query ($usdTokens: [String]) ", "")
    .replace("$usdTokens", JSON.stringify(usdTokens));
}

function view() {
  const found = marketsFound();
  const ariaSort = isDescending ? "descending" : "ascending";
  return html`
    <div class="title">
      <h1>Markets</h1>
      ${statusLine(head, connection)}
    </div>
    ${
      pairs.size === 0
        ? html`<p>No market is registered yet.</p>`
        : html`<div class="overview">${totals()} ${movers()}</div>
            <form
              role="search"
              onSubmit=${(/** @type {Event} */ event) => {
                event.preventDefault();
                const [first] = found;
                if (first && hasAddress(first.pair))
                  location.href = `/markets/${segments(first.pair)}`;
              }}
            >
              <label
                >Search
                <input
                  type="search"
                  id="search"
                  value=${sought}
                  onInput=${(/** @type {{ currentTarget: HTMLInputElement }} */ event) => {
                    sought = event.currentTarget.value;
                    draw();
                  }}
              /></label>
              <label class="choice"
                ><input
                  type="checkbox"
                  checked=${onlyFavourites}
                  onChange=${(/** @type {{ currentTarget: HTMLInputElement }} */ event) => {
                    onlyFavourites = event.currentTarget.checked;
                    draw();
                  }}
                />
                Favourites only</label
              >
              <span role="status"
                >${(sought || onlyFavourites) && `${found.length} of ${pairs.size} markets`}</span
              >
            </form>
            <div class="scroll" role="region" aria-label="All markets" tabindex="0">
              <table class="markets">
                <caption>
                  The last 24 hours of each market
                </caption>
                <thead>
                  <tr>
                    ${COLUMNS.map(
                      (column) =>
                        html`<th
                          scope="col"
                          key=${column.id}
                          class=${column.only ?? ""}
                          aria-sort=${column === sortedBy ? ariaSort : undefined}
                        >
                          <button type="button" onClick=${() => sortBy(column)}>
                            ${column.title}
                          </button>
                        </th>`,
                    )}
                    <th scope="col" class="wide">24 hours</th>
                  </tr>
                </thead>
                <tbody>
                  ${found.map(
                    (market) =>
                      html`<${Row}
                        key=${market.key}
                        market=${market}
                        hasDollars=${hasDollars}
                        closes=${sparklines.of(market.key)}
                        onFavourite=${draw}
                      />`,
                  )}
                </tbody>
              </table>
            </div>`
    }
    ${asking([{ title: "All markets", path: "/v2/summary", query: QUERY }, ...usdQuestions])}
  `;
}

const draw = startPage(place, {
  view,
  isReady: () => isTold && volumes.isRead,
  connection: () => connection,
});
const sparklines = new Sparklines(draw);
onRowSeen(({ key, pair }) => sparklines.want(key, pair));

/** Which pairs there are, and which are active, is no topic of the stream. */
async function readPairs() {
  // What is being read may be older.
  isPairsReadDue = isReadingPairs;
  if (isReadingPairs) return;
  isReadingPairs = true;
  /** @type {Record<string, Pair> | undefined} */
  const found = await read("/v1/pairs/", () => true);
  isReadingPairs = false;
  pairs = new Map(Object.entries(found ?? {}));
  isTold = true;
  draw();
  if (isPairsReadDue) void readPairs();
}

follow(["head", "summary:*"], {
  update({ topics }) {
    for (const [topic, data] of Object.entries(topics)) {
      if (topic === "head") head = /** @type {typeof head} */ (data ?? undefined);
      else if (data)
        summaries.set(/** @type {Summary} */ (data).pair, /** @type {Summary} */ (data));
    }
    if (head) sparklines.setHead(head.time);
    void volumes.readAgain();
    if (!isTold || [...summaries.keys()].some((key) => !pairs.has(key))) void readPairs();
    draw();
  },
  retract() {
    volumes.clear();
    sparklines.clear();
  },
  reset() {
    summaries.clear();
    volumes.clear();
    sparklines.clear();
    isTold = false;
  },
  connection(now) {
    connection = now;
    draw();
  },
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void readPairs();
});
document.addEventListener("keydown", (event) => {
  const search = document.getElementById("search");
  if (event.key !== "/" || event.target === search) return;
  event.preventDefault();
  search?.focus();
});
