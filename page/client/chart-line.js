// A line of the chart: the closes, an average of them, the vwap, or the closes of another market. Its values are floats:
// places of pixels, never figures.
import { LineSeries } from "lightweight-charts";
import { placeOf, powerOf } from "./decimal.js";

/**
 * @typedef {import("./market-copy.js").Candle} Candle
 * @typedef {"line" | "averages" | "vwap" | "compared"} Name
 * @typedef {(candles: readonly Candle[], power: number, first: number) => (number | undefined)[]} ValuesOf
 * Of the candles from the first on; undefined where the line has no point.
 */

/** @param {string} iso */
export const secondsOf = (iso) =>
  /** @type {import("lightweight-charts").UTCTimestamp} */ (Date.parse(iso) / 1000);

/** @param {readonly Candle[]} candles @param {number} power @param {number} first */
export const closesOf = (candles, power, first) =>
  candles.slice(first).map(({ close }) => placeOf(close, power));

/** Of `length` closes that end with each candle. @param {number} length @returns {ValuesOf} */
export const averagesOf = (length) => (candles, power, first) => {
  const start = Math.max(0, first - length + 1);
  const places = closesOf(candles, power, start);
  return candles.slice(first).map((_, n) => {
    const end = first + n + 1 - start;
    const averaged = places.slice(Math.max(0, end - length), end);
    if (averaged.length < length) return undefined;
    return averaged.reduce((sum, place) => sum + place, 0) / length;
  });
};

/** None where the trades are of no base: they have no price. @type {ValuesOf} */
export const vwapsOf = (candles, power, first) =>
  candles
    .slice(first)
    .map(({ vol, quoteVol }) =>
      vol === "0" ? undefined : placeOf(quoteVol, power) / placeOf(vol, 0),
    );

/** The last close of the others up to each candle. Both lists are oldest first. @param {readonly Candle[]} candles @param {readonly Candle[]} others */
export function comparedOf(candles, others) {
  const power = powerOf(others.at(-1)?.close ?? "1");
  let next = 0;
  return candles.map(({ time }) => {
    while ((others[next]?.time ?? "~") <= time) next += 1;
    const close = others[next - 1]?.close;
    return close === undefined ? undefined : placeOf(close, power);
  });
}

export class ChartLine {
  name;
  #color;
  #valuesOf;
  #series;

  /**
   * @param {import("lightweight-charts").IChartApi} chart
   * @param {Name} name
   * @param {string} color
   * @param {ValuesOf} valuesOf
   * @param {import("lightweight-charts").LineSeriesPartialOptions} options
   */
  constructor(chart, name, color, valuesOf, options) {
    this.name = name;
    this.#color = color;
    this.#valuesOf = valuesOf;
    this.#series = chart.addSeries(LineSeries, { visible: false, ...options });
  }

  /** @param {boolean} visible */
  show(visible) {
    this.#series.applyOptions({ visible });
  }

  /** @param {(name: string) => string} colorOf */
  paint(colorOf) {
    this.#series.applyOptions({ color: colorOf(this.#color) });
  }

  /** @param {readonly Candle[]} candles @param {number} power */
  set(candles, power) {
    this.#series.setData(this.#points(candles, power, 0));
  }

  /** Draws the last candles again. @param {readonly Candle[]} candles @param {number} power @param {number} fresh */
  update(candles, power, fresh) {
    const points = this.#points(candles, power, candles.length - fresh);
    for (const point of points) this.#series.update(point);
  }

  /** @param {readonly Candle[]} candles @param {number} power @param {number} first */
  #points(candles, power, first) {
    return this.#valuesOf(candles, power, first).flatMap((value, n) => {
      const time = candles[first + n]?.time;
      return time === undefined || value === undefined ? [] : [{ time: secondsOf(time), value }];
    });
  }
}
