// The depth: what is offered up to each price, as a chart with a reading under the pointer.
import { Component } from "preact";
import { compare, middleOf, placeOf, powerOf } from "./decimal.js";
import { unmarked } from "./figures.js";
import { html } from "./html.js";

const WIDTH = 640;
const HEIGHT = 160;

/**
 * @typedef {import("./book.js").Step} Step
 * @typedef {{ bids: readonly Step[], asks: readonly Step[], base: string, quote: string }} Shown
 * @typedef {{ step: Step, side: "bid" | "asked", x: number, y: number }} Point
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

/** @extends {Component<Shown>} */
export class Depth extends Component {
  /** The price that the reader points at. @type {string | undefined} */
  pointed;

  /** @param {string | undefined} price */
  point(price) {
    if (price === this.pointed) return;
    this.pointed = price;
    this.forceUpdate();
  }

  render() {
    const { bids, asks, base, quote } = this.props;
    const { ofBids, ofAsks, greatest } = pointsOf(bids, asks);
    // From left to right.
    const points = [...ofBids.toReversed(), ...ofAsks];
    const at = points.findIndex(({ step }) => step.price === this.pointed);
    const pointed = points[at];
    const [bid, ask] = [bids[0], asks[0]];
    const [first, last] = [points[0], points.at(-1)];
    const onMove = (/** @type {PointerEvent & { currentTarget: Element }} */ event) => {
      const { left, width } = event.currentTarget.getBoundingClientRect();
      const x = ((event.clientX - left) / width) * WIDTH;
      const nearest = points.reduce((one, other) =>
        Math.abs(other.x - x) < Math.abs(one.x - x) ? other : one,
      );
      this.point(nearest.step.price);
    };
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") this.point(undefined);
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const next = at === -1 ? ofBids.length : Math.min(points.length - 1, Math.max(0, at + step));
      this.point((points[next] ?? last)?.step.price);
    };
    return html`<p class="reading" role=${pointed ? "status" : undefined}>
        ${
          pointed
            ? html`<span>${unmarked(pointed.step.total)} <bdi>${base}</bdi> ${pointed.side}</span>
                <span>up to ${unmarked(pointed.step.price)} <bdi>${quote}</bdi></span>`
            : bid && ask
              ? html`<span
                  >Mid price ${unmarked(middleOf(bid.price, ask.price))} <bdi>${quote}</bdi></span
                >`
              : "Offers on one side only."
        }
      </p>
      <p class="axis" aria-hidden="true">
        <span>${unmarked(greatest.total)} <bdi>${base}</bdi></span>
      </p>
      <svg
        class="depth"
        viewBox="0 0 ${WIDTH} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        tabindex="0"
        aria-label="Depth: what is bid and asked up to each price. The arrow keys read the levels; the tables of the book have the figures."
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
        <span>${bid && ask ? unmarked(middleOf(bid.price, ask.price)) : ""}</span>
        <span>${last && last !== first && unmarked(last.step.price)}</span>
      </p>`;
  }
}
