// The candles and volumes as a chart. Its numbers are floats, for places of pixels only.
import {
  CandlestickSeries,
  ColorType,
  createChartEx,
  HistogramSeries,
  PriceScaleMode,
  TickMarkType,
} from "lightweight-charts";
import { Component } from "preact";
import { averagesOf, ChartLine, closesOf, comparedOf, secondsOf, vwapsOf } from "./chart-line.js";
import { placeOf, powerOf, shifted, shortened } from "./decimal.js";
import { html } from "./html.js";
import { aroundOne, labelsOf } from "./price-axis.js";
import { dayAndClock, formatted, inUtc } from "./times.js";
import { WholeLabels } from "./whole-labels.js";

/**
 * @typedef {import("./market-copy.js").Candle} Candle
 * @typedef {{
 *   candles: Candle[],
 *   changes: number,
 *   interval: string,
 *   choice: import("./chart-choice.js").Choice,
 *   compared: { candles: Candle[], changes: number } | undefined,
 *   onOlder: () => void,
 *   onHover: (time: string | undefined) => void,
 * }} Shown
 */

/** Prices between these powers of ten need no scale. */
const PLAIN_POWERS = { min: -2, max: 8 };
const PLACES = 8;
/** Older candles are read when fewer than these are left of the screen. */
const AHEAD = 20;
const SCROLL = 30;
const RIGHT_OFFSET = 4;
/** Of so many closes, each with its color. */
const AVERAGES = [7, 25, 99];
/** @type {Intl.DateTimeFormatOptions} */
const YEAR = { year: "numeric" };

/** @type {Record<number, Intl.DateTimeFormatOptions>} */
const TICKS = {
  [TickMarkType.Year]: YEAR,
  [TickMarkType.Month]: { month: "short" },
  [TickMarkType.DayOfMonth]: { day: "numeric", month: "short" },
  [TickMarkType.Time]: { hour: "2-digit", minute: "2-digit" },
  [TickMarkType.TimeWithSeconds]: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
};

/** @param {readonly Candle[]} candles @param {"close" | "vol" | "quoteVol"} column */
function scaleOf(candles, column) {
  const power = powerOf(candles.at(-1)?.[column] ?? "1");
  return power >= PLAIN_POWERS.min && power <= PLAIN_POWERS.max ? 0 : power;
}

/** @extends {Component<Shown>} */
export class Chart extends Component {
  /** @type {import("lightweight-charts").IChartApi | undefined} */
  #chart;
  /** @type {import("lightweight-charts").ISeriesApi<"Candlestick"> | undefined} */
  #prices;
  /** @type {import("lightweight-charts").ISeriesApi<"Histogram"> | undefined} */
  #volumes;
  /** @type {ChartLine[]} */
  #lines = [];
  #comparedChanges = -1;
  #shownAs = "";
  /** @type {Candle[]} */
  #drawn = [];
  #changes = -1;
  #interval = "";
  #isUtc = inUtc();
  #power = 0;
  #volumePower = 0;
  #scheme = matchMedia("(prefers-color-scheme: dark)");
  #stillness = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {HTMLElement | null} */
  #place = null;

