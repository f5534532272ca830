// The panel of the candles: the interval, the figures of the candle under the pointer, and the chart.
import { chartButtons, chartChoice } from "./chart-choice.js";
import { placesOf } from "./decimal.js";
import { moment, name, symbol, unmarked } from "./figures.js";
import { html } from "./html.js";
import { INTERVALS } from "./market-copy.js";
import { atBlock } from "./past.js";

/** @typedef {import("./comparison.js").Pair} Pair */

const PRICES = /** @type {const} */ (["open", "high", "low", "close"]);

/** @type {string | undefined} */
let hovered;
/** The largest module by far, read once the figures are shown. @type {typeof import("./chart.js") | undefined} */
let chart;
let isReadingChart = false;

/** @param {() => void} draw */
export async function readChart(draw) {
  if (isReadingChart) return;
  isReadingChart = true;
  chart = await import("./chart.js");
  draw();
}

/**
 * @param {{
 *   copy: import("./market-copy.js").MarketCopy,
 *   comparison: import("./comparison.js").Comparison,
 *   pair: Pair,
 *   choose: (interval: string) => void,
 *   compare: (other: Pair | undefined) => void,
 *   readOlder: () => void,
 *   draw: () => void,
 * }} shown
 */
export function candlesPanel({ copy, comparison, pair, choose, compare, readOlder, draw }) {
  const { candles, candleChanges, interval } = copy;
  const shown = candles.find(({ time }) => time === hovered) ?? candles.at(-1);
  const { quoteVolume } = chartChoice();
  const { pair: other, refused } = comparison;
  const compared = other && shown && comparison.at(shown.time);
  return html`<section aria-labelledby="candles-title" id="candles">
    <div class="tools">
      <h2 id="candles-title">Candles${atBlock()}</h2>
      <div role="group" aria-label="Interval" class="intervals">
        ${Object.keys(INTERVALS).map(
          (one) =>
            html`<button
              type="button"
              key=${one}
              aria-pressed=${String(one === interval)}
              onClick=${() => choose(one)}
            >
              ${one}
            </button>`,
        )}
      </div>
      ${chartButtons({ pair, compared: other, compare, draw })}
    </div>
    <p class="legend">
      ${
        shown
          ? [
              moment(shown.time, true),
              ...PRICES.map(
                (column) =>
                  html`<span>${column} ${unmarked(shown[column], placesOf(shown[column]))}</span>`,
              ),
              html`<span
                >volume ${unmarked(quoteVolume ? shown.quoteVol : shown.vol)}
                ${" "}${symbol(quoteVolume ? pair.quote : pair.base)}</span
              >`,
              compared &&
                html`<span class="compared"
                  >${name(other)} ${unmarked(compared.close, placesOf(compared.close))}</span
                >`,
            ]
          : copy.nothing
      }
    </p>
    ${refused && html`<p role="status">There is no market ${name(refused)} to compare with.</p>`}
    ${
      chart
        ? html`<${chart.Chart}
            choice=${chartChoice()}
            candles=${candles}
            changes=${candleChanges}
            compared=${other && { candles: comparison.copy.candles, changes: comparison.copy.candleChanges }}
            interval=${interval}
            onOlder=${readOlder}
            onHover=${(/** @type {string | undefined} */ time) => {
              hovered = time;
              draw();
            }}
          />`
        : html`<div class="drawn">
            <div class="chart"></div>
            <p class="scrolling"></p>
          </div>`
    }
  </section>`;
}
