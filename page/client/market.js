// The page of one market.
import { asking } from "./how-to-ask.js";
import { bookGroup, bookTables, stepsOf } from "./book.js";
import { candlesPanel, readChart } from "./candles-panel.js";
import { addressComparing, Comparison } from "./comparison.js";
import { Depth } from "./depth.js";
import { segments } from "./figures.js";
import { partOf, placeOnPage, startPage, statusLine } from "./frame.js";
import { html } from "./html.js";
import { askedInterval, MarketCopy } from "./market-copy.js";
import { asOfBlock, atBlock, blockControl, pastBlock, pastTopics, stepTo } from "./past.js";
import { marketHeader } from "./market-header.js";
import { marketQuestions } from "./market-questions.js";
import { read } from "./read-service.js";
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

const place = placeOnPage("page");
const { base = "", quote = "" } = place.dataset;
const pair = { base, quote };
const [paths, topic] = [segments(pair), topicName(pair)];

const copy = new MarketCopy(askedInterval());
const comparison = new Comparison(pair, copy.interval);
const details = new TradeDetails();
/** @type {import("./stream.js").Connection} */
let connection = "connecting";
/** The generation of the copy for which REST's trades and candles were asked. */
let readFor = -1;
let isReadingOlder = false;
let hasOldest = false;
const readDetails = () => details.want(copy.trades.map(({ id }) => id)).then(draw);

/**
 * Candles of a market; undefined where there is no such market.
 * @param {{ base: string, quote: string }} of
 * @param {string} [to]
 * @returns {Promise<Candle[] | undefined>}
 */
function readCandles(of, to) {
  const { generation, interval } = copy;
  const path = `/v2/candles/${segments(of)}?interval=${interval}&limit=${CANDLES}`;
  const isWanted = () => copy.generation === generation;
  return read(asOfBlock(to ? `${path}&to=${to}` : path), isWanted);
}

/** Those of the market that the chart compares with. @param {string} [to] */
async function readCompared(to) {
  const { pair: other } = comparison;
  const { generation } = copy;
  const candles = other && (await readCandles(other, to));
  if (other === undefined || other !== comparison.pair || generation !== copy.generation) return;
  if (candles === undefined) comparison.refuse();
  else comparison.copy.addCandles(candles);
  draw();
}

/** Trades and candles of before the stream began. */
async function readHistory() {
  const { generation } = copy;
  if (readFor === generation) return;
  readFor = generation;
  hasOldest = false;
  const isWanted = () => copy.generation === generation;
  void readCompared();
  /** @type {[Trade[] | undefined, Candle[] | undefined]} */
  const [trades, candles] = await Promise.all([
    read(`/v2/trades/${paths}?limit=${tradesWanted(TRADES)}`, isWanted),
    readCandles(pair),
  ]);
  if (!isWanted()) return;
  copy.addTrades(trades ?? []);
  copy.isRead = true;
  copy.addCandles(candles ?? []);
  draw();
  void readDetails();
}

async function readOlder() {
  const [first] = copy.candles;
  if (first === undefined || isReadingOlder || hasOldest) return;
  isReadingOlder = true;
  const [older] = await Promise.all([readCandles(pair, first.time), readCompared(first.time)]);
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
  ...comparison.topics(),
];

/** @param {string} [from] As in `follow`. */
const followMarket = (from) =>
  follow(
    topics(),
    {
      update({ topics }) {
        copy.update(comparison.take(topics));
        // The stream has begun: what REST sends now is not older.
        void readHistory().then(() => readChart(draw));
        void readDetails();
        draw();
      },
      retract(retraction) {
        copy.retract(retraction);
        comparison.copy.retract(retraction);
        details.retract(retraction.trade);
        draw();
      },
      reset() {
        copy.reset();
        comparison.copy.reset();
        details.retract(0);
      },
      connection(now) {
        connection = now;
        draw();
      },
    },
    from,
  );

/** Follows other topics; no event in between is missed. */
function followAnew() {
  stop = followMarket(stop());
}

/** Follows once it is known that there is a market to compare with: a stream refuses topics of an unknown one. */
async function begin() {
  await readCompared();
  followAnew();
}

/** Shows the block that the document is of: no stream is open. */
function showPast() {
  connection = "past";
  copy.reset();
  takeInterval(askedInterval());
  const { details: ofTrades, ...topics } = pastTopics();
  copy.update(topics);
  copy.isRead = true;
  details.add(/** @type {import("./trade-details.js").Details[]} */ (ofTrades));
  hasOldest = copy.candles.length < CANDLES;
  void readCompared();
  void readChart(draw);
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
  takeInterval(interval);
  history.replaceState(null, "", address);
  followAnew();
  draw();
}

/** @param {string} interval */
function takeInterval(interval) {
  copy.setInterval(interval);
  comparison.copy.setInterval(interval);
}

/** @param {{ base: string, quote: string } | undefined} other */
function compare(other) {
  history.replaceState(history.state, "", addressComparing(other));
  comparison.choose(other);
  void readCompared();
  if (!pastBlock()) followAnew();
  draw();
}

const summaryPanel = partOf(
  () => [copy.summary, copy.hasUnpriced, inUtc()],
  () => {
    const { summary } = copy;
    if (summary === undefined) return null;
    return html`<section aria-labelledby="summary-title" id="summary">
      <h2 id="summary-title">Last 24 hours${atBlock()}</h2>
      ${summaryList(summary, pair, copy.hasUnpriced)}
    </section>`;
  },
);

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
        ${bookTables({ bids, asks, pair, summary: copy.summary, draw })}
      </section>`;
  },
);

const tradesPanel = partOf(
  () => [copy.trades, copy.nothing, details.changes, inUtc(), filterKey()],
  () =>
    html`<section aria-labelledby="trades-title" id="trades">
      <h2 id="trades-title">Trades${atBlock()}</h2>
      ${copy.trades.length === 0 ? html`<p>${copy.nothing}</p>` : filteredTrades({ ...{ pair, changed: readForFilter }, trades: copy.trades, detailsOf: (id) => details.of(id) })}
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
    <div class="title">
      ${statusLine(copy.head, connection)}
      ${blockControl({ head: copy.head, go: (address) => go(address, "pushState") })}
    </div>
    <div class="panels">
      ${summaryPanel()}
      ${candlesPanel({ copy, comparison, pair, choose, compare, readOlder, draw })} ${bookPanels()}
      ${tradesPanel()}
    </div>
    ${questions()}`;

const draw = startPage(place, {
  view,
  isReady: () => copy.summary !== undefined,
  connection: () => connection,
});
/** @type {() => string | undefined} */
let stop = () => undefined;
if (pastBlock()) {
  showPast();
  addEventListener("popstate", () => void go(location.href));
} else void begin();
