// The book: its sides with what is offered up to each level, as tables.
import { compare, decimalOf, placeOf, placesIn, powerOf, unitsOf } from "./decimal.js";
import { absent, amount, spreadOf, symbol } from "./figures.js";
import { html } from "./html.js";

const SHOWN_LEVELS = 15;
/** The groups of levels, in powers of ten below that of the best price. */
const GROUPS = [4, 3, 2, 1];
const PARAMETER = "group";
const WIDTH = /^(?:10{0,17}|0\.0{0,17}1)$/;

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
  const levels = [...side.values()].sort(
    (one, other) => direction * compare(one.price, other.price),
  );
  return summed(levels);
}

/** @param {readonly { price: string, vol: string }[]} levels */
function summed(levels) {
  let total = 0n;
  return levels.map(({ price, vol }) => {
    total += unitsOf(vol);
    return { price, vol, total: decimalOf(total) };
  });
}

/** The width of the levels taken together, a power of ten; undefined for each level alone. */
export function bookGroup() {
  const asked = new URL(location.href).searchParams.get(PARAMETER) ?? "";
  return WIDTH.test(asked) ? asked : undefined;
}

/**
 * The levels of each width together: bids at the price below them, asks at that above.
 * @param {readonly Step[]} steps
 * @param {1 | -1} direction
 * @param {string} width
 */
function grouped(steps, direction, width) {
  const size = unitsOf(width);
  if (size === 0n) return steps;
  /** @type {Map<bigint, bigint>} */
  const amounts = new Map();
  for (const { price, vol } of steps) {
    const units = unitsOf(price);
    const down = units - (units % size);
    const edge = direction === 1 && down !== units ? down + size : down;
    amounts.set(edge, (amounts.get(edge) ?? 0n) + unitsOf(vol));
  }
  return summed(
    [...amounts].map(([price, vol]) => ({ price: decimalOf(price), vol: decimalOf(vol) })),
  );
}

/** A power of ten. @param {number} power */
const tenTo = (power) => (power >= 0 ? `1${"0".repeat(power)}` : `0.${"0".repeat(-1 - power)}1`);

/**
 * @typedef {{ price: number, vol: number, total: number }} Places How many fractional digits each column has, on both sides.
 * @param {{ caption: string, side: string, steps: readonly Step[], base: string, quote: string, places: Places }} shown
 */
const sideTable = ({ caption, side, steps, base, quote, places }) => {
  const power = powerOf(steps.at(-1)?.total ?? "1");
  const most = placeOf(steps.at(-1)?.total ?? "1", power);
  return html`<table class="side ${side}">
    <caption>
      ${caption}
    </caption>
    <thead>
      <tr>
        <th scope="col">Price ${symbol(quote)}</th>
        <th scope="col">Amount ${symbol(base)}</th>
        <th scope="col">Total ${symbol(base)}</th>
      </tr>
    </thead>
    <tbody>
      ${steps.map(
        ({ price, vol, total }) =>
          html`<tr key=${price} style=${{ "--share": `${(100 * placeOf(total, power)) / most}%` }}>
            <td>${amount(price, places.price)}</td>
            <td>${amount(vol, places.vol)}</td>
            <td>${amount(total, places.total)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
};

/**
 * @param {{
 *   bids: readonly Step[],
 *   asks: readonly Step[],
 *   pair: { base: string, quote: string },
 *   summary: import("./market-copy.js").Summary | undefined,
 *   draw: () => void,
 * }} shown
 */
export function bookTables({ bids, asks, pair, summary, draw }) {
  const best = bids[0] ?? asks[0];
  if (best === undefined) return html`<p>No offer is open.</p>`;
  const group = bookGroup();
  const power = powerOf(best.price);
  const offered = GROUPS.map((below) => tenTo(power - below)).filter((width) => WIDTH.test(width));
  // What was chosen stays, also where the price has another number of digits now.
  const widths = [...new Set([...offered, ...(group === undefined ? [] : [group])])].sort(compare);
  /** @param {readonly Step[]} steps @param {1 | -1} direction */
  const shownOf = (steps, direction) =>
    (group === undefined ? steps : grouped(steps, direction, group)).slice(0, SHOWN_LEVELS);
  const [shownBids, shownAsks] = [shownOf(bids, -1), shownOf(asks, 1)];
  const steps = [...shownBids, ...shownAsks];
  const places = {
    price:
      group === undefined
        ? placesIn(steps.map(({ price }) => price))
        : Math.max(0, -powerOf(group)),
    vol: placesIn(steps.map(({ vol }) => vol)),
    total: placesIn(steps.map(({ total }) => total)),
  };
  const choose = (/** @type {{ currentTarget: HTMLSelectElement }} */ { currentTarget }) => {
    const address = new URL(location.href);
    if (currentTarget.value === "") address.searchParams.delete(PARAMETER);
    else address.searchParams.set(PARAMETER, currentTarget.value);
    history.replaceState(history.state, "", address);
    draw();
  };
  return html`<p class="spread">
      <span>Spread ${summary ? spreadOf(summary) : absent("none")} ${symbol(pair.quote)}</span>
      <label
        >Levels
        <select onChange=${choose}>
          <option value="" selected=${group === undefined}>exact</option>
          ${widths.map(
            (width) =>
              html`<option key=${width} value=${width} selected=${width === group}>
                of ${width}
              </option>`,
          )}
        </select></label
      >
    </p>
    <div class="sides">
      ${sideTable({ caption: "Bids", side: "bids", steps: shownBids, places, ...pair })}
      ${sideTable({ caption: "Asks", side: "asks", steps: shownAsks, places, ...pair })}
    </div>`;
}
