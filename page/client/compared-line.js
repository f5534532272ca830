// The closes of another market as a line of the chart, each where the candles of the market are.
import { LineSeries } from "lightweight-charts";
import { placeOf, powerOf } from "./decimal.js";

/** @typedef {import("./market-copy.js").Candle} Candle */

export class ComparedLine {
  #series;
  #timeOf;

  /**
   * @param {import("lightweight-charts").IChartApi} chart
   * @param {import("./averages.js").TimeOf} timeOf
   */
  constructor(chart, timeOf) {
    this.#timeOf = timeOf;
    this.#series = chart.addSeries(LineSeries, {
      ...{ lineWidth: 2, visible: false, priceLineVisible: false },
    });
  }

  /** @param {(name: string) => string} colorOf */
  paint(colorOf) {
    this.#series.applyOptions({ color: colorOf("compared") });
  }

  /** Both lists are oldest first. @param {readonly Candle[]} candles @param {readonly Candle[] | undefined} compared */
  set(candles, compared) {
    this.#series.applyOptions({ visible: compared !== undefined });
    const power = powerOf(compared?.at(-1)?.close ?? "1");
    let next = 0;
    this.#series.setData(
      candles.flatMap((candle) => {
        while ((compared?.[next]?.time ?? "~") <= candle.time) next += 1;
        const close = compared?.[next - 1]?.close;
        return close === undefined
          ? []
          : [{ time: this.#timeOf(candle), value: placeOf(close, power) }];
      }),
    );
  }
}
