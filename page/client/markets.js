// The page of all markets.
import { Component } from "preact";
import { asking } from "./asking.js";
import { compare } from "./decimal.js";
import { amount, change, hasAddress, name, price, segments } from "./figures.js";
import { placeOnPage, startPage, statusLine } from "./frame.js";
import { html } from "./html.js";
import { read } from "./reading.js";
import { Sparklines, sparkline } from "./sparkline.js";
import { follow } from "./stream.js";

/**
 * @typedef {import("../../rest/openapi/market-data.js").components["schemas"]} Schemas
 * @typedef {Schemas["Summary"]} Summary
 * @typedef {{ base: string, quote: string, active: boolean }} Pair
 * @typedef {{ key: string, pair: Pair, summary: Summary }} Market
 */

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
let isDescending = false;

/** @type {{ id: string, title: string, order: (one: Market, other: Market) => number }[]} */
const COLUMNS = [
  { id: "market", title: "Market", order: (one, other) => (one.key < other.key ? -1 : 1) },
  ...[
    { id: /** @type {const} */ ("last"), title: "Last" },
    { id: /** @type {const} */ ("percent"), title: "Change" },
    { id: /** @type {const} */ ("vol"), title: "Volume" },
    { id: /** @type {const} */ ("high"), title: "High" },
    { id: /** @type {const} */ ("low"), title: "Low" },
  ].map(({ id, title }) => ({
    id,
    title,
    /** @param {Market} one @param {Market} other */
    order: (one, other) => compare(one.summary[id], other.summary[id]),
  })),
];

let sortedBy = COLUMNS[0];

/** @type {WeakMap<Element, Market>} */
const marketOfRow = new WeakMap();
const inView = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    const market = marketOfRow.get(target);
    if (isIntersecting && market && hasAddress(market.pair))
      sparklines.want(market.key, market.pair);
  }
});

/** Drawn again only if what it shows has changed: there can be a thousand. */
/** @extends {Component<{ market: Market, closes: string[] | undefined }>} */
class Row extends Component {
  /** @param {{ market: Market, closes: string[] | undefined }} next */
  shouldComponentUpdate({ market: { pair, summary }, closes }) {
    const { market } = this.props;
    return market.summary !== summary || market.pair !== pair || this.props.closes !== closes;
  }

  /** @type {Element | undefined} */
  row;

  componentDidMount() {
    this.observe();
  }

  componentDidUpdate() {
    this.observe();
  }

  /** Observed anew, the row is reported again if it is in view. */
  observe() {
    if (this.row === undefined) return;
    marketOfRow.set(this.row, this.props.market);
    inView.unobserve(this.row);
    inView.observe(this.row);
  }

  componentWillUnmount() {
    if (this.row !== undefined) inView.unobserve(this.row);
  }

  render() {
    const { market, closes } = this.props;
    const { pair, summary } = market;
    const keepRow = (/** @type {Element | null} */ row) => {
      if (row !== null) this.row = row;
    };
    return html`<tr class=${pair.active ? "" : "inactive"} ref=${keepRow}>
      <th scope="row">
        ${hasAddress(pair) ? html`<a href="/markets/${segments(pair)}">${name(pair)}</a>` : name(pair)}
        ${!pair.active && html`<span class="tag">inactive</span>`}
      </th>
      <td>${price(summary.last)}</td>
      <td>${change(summary.percent, " %")}</td>
      <td>${amount(summary.vol)}</td>
      <td>${price(summary.high)}</td>
      <td>${price(summary.low)}</td>
      <td>${closes && closes.length > 0 && sparkline(closes, summary.last)}</td>
    </tr>`;
  }
}

function marketsFound() {
  const words = sought.toUpperCase().split(/[\s/]+/);
  return [...pairs]
    .flatMap(([key, pair]) => {
      const summary = summaries.get(key);
      // PostgreSQL leaves letters as they are that have no single capital, such as ß.
      const inCapitals = key.toUpperCase();
      const isFound = words.every((word) => inCapitals.includes(word));
      return summary && isFound ? [{ key, pair, summary }] : [];
    })
    .sort((one, other) => (isDescending ? -1 : 1) * (sortedBy?.order(one, other) ?? 0));
}

/** @param {typeof COLUMNS[number]} column */
function sortBy(column) {
  // The largest figures come first, and the first names.
  isDescending = sortedBy === column ? !isDescending : column !== COLUMNS[0];
  sortedBy = column;
  draw();
}

const QUERY = `{
  dexHead { block time }
  allDexSummaries {
    nodes { pair last percent vol high low }
  }
}`;

function view() {
  const found = marketsFound();
  const ariaSort = isDescending ? "descending" : "ascending";
  return html`
    <h1>Markets</h1>
    ${statusLine(head, connection)}
    ${
      pairs.size === 0
        ? html`<p>No market is registered yet.</p>`
        : html`<form
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
                    sought = event.currentTarget.value.trim();
                    draw();
                  }}
              /></label>
              <span role="status">${sought && `${found.length} of ${pairs.size} markets`}</span>
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
                          aria-sort=${column === sortedBy ? ariaSort : undefined}
                        >
                          <button type="button" onClick=${() => sortBy(column)}>
                            ${column.title}
                          </button>
                        </th>`,
                    )}
                    <th scope="col">24 hours</th>
                  </tr>
                </thead>
                <tbody>
                  ${found.map(
                    (market) =>
                      html`<${Row}
                        key=${market.key}
                        market=${market}
                        closes=${sparklines.of(market.key)}
                      />`,
                  )}
                </tbody>
              </table>
            </div>`
    }
    ${asking({ path: "/v2/summary", query: QUERY })}
  `;
}

const draw = startPage(placeOnPage("page"), {
  view,
  isReady: () => isTold,
  connection: () => connection,
});
const sparklines = new Sparklines(draw);

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
    if (!isTold || [...summaries.keys()].some((key) => !pairs.has(key))) void readPairs();
    draw();
  },
  retract() {
    sparklines.clear();
  },
  reset() {
    summaries.clear();
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