  componentDidMount() {
    if (this.#place === null) return;
    const axis = new WholeLabels();
    /** @type {import("lightweight-charts").DeepPartial<import("lightweight-charts").TimeChartOptions>} */
    const options = {
      autoSize: true,
      // It goes on scrolling after a touch has ended.
      kineticScroll: { touch: !this.#stillness.matches },
      // The page has the notice and the link that the licence asks for; the logo's style would be inline.
      layout: { attributionLogo: false },
      timeScale: {
        timeVisible: true,
        // The label of the newest candle would be cut.
        rightOffset: RIGHT_OFFSET,
        tickMarkFormatter: (/** @type {number} */ time, /** @type {number} */ type) =>
          formatted(time * 1000, TICKS[type] ?? YEAR),
      },
      localization: { timeFormatter: (/** @type {number} */ time) => dayAndClock(time * 1000) },
    };
    const chart = createChartEx(this.#place, axis, options);
    this.#chart = chart;
    axis.chart = chart;
    const textOf = (/** @type {number} */ place) => shifted(place.toFixed(PLACES), this.#power);
    /** @type {import("lightweight-charts").PriceFormatCustom} */
    const priceFormat = {
      type: "custom",
      minMove: 10 ** -PLACES,
      formatter: (/** @type {number} */ place) => shortened(textOf(place)),
      tickmarksFormatter: (/** @type {number[]} */ places) => labelsOf(places.map(textOf)),
    };
    /** Percents have a range of their own around none. */
    const autoscaleInfoProvider = (
      /** @type {() => import("lightweight-charts").AutoscaleInfo | null} */ read,
    ) => (this.props.compared ? read() : aroundOne(read()));
    const onAxis = { priceFormat, autoscaleInfoProvider };
    this.#prices = chart.addSeries(CandlestickSeries, onAxis);
    const withoutMarks = {
      ...{ ...onAxis, crosshairMarkerVisible: false },
      ...{ priceLineVisible: false, lastValueVisible: false },
    };
    /** @param {readonly Candle[]} candles */
    const ofCompared = (candles) => comparedOf(candles, this.props.compared?.candles ?? []);
    this.#lines = [
      new ChartLine(chart, "line", "link", closesOf, { ...onAxis, lineWidth: 2 }),
      ...AVERAGES.map((length) => {
        const options = /** @type {const} */ ({ ...withoutMarks, lineWidth: 1 });
        return new ChartLine(chart, "averages", `average-${length}`, averagesOf(length), options);
      }),
      new ChartLine(chart, "vwap", "vwap", vwapsOf, { ...withoutMarks, lineWidth: 2 }),
      new ChartLine(chart, "compared", "compared", ofCompared, {
        ...{ lineWidth: 2, priceLineVisible: false },
      }),
    ];
    this.#volumes = chart.addSeries(HistogramSeries, {
      priceScaleId: "volume",
      lastValueVisible: false,
      priceLineVisible: false,
    });
    this.#volumes.priceScale().applyOptions({ scaleMargins: { top: 0.8, bottom: 0 } });
    this.#prices.priceScale().applyOptions({ scaleMargins: { top: 0.05, bottom: 0.25 } });
    chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
      if (range !== null && range.from < AHEAD && this.#drawn.length > 0) this.props.onOlder();
    });
    chart.subscribeCrosshairMove(({ time }) => {
      const hovered = time === undefined ? undefined : new Date(Number(time) * 1000).toISOString();
      this.props.onHover(hovered);
    });
    this.#scheme.addEventListener("change", this.#paint);
    this.#paint();
    this.#show();
  }

  componentDidUpdate() {
    this.#show();
  }

  componentWillUnmount() {
    this.#scheme.removeEventListener("change", this.#paint);
    this.#chart?.remove();
  }

