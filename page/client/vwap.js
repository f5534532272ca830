// The vwap of each candle as a line of the chart: floats, as places of pixels, never figures.
import { LineSeries } from "lightweight-charts";
import { placeOf } from "./decimal.js";

/** @typedef {import("./market-copy.js").Candle} Candle */

export class Vwap {
  #series;
  #timeOf;

  /**
   * @param {import("lightweight-charts").IChartApi} chart
   * @param {import("lightweight-charts").PriceFormatCustom} priceFormat
   * @param {import("./averages.js").TimeOf} timeOf
   */
  constructor(chart, priceFormat, timeOf) {
    this.#timeOf = timeOf;
    this.#series = chart.addSeries(LineSeries, {
      priceFormat,
      ...{ lineWidth: 2, visible: false, crosshairMarkerVisible: false },
      ...{ priceLineVisible: false, lastValueVisible: false },
    });
  }

  /** @param {boolean} visible */
  show(visible) {
    this.#series.applyOptions({ visible });
  }

  /** @param {(name: string) => string} colorOf */
  paint(colorOf) {
    this.#series.applyOptions({ color: colorOf("vwap") });
  }

  /** @param {readonly Candle[]} candles @param {number} power */
  set(candles, power) {
    this.#series.setData(this.#pointsOf(candles, power));
  }

  /** Those of the last candles. @param {readonly Candle[]} candles @param {number} power @param {number} fresh */
  update(candles, power, fresh) {
    for (const point of this.#pointsOf(candles.slice(-fresh), power)) this.#series.update(point);
  }

  /** Without those of trades of no base, which have no price. @param {readonly Candle[]} candles @param {number} power */
  #pointsOf(candles, power) {
    return candles
      .filter(({ vol }) => vol !== "0")
      .map((candle) => ({
        time: this.#timeOf(candle),
        value: placeOf(candle.quoteVol, power) / placeOf(candle.vol, 0),
      }));
  }
}
