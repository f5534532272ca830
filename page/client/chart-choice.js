// How the reader wants the chart: kept in the address.
import { addressComparing } from "./comparison.js";
import { name as nameOf, segments, symbol } from "./figures.js";
import { html } from "./html.js";
import { MarketPicker } from "./market-picker.js";

/**
 * @typedef {{ line: boolean, quoteVolume: boolean, averages: boolean, vwap: boolean, log: boolean }} Choice
 * @typedef {keyof Choice} Name
 */

/** @type {readonly Name[]} */
const NAMES = ["line", "quoteVolume", "averages", "vwap", "log"];
const PARAMETER = "chart";

/** @returns {Choice} */
export function chartChoice() {
  const asked = (new URL(location.href).searchParams.get(PARAMETER) ?? "").split(",");
  return /** @type {Choice} */ (
    Object.fromEntries(NAMES.map((name) => [name, asked.includes(name)]))
  );
}

/** @param {Name} name */
function toggle(name) {
  const choice = chartChoice();
  const chosen = NAMES.filter((one) => choice[one] !== (one === name));
  const address = new URL(location.href);
  if (chosen.length > 0) address.searchParams.set(PARAMETER, chosen.join(","));
  else address.searchParams.delete(PARAMETER);
  history.replaceState(history.state, "", address);
}

/** @param {Event & { currentTarget: Element }} event */
function fillScreen({ currentTarget }) {
  if (document.fullscreenElement) void document.exitFullscreen();
  else void currentTarget.closest("section")?.requestFullscreen();
}

/** @typedef {import("./comparison.js").Pair} Pair */

/**
 * Chooses another market, or ends the comparison.
 * @param {{ pair: Pair, compared: Pair | undefined, compare: (other: Pair | undefined) => void }} shown
 */
const comparing = ({ pair, compared, compare }) =>
  compared
    ? html`<button type="button" aria-pressed="true" onClick=${() => compare(undefined)}>
        Compared with ${nameOf(compared)} <span aria-hidden="true">×</span>
      </button>`
    : html`<${MarketPicker}
        title="Compare"
        isOffered=${(/** @type {Pair} */ other) => segments(other) !== segments(pair)}
        addressOf=${addressComparing}
        choose=${compare}
      />`;

/**
 * @param {{ pair: Pair, compared: Pair | undefined, compare: (other: Pair | undefined) => void, draw: () => void }} shown
 */
export function chartButtons({ draw, ...shown }) {
  const choice = chartChoice();
  /** @type {Record<Name, unknown>} */
  const titles = {
    line: "Line",
    quoteVolume: html`Volume in ${symbol(shown.pair.quote)}`,
    averages: "Averages of 7, 25, 99",
    vwap: "Vwap",
    log: "Log axis",
  };
  return html`<div role="group" aria-label="Chart" class="intervals">
    ${NAMES.map(
      (name) =>
        html`<button
          type="button"
          key=${name}
          aria-pressed=${String(choice[name])}
          onClick=${() => {
            toggle(name);
            draw();
          }}
        >
          ${titles[name]}
        </button>`,
    )}
    ${comparing(shown)}
    <button type="button" onClick=${fillScreen}>Full screen</button>
  </div>`;
}
