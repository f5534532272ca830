// Moving averages of the closes as lines of the chart. They are floats: places of pixels, never figures.
import { LineSeries } from "lightweight-charts";
import { placeOf } from "./decimal.js";

/** @typedef {import("./market-copy.js").Candle} Candle */
/** @typedef {(candle: Candle) => import("lightweight-charts").UTCTimestamp} TimeOf */

/** Of so many candles, each with its color. */
const LENGTHS = [7, 25, 99];

export class Averages {
  #lines;
  #timeOf;

  /**
   * @param {import("lightweight-charts").IChartApi} chart
   * @param {import("lightweight-charts").PriceFormatCustom} priceFormat
   * @param {TimeOf} timeOf
   */
  constructor(chart, priceFormat, timeOf) {
    this.#timeOf = timeOf;
    this.#lines = LENGTHS.map((length) => ({
      length,
      series: chart.addSeries(LineSeries, {
        priceFormat,
        ...{ lineWidth: 1, visible: false, crosshairMarkerVisible: false },
        ...{ priceLineVisible: false, lastValueVisible: false },
      }),
    }));
  }

  /** @param {boolean} visible */
  show(visible) {
    for (const { series } of this.#lines) series.applyOptions({ visible });
  }

  /** @param {(name: string) => string} colorOf */
  paint(colorOf) {
    for (const { length, series } of this.#lines) {
      series.applyOptions({ color: colorOf(`average-${length}`) });
    }
  }

  /** @param {readonly Candle[]} candles @param {number} power */
  set(candles, power) {
    for (const { length, series } of this.#lines) {
      series.setData(this.#pointsOf(candles, power, length, length - 1));
    }
  }

  /** Those of the last candles. @param {readonly Candle[]} candles @param {number} power @param {number} fresh */
  update(candles, power, fresh) {
    for (const { length, series } of this.#lines) {
      const first = Math.max(length - 1, candles.length - fresh);
      for (const point of this.#pointsOf(candles, power, length, first)) series.update(point);
    }
  }

  /**
   * Of `length` closes that end with each candle from `first` on.
   * @param {readonly Candle[]} candles
   * @param {number} power
   * @param {number} length
   * @param {number} first
   */
  #pointsOf(candles, power, length, first) {
    const places = candles.slice(first - length + 1).map(({ close }) => placeOf(close, power));
    return candles.slice(first).map((candle, n) => ({
      time: this.#timeOf(candle),
      value: places.slice(n, n + length).reduce((sum, place) => sum + place, 0) / length,
    }));
  }
}
