// The page of one market.
import { asking } from "./asking.js";
import { bookGroup, bookTables, stepsOf } from "./book.js";
import { chartButtons, chartChoice } from "./chart-choice.js";
import { Depth } from "./depth.js";
import { moment, segments, unmarked } from "./figures.js";
import { partOf, placeOnPage, startPage, statusLine } from "./frame.js";
import { html } from "./html.js";
import { askedInterval, INTERVALS, MarketCopy } from "./market-copy.js";
import { asOfBlock, atBlock, blockControl, pastBlock, pastTopics, stepTo } from "./past.js";
import { marketHeader } from "./market-header.js";
import { marketQuestions } from "./market-questions.js";
import { read } from "./reading.js";
import { follow, topicName } from "./stream.js";
import { summaryList } from "./tables.js";
import { filteredTrades, filterKey, tradesWanted } from "./trade-filter.js";
import { TradeDetails } from "./trade-details.js";
import { inUtc } from "./times.js";

/**
 * @typedef {import("./market-copy.js").Candle} Candle
 * @typedef {import("./market-copy.js").Trade} Trade
 */

const DEPTH = 50;
const CANDLES = 300;
const TRADES = 50;
const PRICES = /** @type {const} */ (["open", "high", "low", "close"]);

const place = placeOnPage("page");
const { base = "", quote = "" } = place.dataset;
const pair = { base, quote };
const [paths, topic] = [segments(pair), topicName(pair)];

const copy = new MarketCopy(askedInterval());
const details = new TradeDetails();
/** @type {import("./stream.js").Connection} */
let connection = "connecting";
/** The generation of the copy for which REST's trades and candles were asked. */
let readFor = -1;
let isReadingOlder = false;
let hasOldest = false;
/** @type {string | undefined} */
let hovered;
/** The largest module by far, read once the figures are shown. @type {typeof import("./chart.js") | undefined} */
let chart;
let isReadingChart = false;

async function readChart() {
  if (isReadingChart) return;
  isReadingChart = true;
  chart = await import("./chart.js");
  draw();
}

const readDetails = () => details.want(copy.trades.map(({ id }) => id)).then(draw);

/** Trades and candles of before the stream began. */
async function readHistory() {
  const { generation, interval } = copy;
  if (readFor === generation) return;
  readFor = generation;
  hasOldest = false;
  const isWanted = () => copy.generation === generation;
  /** @type {[Trade[] | undefined, Candle[] | undefined]} */
  const [trades, candles] = await Promise.all([
    read(`/v2/trades/${paths}?limit=${tradesWanted(TRADES)}`, isWanted),
    read(`/v2/candles/${paths}?interval=${interval}&limit=${CANDLES}`, isWanted),
  ]);
  if (!isWanted()) return;
  copy.addTrades(trades ?? []);
  copy.addCandles(candles ?? []);
  draw();
  void readDetails();
}

async function readOlder() {
  const [first] = copy.candles;
  if (first === undefined || isReadingOlder || hasOldest) return;
  isReadingOlder = true;
  const { generation, interval } = copy;
  /** @type {Candle[] | undefined} */
  const older = await read(
    asOfBlock(`/v2/candles/${paths}?interval=${interval}&limit=${CANDLES}&to=${first.time}`),
    () => copy.generation === generation,
  );
  isReadingOlder = false;
  if (older === undefined) return;
  hasOldest = older.length === 0;
  copy.addCandles(older);
  draw();
}

const topics = () => [
  "head",
  `summary:${topic}`,
  `trades:${topic}`,
  `book:${topic}:${DEPTH}`,
  `candles:${topic}:${copy.interval}`,
];

const followMarket = () =>
  follow(topics(), {
    update({ topics }) {
      copy.update(topics);
      // The stream has begun: what REST sends now is not older.
      void readHistory().then(readChart);
      void readDetails();
      draw();
    },
    retract(retraction) {
      copy.retract(retraction);
      details.retract(retraction.trade);
      draw();
    },
    reset() {
      copy.reset();
      details.retract(0);
    },
    connection(now) {
      connection = now;
      draw();
    },
  });

/** Shows the block that the document is of: no stream is open. */
function showPast() {
  connection = "past";
  copy.reset(askedInterval());
  const { details: ofTrades, ...topics } = pastTopics();
  copy.update(topics);
  details.add(/** @type {import("./trade-details.js").Details[]} */ (ofTrades));
  hasOldest = copy.candles.length < CANDLES;
  void readChart();
  draw();
}

/**
 * Goes to a past block. From the head the browser goes, which closes the stream; it also shows why there is no such block.
 * @param {string} address
 * @param {"pushState" | "replaceState"} [note] Undefined where the browser has the address already.
 */
