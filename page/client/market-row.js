// A row of the list of markets.
import { Component } from "preact";
import { Age } from "./age.js";
import { isFavourite, toggleFavourite } from "./favourites.js";
import { dollars, hasAddress, marketLink, percentChange, priceOf, volume } from "./figures.js";
import { html } from "./html.js";
import { sparkline } from "./sparkline.js";

/**
 * @typedef {import("./market-order.js").Market} Market
 */

/** @type {WeakMap<Element, Market>} */
const marketOfRow = new WeakMap();
/** @type {(market: Market) => void} */
let whenSeen = () => undefined;

/** @param {(market: Market) => void} act Called with each market whose row comes into view. */
export const onRowSeen = (act) => {
  whenSeen = act;
};

const inView = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    const market = marketOfRow.get(target);
    if (isIntersecting && market && hasAddress(market.pair)) whenSeen(market);
  }
});

/** @typedef {{ market: Market, closes: string[] | undefined, hasDollars: boolean, onFavourite: () => void }} Shown */

/** Drawn again only if what it shows has changed: there can be a thousand. */
/** @extends {Component<Shown>} */
export class Row extends Component {
  /** @param {Shown} next */
  shouldComponentUpdate({ market: { key, pair, summary, dollars: valued }, closes }) {
    const { market } = this.props;
    return (
      market.summary !== summary ||
      market.pair !== pair ||
      market.dollars !== valued ||
      this.props.closes !== closes ||
      this.isFavourite !== isFavourite(key)
    );
  }

  /** @type {Element | undefined} */
  row;
  isFavourite = false;

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
    const { market, closes, hasDollars, onFavourite } = this.props;
    const { key, pair, summary } = market;
    const { last, lastTime, quoteVol } = summary;
    this.isFavourite = isFavourite(key);
    const keepRow = (/** @type {Element | null} */ row) => {
      if (row !== null) this.row = row;
    };
    return html`<tr class=${pair.active ? "" : "inactive"} ref=${keepRow}>
      <th scope="row">
        <span class="named">
          <button
            type="button"
            class="star"
            aria-pressed=${String(this.isFavourite)}
            aria-label="Favourite ${key}"
            onClick=${() => {
              toggleFavourite(key);
              onFavourite();
            }}
          ></button>
          <span>${marketLink(pair)}${!pair.active && html`<span class="tag">inactive</span>`}</span>
        </span>
      </th>
      <td>${priceOf(summary, "last")}</td>
      <td>${percentChange(summary)}</td>
      ${hasDollars && html`<td>${dollars(market.dollars)}</td>`}
      <td class=${hasDollars ? "wide" : ""}>${volume(quoteVol, pair.quote)}</td>
      <td class="wide range">${priceOf(summary, "high")}</td>
      <td class="wide range">${priceOf(summary, "low")}</td>
      <td class="wide">${lastTime ? html`<${Age} time=${lastTime} />` : "–"}</td>
      <td class="wide">${closes && closes.length > 0 && sparkline(closes, last)}</td>
    </tr>`;
  }
}
