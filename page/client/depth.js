// The depth: what is offered up to each price, as a chart with a reading under the pointer.
import { Component } from "preact";
import { compare, middleOf, placeOf, powerOf, shortened } from "./decimal.js";
import { symbol, unmarked } from "./figures.js";
import { html } from "./html.js";

const WIDTH = 640;
const HEIGHT = 160;

/**
 * @typedef {import("./book.js").Step} Step
 * @typedef {{ bids: readonly Step[], asks: readonly Step[], base: string, quote: string }} Shown
 * @typedef {{ step: Step, side: "bid" | "asked", key: string, x: number, y: number }} Point
 */

/** @param {readonly Step[]} bids @param {readonly Step[]} asks */
function pointsOf(bids, asks) {
  const best = /** @type {Step} */ (bids[0] ?? asks[0]);
  const power = powerOf(best.price);
  const [bidPrices, askPrices] = [bids, asks].map((steps) =>
    steps.map(({ price }) => placeOf(price, power)),
  );
  const [highestBid = NaN] = bidPrices ?? [];
  const [lowestAsk = highestBid] = askPrices ?? [];
  const middle = ((highestBid || lowestAsk) + lowestAsk) / 2;
  // An offer far from the market must not make a point of the rest: twice the distance of the middle level.
  const distances = [bidPrices, askPrices].map((prices = []) =>
    Math.abs((prices[Math.floor(prices.length / 2)] ?? middle) - middle),
  );
  const half = 2 * Math.max(...distances) || middle || 1;
  const isShown = (/** @type {Step} */ { price }) =>
    Math.abs(placeOf(price, power) - middle) <= half;
  const shown = [bids.filter(isShown), asks.filter(isShown)];
  const greatest = shown
    .flat()
    .reduce((one, other) => (compare(one.total, other.total) < 0 ? other : one), best);
  const volumePower = powerOf(greatest.total);
  const max = placeOf(greatest.total, volumePower);
  const [ofBids = [], ofAsks = []] = shown.map((steps, n) =>
    steps.map((step) => ({
      step,
      side: /** @type {Point["side"]} */ (n === 0 ? "bid" : "asked"),
      // A bid and an ask can have one price.
      key: `${n} ${step.price}`,
      x: ((placeOf(step.price, power) - middle + half) / (2 * half)) * WIDTH,
      y: HEIGHT - (placeOf(step.total, volumePower) / max) * (HEIGHT - 8),
    })),
  );
  return { ofBids, ofAsks, greatest };
}

/** @param {readonly Point[]} points @param {number} edge */
function area(points, edge) {
  if (points.length === 0) return "";
  const stairs = points.map(({ x, y }) => `H${x.toFixed(1)}V${y.toFixed(1)}`).join("");
  return `M${points[0]?.x.toFixed(1)},${HEIGHT}${stairs}H${edge}V${HEIGHT}Z`;
}

/** How many levels a page key passes. */
const PAGE = 5;

/**
 * The level to which a key goes, from left to right; from none to the best of the side.
 * @param {string} key
 * @param {number} at -1 for none.
 * @param {number} bids
 * @param {number} levels
 */
function targetOf(key, at, bids, levels) {
  if (key === "Home") return 0;
  if (key === "End") return levels - 1;
  const step = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -PAGE,
    PageUp: PAGE,
  }[key];
  if (step === undefined) return undefined;
  if (at === -1) return step < 0 ? bids - 1 : bids;
  return at + step;
}

/** @extends {Component<Shown>} */
export class Depth extends Component {
  /** The key of the point that the reader points at. @type {string | undefined} */
  pointed;

  /** @param {string | undefined} key */
  point(key) {
    if (key === this.pointed) return;
    this.pointed = key;
    this.forceUpdate();
  }

  render() {
    const { bids, asks, base, quote } = this.props;
    const { ofBids, ofAsks, greatest } = pointsOf(bids, asks);
    // From left to right.
    const points = [...ofBids.toReversed(), ...ofAsks];
    const at = points.findIndex(({ key }) => key === this.pointed);
    const pointed = points[at];
    const [bid, ask] = [bids[0], asks[0]];
    const [first, last] = [points[0], points.at(-1)];
    const onMove = (/** @type {PointerEvent & { currentTarget: Element }} */ event) => {
      const { left, width } = event.currentTarget.getBoundingClientRect();
      const x = ((event.clientX - left) / width) * WIDTH;
      const nearest = points.reduce((one, other) =>
        Math.abs(other.x - x) < Math.abs(one.x - x) ? other : one,
      );
      this.point(nearest.key);
    };
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") this.point(undefined);
      const to = targetOf(event.key, at, ofBids.length, points.length);
      if (to === undefined) return;
      event.preventDefault();
      this.point(points[Math.min(points.length - 1, Math.max(0, to))]?.key);
    };
    const middle = bid && ask && middleOf(bid.price, ask.price);
    const inWords = pointed
      ? `${shortened(pointed.step.total)} ${base} ${pointed.side} up to ${shortened(pointed.step.price)} ${quote}`
      : middle
        ? `Mid price ${shortened(middle)} ${quote}`
        : "Offers on one side only";
    return html`<p class="reading">
        ${
          pointed
            ? html`<span>${unmarked(pointed.step.total)} ${symbol(base)} ${pointed.side}</span>
                <span>up to ${unmarked(pointed.step.price)} ${symbol(quote)}</span>`
            : middle
              ? html`<span>Mid price ${unmarked(middle)} ${symbol(quote)}</span>`
              : "Offers on one side only."
        }
      </p>
      <p class="axis" aria-hidden="true">
        <span>${unmarked(greatest.total)} ${symbol(base)}</span>
      </p>
      <svg
        class="depth"
        viewBox="0 0 ${WIDTH} ${HEIGHT}"
        preserveAspectRatio="none"
        role="slider"
        tabindex="0"
        aria-label="Depth: what is bid and asked up to each price"
        aria-valuemin="1"
        aria-valuemax=${points.length}
        aria-valuenow=${at === -1 ? Math.max(1, ofBids.length) : at + 1}
        aria-valuetext=${inWords}
        onPointerMove=${onMove}
        onPointerLeave=${() => this.point(undefined)}
        onBlur=${() => this.point(undefined)}
        onKeyDown=${onKey}
      >
        <path class="bids" d=${area(ofBids, 0)} />
        <path class="asks" d=${area(ofAsks, WIDTH)} />
        <path class="middle" d="M${WIDTH / 2},0V${HEIGHT}" />
        ${pointed && html`<path class="pointed" d="M${pointed.x.toFixed(1)},0V${HEIGHT}" />`}
      </svg>
      <p class="axis" aria-hidden="true">
        <span>${first && unmarked(first.step.price)}</span>
        <span>${middle ? unmarked(middle) : ""}</span>
        <span>${last && last !== first && unmarked(last.step.price)}</span>
      </p>`;
  }
}