  #paint = () => {
    const style = getComputedStyle(document.documentElement);
    const color = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
    const [up, down, line] = [color("up"), color("down"), color("line")];
    this.#chart?.applyOptions({
      layout: {
        background: { type: ColorType.Solid, color: color("panel") },
        textColor: color("text"),
      },
      grid: { vertLines: { color: line }, horzLines: { color: line } },
      timeScale: { borderColor: line },
      // A label at the edge would be cut.
      rightPriceScale: { borderColor: line, entireTextOnly: true },
    });
    this.#prices?.applyOptions({
      ...{ upColor: up, wickUpColor: up, borderUpColor: up },
      ...{ downColor: down, wickDownColor: down, borderDownColor: down },
    });
    this.#volumes?.applyOptions({ color: color("faint") });
    for (const one of this.#lines) one.paint(color);
  };

  /** Shows the series that the reader has chosen. Returns whether that changed. */
  #choose() {
    const { choice, compared } = this.props;
    const shown = { ...choice, compared: compared !== undefined };
    const shownAs = JSON.stringify(shown);
    if (shownAs === this.#shownAs) return false;
    this.#shownAs = shownAs;
    this.#prices?.applyOptions({ visible: !choice.line });
    for (const line of this.#lines) line.show(shown[line.name]);
    // Prices of two markets compare by what they have changed since the first that is shown.
    const plain = choice.log ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal;
    const mode = compared ? PriceScaleMode.Percentage : plain;
    this.#prices?.priceScale().applyOptions({ mode });
    return true;
  }

  #show() {
    const { candles, changes, interval, compared } = this.props;
    const isChosen = this.#choose();
    if (this.#isUtc !== inUtc()) {
      this.#isUtc = inUtc();
      // Makes the labels anew.
      this.#chart?.applyOptions({ localization: {} });
    }
    const comparedChanges = compared?.changes ?? -1;
    if (changes === this.#changes && comparedChanges === this.#comparedChanges && !isChosen) return;
    this.#comparedChanges = comparedChanges;
    const [power, volumePower] = [scaleOf(candles, "close"), scaleOf(candles, this.#volumeColumn)];
    const isSameScale = power === this.#power && volumePower === this.#volumePower;
    const isSame = isSameScale && !isChosen && interval === this.#interval;
    const fresh = isSame ? this.#fresh(candles) : undefined;
    this.#power = power;
    this.#volumePower = volumePower;
    if (fresh === undefined) {
      this.#prices?.setData(candles.map(this.#candle));
      this.#volumes?.setData(candles.map(this.#volume));
    } else {
      for (const candle of fresh) {
        this.#prices?.update(this.#candle(candle));
        this.#volumes?.update(this.#volume(candle));
      }
    }
    for (const line of this.#lines) {
      // The other market may have changed anywhere.
      if (fresh === undefined || line.name === "compared") line.set(candles, power);
      else line.update(candles, power, fresh.length);
    }
    if (interval !== this.#interval && candles.length > 0) {
      this.#interval = interval;
      this.#chart?.timeScale().resetTimeScale();
    }
    this.#drawn = candles;
    this.#changes = changes;
  }

  /** The last candles, if only they differ from those drawn; each candle is one object until it changes. */
  #fresh(/** @type {Candle[]} */ candles) {
    const last = this.#drawn.length - 1;
    if (last < 0 || candles.length <= last) return undefined;
    for (let n = 0; n < last; n += 1) if (candles[n] !== this.#drawn[n]) return undefined;
    return candles[last]?.time === this.#drawn[last]?.time ? candles.slice(last) : undefined;
  }

  #candle = (/** @type {Candle} */ { time, open, high, low, close }) => ({
    time: secondsOf(time),
    open: placeOf(open, this.#power),
    high: placeOf(high, this.#power),
    low: placeOf(low, this.#power),
    close: placeOf(close, this.#power),
  });

  get #volumeColumn() {
    return this.props.choice.quoteVolume ? /** @type {const} */ ("quoteVol") : "vol";
  }

  #volume = (/** @type {Candle} */ candle) => ({
    time: secondsOf(candle.time),
    value: placeOf(candle[this.#volumeColumn], this.#volumePower),
  });

  /** @param {number} candles */
  #scroll(candles) {
    const scale = this.#chart?.timeScale();
    scale?.scrollToPosition(scale.scrollPosition() + candles, false);
  }

  #scrollToNewest() {
    const scale = this.#chart?.timeScale();
    if (this.#stillness.matches) scale?.scrollToPosition(scale.options().rightOffset, false);
    else scale?.scrollToRealTime();
  }

  render() {
    const place = (/** @type {HTMLElement | null} */ element) => (this.#place = element);
    return html`<div class="drawn">
      <div
        class="chart"
        ref=${place}
        role="img"
        aria-label="Candles of ${this.props.interval}"
      ></div>
      <p class="scrolling">
        <button type="button" onClick=${() => this.#scroll(-SCROLL)}>Earlier</button>
        <button type="button" onClick=${() => this.#scroll(SCROLL)}>Later</button>
        <button type="button" onClick=${() => this.#scrollToNewest()}>Newest</button>
      </p>
    </div>`;
  }
}
