// The book: its sides with what is offered up to each level, as a table and as a chart.
import { compare, decimalOf, placeOf, powerOf, unitsOf } from "./decimal.js";
import { amount } from "./figures.js";
import { html } from "./html.js";

const SHOWN_LEVELS = 15;
const WIDTH = 640;
const HEIGHT = 160;

/**
 * @typedef {import("./market-copy.js").Level} Level
 * @typedef {{ price: string, vol: string, total: string }} Step
 */

/**
 * The levels from the best on, with the sum of the amounts up to each.
 * @param {Map<string, Level>} side
 * @param {1 | -1} direction
 * @returns {Step[]}
 */
export function stepsOf(side, direction) {
  let total = 0n;
  return [...side.values()]
    .sort((one, other) => direction * compare(one.price, other.price))
    .map(({ price, vol }) => {
      total += unitsOf(vol);
      return { price, vol, total: decimalOf(total) };
    });
}

/**
 * @param {string} caption
 * @param {string} side
 * @param {readonly Step[]} steps
 */
const sideTable = (caption, side, steps) => {
  const shown = steps.slice(0, SHOWN_LEVELS);
  const power = powerOf(shown.at(-1)?.total ?? "1");
  const most = placeOf(shown.at(-1)?.total ?? "1", power);
  return html`<table class="side ${side}">
    <caption>
      ${caption}
    </caption>
    <thead>
      <tr>
        <th scope="col">Price</th>
        <th scope="col">Amount</th>
        <th scope="col">Total</th>
      </tr>
    </thead>
    <tbody>
      ${shown.map(
        ({ price, vol, total }) =>
          html`<tr key=${price} style=${{ "--share": `${(100 * placeOf(total, power)) / most}%` }}>
            <td>${amount(price)}</td>
            <td>${amount(vol)}</td>
            <td>${amount(total)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
};

/**
 * @param {readonly Step[]} bids
 * @param {readonly Step[]} asks
 */
export const bookTables = (bids, asks) =>
  bids.length + asks.length === 0
    ? html`<p>No offer is open.</p>`
    : html`<div class="sides">
        ${sideTable("Bids", "bids", bids)}${sideTable("Asks", "asks", asks)}
      </div>`;

/**
 * @param {readonly Step[]} bids
 * @param {readonly Step[]} asks
 */
export function depthChart(bids, asks) {
  const best = bids[0] ?? asks[0];
  if (best === undefined) return null;
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
  const volumePower = powerOf([...bids, ...asks].reduce(greatest, best).total);
  const isShown = (/** @type {Step} */ { price }) =>
    Math.abs(placeOf(price, power) - middle) <= half;
  const [shownBids, shownAsks] = [bids.filter(isShown), asks.filter(isShown)];
  const max = Math.max(
    ...[...shownBids, ...shownAsks].map(({ total }) => placeOf(total, volumePower)),
  );
  /** @param {readonly Step[]} steps @param {number} edge */
  const area = (steps, edge) => {
    if (steps.length === 0) return "";
    const points = steps.map(({ price, total }) => ({
      x: ((placeOf(price, power) - middle + half) / (2 * half)) * WIDTH,
      y: HEIGHT - (placeOf(total, volumePower) / max) * (HEIGHT - 8),
    }));
    const stairs = points.map(({ x, y }) => `H${x.toFixed(1)}V${y.toFixed(1)}`).join("");
    return `M${points[0]?.x.toFixed(1)},${HEIGHT}${stairs}H${edge}V${HEIGHT}Z`;
  };
  return html`<svg
    class="depth"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="Depth: what is bid and asked up to each price. The tables of the book have the figures."
  >
    <path class="bids" d=${area(shownBids, 0)} />
    <path class="asks" d=${area(shownAsks, WIDTH)} />
  </svg>`;
}

/** @param {Step} one @param {Step} other */
const greatest = (one, other) => (compare(one.total, other.total) < 0 ? other : one);