async function go(address, note) {
  if (!pastBlock()) {
    location.assign(address);
    return;
  }
  connection = "reading";
  draw();
  const isRead = await stepTo(address);
  if (isRead === undefined) return;
  if (isRead && note) history[note](null, "", address);
  showPast();
  if (!isRead) location.assign(address);
}

/** @param {string} interval */
function choose(interval) {
  const address = new URL(location.href);
  address.searchParams.set("interval", interval);
  if (pastBlock()) {
    void go(address.href, "replaceState");
    return;
  }
  stop();
  copy.reset(interval);
  history.replaceState(null, "", address);
  stop = followMarket();
  draw();
}

const summaryPanel = partOf(
  () => [copy.summary, inUtc()],
  () => {
    const { summary } = copy;
    if (summary === undefined) return null;
    return html`<section aria-labelledby="summary-title" id="summary">
      <h2 id="summary-title">Last 24 hours${atBlock()}</h2>
      ${summaryList(summary, pair)}
    </section>`;
  },
);

function candlesPanel() {
  const { candles, candleChanges, interval } = copy;
  const shown = candles.find(({ time }) => time === hovered) ?? candles.at(-1);
  const { quoteVolume } = chartChoice();
  return html`<section aria-labelledby="candles-title" id="candles">
    <h2 id="candles-title">Candles${atBlock()}</h2>
    <div role="group" aria-label="Interval" class="intervals">
      ${Object.keys(INTERVALS).map(
        (one) =>
          html`<button
            type="button"
            key=${one}
            aria-pressed=${String(one === interval)}
            onClick=${() => choose(one)}
          >
            ${one}
          </button>`,
      )}
    </div>
    <p class="legend">
      ${
        shown
          ? [
              moment(shown.time, true),
              ...PRICES.map((column) => html`<span>${column} ${unmarked(shown[column])}</span>`),
              html`<span
                >volume ${unmarked(quoteVolume ? shown.quoteVol : shown.vol)} ${" "}<bdi
                  >${quoteVolume ? quote : base}</bdi
                ></span
              >`,
            ]
          : "No trade yet."
      }
    </p>
    ${chartButtons({ quote, draw })}
    ${
      chart
        ? html`<${chart.Chart}
            choice=${chartChoice()}
            candles=${candles}
            changes=${candleChanges}
            interval=${interval}
            onOlder=${readOlder}
            onHover=${(/** @type {string | undefined} */ time) => {
              hovered = time;
              draw();
            }}
          />`
        : html`<div class="chart"></div>
            <p class="scrolling"></p>`
    }
  </section>`;
}

const bookPanels = partOf(
  () => [copy.bookChanges, copy.summary, bookGroup()],
  () => {
    const [bids, asks] = [stepsOf(copy.bids, -1), stepsOf(copy.asks, 1)];
    return html`<section aria-labelledby="depth-title" id="depth">
        <h2 id="depth-title">Depth${atBlock()}</h2>
        ${
          bids.length + asks.length === 0
            ? html`<p>No offer is open.</p>`
            : html`<${Depth} bids=${bids} asks=${asks} base=${base} quote=${quote} />`
        }
      </section>
      <section aria-labelledby="book-title" id="book">
        <h2 id="book-title">Book${atBlock()}</h2>
        ${bookTables({ bids, asks, pair, spread: copy.summary?.spread ?? "0", draw })}
      </section>`;
  },
);

const tradesPanel = partOf(
  () => [copy.trades, details.changes, inUtc(), filterKey()],
  () =>
    html`<section aria-labelledby="trades-title" id="trades">
      <h2 id="trades-title">Trades${atBlock()}</h2>
      ${copy.trades.length === 0 ? html`<p>No trade yet.</p>` : filteredTrades({ ...{ pair, changed: readForFilter }, trades: copy.trades, detailsOf: (id) => details.of(id) })}
    </section>`,
);

function readForFilter() {
  readFor = -1;
  if (!pastBlock()) void readHistory();
  draw();
}

const questions = () =>
  asking(
    marketQuestions(pair, {
      ...{ interval: copy.interval, candles: CANDLES, depth: DEPTH, trades: TRADES },
      topics: topics(),
    }),
  );

const view = () =>
  html`${marketHeader({
      ...{ pair, summary: copy.summary, isPast: pastBlock() !== undefined },
      isActive: place.dataset["active"] !== "false",
    })}
    ${statusLine(copy.head, connection)}
    ${blockControl({ head: copy.head, go: (address) => go(address, "pushState") })}
    <div class="panels">${summaryPanel()} ${candlesPanel()} ${bookPanels()} ${tradesPanel()}</div>
    ${questions()}`;

const draw = startPage(place, {
  view,
  isReady: () => copy.summary !== undefined,
  connection: () => connection,
});
/** @type {() => void} */
let stop = () => undefined;
if (pastBlock()) {
  showPast();
  addEventListener("popstate", () => void go(location.href));
} else stop = followMarket();
