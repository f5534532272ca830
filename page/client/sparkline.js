// The prices of a market's last 24 hours as a small line, read once a row comes into view.
import { compare, placeOf, powerOf } from "./decimal.js";
import { segments } from "./figures.js";
import { html } from "./html.js";
import { read } from "./read-service.js";

const HOURS = 24;
const HOUR_MS = 3_600_000;
const AT_ONCE = 4;
const WIDTH = 96;
const HEIGHT = 24;

/** @typedef {{ base: string, quote: string }} Pair */

/** The hourly closes that are known, by pair; read again in the next hour of the head. */
export class Sparklines {
  /** @type {Map<string, { hour: number, closes: string[] }>} */
  #known = new Map();
  /** @type {Map<string, Pair>} */
  #wanted = new Map();
  #reading = 0;
  #draw;
  #hour = 0;

  /** @param {() => void} draw */
  constructor(draw) {
    this.#draw = draw;
  }

  /** @param {string} time */
  setHead(time) {
    this.#hour = Math.floor(Date.parse(time) / HOUR_MS);
  }

  clear() {
    this.#known.clear();
  }

  /** @param {string} key */
  of(key) {
    return this.#known.get(key)?.closes;
  }

  /**
   * @param {string} key
   * @param {Pair} pair
   */
  want(key, pair) {
    // Without a head there is no trade.
    if (this.#hour === 0 || this.#known.get(key)?.hour === this.#hour) return;
    this.#wanted.set(key, pair);
    if (this.#reading < AT_ONCE) void this.#readWanted();
  }

  async #readWanted() {
    this.#reading += 1;
    for (const [key, pair] of this.#wanted) {
      this.#wanted.delete(key);
      const hour = this.#hour;
      const from = new Date((hour - HOURS) * HOUR_MS).toISOString();
      /** @type {{ close: string }[] | undefined} */
      const candles = await read(
        `/v2/candles/${segments(pair)}?interval=1h&from=${from}`,
        () => true,
      );
      this.#known.set(key, { hour, closes: candles?.map(({ close }) => close) ?? [] });
      this.#draw();
    }
    this.#reading -= 1;
  }
}

/**
 * @param {readonly string[]} closes
 * @param {string} last
 */
export function sparkline(closes, last) {
  const [first = last] = closes;
  const power = powerOf(first);
  const prices = [...closes, last].map((price) => placeOf(price, power));
  const low = Math.min(...prices);
  const span = Math.max(...prices) - low || 1;
  const points = prices.map((price, n) => {
    const x = (n / (prices.length - 1 || 1)) * (WIDTH - 2) + 1;
    const y = HEIGHT - 2 - ((price - low) / span) * (HEIGHT - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  const direction = compare(last, first) < 0 ? "down" : "up";
  return html`<svg
    class="sparkline ${direction}"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    aria-hidden="true"
  >
    <polyline points=${points.join(" ")} />
  </svg>`;
}
