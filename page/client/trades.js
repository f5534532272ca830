// The page of the newest trades of all markets.
import { Component } from "preact";
import { address, short, transaction } from "./addresses.js";
import { Age } from "./age.js";
import { asking } from "./how-to-ask.js";
import { placesOf, withoutZeros } from "./decimal.js";
import { amount, marketLink, moment, symbol, tradeRow, unmarked } from "./figures.js";
import { partOf, placeOnPage, startPage, statusLine } from "./frame.js";
import { html } from "./html.js";
import { ask } from "./read-service.js";
import { follow, streamPath } from "./stream.js";
import { newestTable, SIDES } from "./tables.js";
import { inUtc } from "./times.js";

const SHOWN = 50;

/**
 * @typedef {{
 *   id: string, time: string, market: string | null, act: string | null, price: string | null,
 *   lotAmt: string, lotTkn: string | null, lotGem: string,
 *   bidAmt: string, bidTkn: string | null, bidGem: string,
 *   maker: string, taker: string, tx: string,
 * }} Trade
 */

const QUERY = `{
  allDexTrades(first: ${SHOWN}, orderBy: ID_DESC) {
    nodes {
      id time market act price maker taker tx
      lotAmt lotTkn lotGem bidAmt bidTkn bidGem
    }
  }
}`;

/** Newest first; undefined while they are read from the beginning. @type {Trade[] | undefined} */
let trades;
let wasRead = false;
/** @type {{ block: number, time: string } | undefined} */
let head;
/** @type {import("./stream.js").Connection} */
let connection = "connecting";
/** Grows where what was asked before may be void. */
let generation = 0;
let isReading = false;
let isDue = false;

/** Reads the newest trades, and again if a head was sent while it read. */
async function readTrades() {
  isDue = true;
  if (isReading) return;
  isReading = true;
  while (isDue) {
    isDue = false;
    const asked = generation;
    /** @type {{ allDexTrades: { nodes: Trade[] } } | undefined} */
    const found = await ask(QUERY, {}, () => generation === asked);
    if (generation !== asked || found === undefined) continue;
    // A trade that is shown stays the same object, and its row is not made again.
    const known = new Map((trades ?? []).map((trade) => [trade.id, trade]));
    wasRead = true;
    trades = found.allDexTrades.nodes.map((trade) => known.get(trade.id) ?? trade);
    draw();
  }
  isReading = false;
}

/**
 * The market's name: base and quote have as many characters as the tokens' symbols.
 * @param {Trade} trade
 */
function marketOf({ market, act, lotTkn, bidTkn }) {
  if (market === null) return "no market";
  const letters = [...market];
  const length = [...((act === "sell" ? lotTkn : bidTkn) ?? "")].length;
  const pair = { base: letters.slice(0, length).join(""), quote: letters.slice(length).join("") };
  return marketLink(pair);
}

/** @param {string} decimal @param {string | null} token @param {string} gem */
const amountOf = (decimal, token, gem) => [
  unmarked(withoutZeros(decimal)),
  " ",
  token === null ? html`<span title=${gem}>${short(gem)}</span>` : symbol(token),
];

/** @extends {Component<{ trade: Trade, isUtc: boolean }>} */
class TradeRow extends Component {
  /** @param {{ trade: Trade, isUtc: boolean }} next */
  shouldComponentUpdate(next) {
    return this.props.trade !== next.trade || this.props.isUtc !== next.isUtc;
  }

  render() {
    const { trade } = this.props;
    const { id, time, act, maker, taker, tx } = trade;
    const price = trade.price && withoutZeros(trade.price);
    const side = SIDES[act ?? ""];
    const lot = amountOf(trade.lotAmt, trade.lotTkn, trade.lotGem);
    const bid = amountOf(trade.bidAmt, trade.bidTkn, trade.bidGem);
    return tradeRow(
      Number(id),
      html`<td>${moment(time)}</td>
        <td>${marketOf(trade)}</td>
        <td class=${side?.style}>${side?.word ?? "–"}</td>
        <td>${price ? amount(price, placesOf(price)) : "–"}</td>
        <td>${act === "buy" ? bid : lot}</td>
        <td>${act === "buy" ? lot : bid}</td>
        <td>${address(maker)}</td>
        <td>${address(taker)}</td>
        <td>${transaction(tx)}</td>
        <td><${Age} time=${time} /></td>`,
    );
  }
}

const table = partOf(
  () => [trades, inUtc()],
  () => {
    if (trades === undefined) return html`<p>The trades are being read.</p>`;
    if (trades.length === 0) return html`<p>No trade yet.</p>`;
    return newestTable({
      label: "All trades, newest first",
      headings: [
        ...["Time", "Market", "Side", "Price", "Amount", "Total"],
        ...["Maker", "Taker", "Transaction", "Age"],
      ],
      rows: trades.map(
        (trade) => html`<${TradeRow} key=${trade.id} trade=${trade} isUtc=${inUtc()} />`,
      ),
    });
  },
);

const view = () =>
  html`<div class="title">
      <h1>All trades</h1>
      ${statusLine(head, connection)}
    </div>
    <section aria-label="Trades">${table()}</section>
    ${asking([
      {
        title: "Newest trades, and the next of each market",
        path: streamPath(["head", "trades:*"]),
        query: QUERY,
        streams: true,
      },
    ])}`;

const draw = startPage(placeOnPage("page"), {
  view,
  isReady: () => wasRead,
  connection: () => connection,
});

follow(["head"], {
  update({ topics }) {
    head = /** @type {typeof head} */ (topics["head"] ?? undefined);
    void readTrades();
    draw();
  },
  retract({ trade }) {
    generation += 1;
    trades = trades?.filter(({ id }) => Number(id) <= trade);
    void readTrades();
    draw();
  },
  reset() {
    generation += 1;
    trades = undefined;
    void readTrades();
  },
  connection(now) {
    connection = now;
    draw();
  },
});
