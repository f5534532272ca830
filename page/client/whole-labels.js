// A time axis without the labels that its edges would cut.
import { defaultHorzScaleBehavior } from "lightweight-charts";

/** Pixels from the middle of a label to its end. */
const HALF = 30;

const TimeAxis = defaultHorzScaleBehavior();

export class WholeLabels extends TimeAxis {
  /** @type {import("lightweight-charts").IChartApi | undefined} */
  chart;

  /** @param {import("lightweight-charts").InternalHorzScaleItem} item */
  #isCut(item) {
    const scale = this.chart?.timeScale();
    const time = /** @type {import("lightweight-charts").UTCTimestamp} */ (Number(this.key(item)));
    const place = scale?.timeToCoordinate(time) ?? HALF;
    return place < HALF || place > (scale?.width() ?? Infinity) - HALF;
  }

  /**
   * The chart keeps labels by this key, wherever they are.
   * @param {import("lightweight-charts").InternalHorzScaleItem} item
   */
  cacheKey(item) {
    const key = super.cacheKey(item);
    return this.#isCut(item) ? -key : key;
  }

  /** @type {InstanceType<typeof TimeAxis>["formatTickmark"]} */
  formatTickmark(mark, localization) {
    return this.#isCut(mark.time) ? "" : super.formatTickmark(mark, localization);
  }
}
