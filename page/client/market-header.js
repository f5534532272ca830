// What stays on the screen of a market's page: its name, price and change, and the way to another market.
import { Component } from "preact";
import { hasAddress, name, percentChange, price, segments } from "./figures.js";
import { html } from "./html.js";
import { BY_VOLUME, inOrder } from "./market-order.js";
import { asOfBlock } from "./past.js";
import { read } from "./reading.js";

/**
 * @typedef {import("./market-order.js").Market} Market
 * @typedef {import("./market-order.js").Pair} Pair
 * @typedef {import("./market-copy.js").Summary} Summary
 */

const SHOWN = 12;

/** @param {EventTarget | null} target */
const isTyping = (target) => target instanceof HTMLInputElement && target.type !== "checkbox";

/** @extends {Component<Record<string, never>>} */
class Switcher extends Component {
  /** @type {HTMLDialogElement | undefined} */
  dialog;
  /** By volume, the greatest first. @type {Market[] | undefined} */
  markets;
  sought = "";

  componentDidMount() {
    document.addEventListener("keydown", this.openByKey);
  }

  componentWillUnmount() {
    document.removeEventListener("keydown", this.openByKey);
  }

  /** @param {KeyboardEvent} event */
  openByKey = (event) => {
    const isCommand = event.key === "k" && (event.ctrlKey || event.metaKey);
    if (!isCommand && (event.key !== "/" || isTyping(event.target))) return;
    event.preventDefault();
    this.open();
  };

  open() {
    if (this.dialog?.open) return;
    this.sought = "";
    this.dialog?.showModal();
    this.dialog?.querySelector("input")?.focus();
    this.forceUpdate();
    void this.readMarkets();
  }

  async readMarkets() {
    const isWanted = () => this.dialog?.open === true;
    /** @type {[Record<string, Pair> | undefined, Record<string, Summary> | undefined]} */
    const [pairs, summaries] = await Promise.all([
      read("/v1/pairs/", isWanted),
      read(asOfBlock("/v2/summary"), isWanted),
    ]);
    if (pairs === undefined || summaries === undefined) return;
    this.markets = Object.entries(pairs)
      .flatMap(([key, pair]) => {
        const summary = summaries[key];
        return summary && hasAddress(pair) ? [{ key, pair, summary }] : [];
      })
      .sort(inOrder(BY_VOLUME, true));
    this.forceUpdate();
  }

  /** @param {number} step From the field, or from the link that has the focus. */
  move(step) {
    const places = [...(this.dialog?.querySelectorAll("input, li a") ?? [])];
    const at = places.indexOf(/** @type {Element} */ (document.activeElement));
    const next = places[(at + step + places.length) % places.length];
    if (next instanceof HTMLElement) next.focus();
  }

  render() {
    const words = this.sought
      .trim()
      .toUpperCase()
      .split(/[\s/]+/);
    const found = (this.markets ?? []).filter(({ key }) =>
      words.every((word) => key.toUpperCase().includes(word)),
    );
    const addressOf = (/** @type {Market} */ { pair }) =>
      `/markets/${segments(pair)}${location.search}`;
    return html`<button type="button" class="switch" onClick=${() => this.open()}>
        Other market <kbd>/</kbd>
      </button>
      <dialog
        class="switcher"
        aria-label="Other market"
        ref=${(/** @type {HTMLDialogElement | null} */ dialog) => {
          if (dialog !== null) this.dialog = dialog;
        }}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          this.move(step);
        }}
      >
        <form
          role="search"
          onSubmit=${(/** @type {Event} */ event) => {
            event.preventDefault();
            const [first] = found;
            if (first) location.href = addressOf(first);
          }}
        >
          <label
            >Market
            <input
              type="text"
              autocomplete="off"
              value=${this.sought}
              onInput=${(/** @type {{ currentTarget: HTMLInputElement }} */ event) => {
                this.sought = event.currentTarget.value;
                this.forceUpdate();
              }}
          /></label>
          <button type="button" onClick=${() => this.dialog?.close()}>Close</button>
        </form>
        <p role="status">
          ${this.markets === undefined ? "Reading the markets" : `${found.length} of ${this.markets.length} markets`}
        </p>
        <ul>
          ${found.slice(0, SHOWN).map(
            (market) =>
              html`<li key=${market.key}>
                <a href=${addressOf(market)}>${name(market.pair)}</a>
                <span>${price(market.summary.last)} ${percentChange(market.summary)}</span>
              </li>`,
          )}
        </ul>
      </dialog>`;
  }
}

/**
 * @param {{ pair: { base: string, quote: string }, isActive: boolean, summary: Summary | undefined, isPast: boolean }} shown
 */
export const marketHeader = ({ pair, isActive, summary, isPast }) =>
  html`<header class="bar">
    <a href="/">All markets${isPast && " now"}</a>
    <h1>${name(pair)}${!isActive && html` <span class="tag">inactive</span>`}</h1>
    ${
      summary &&
      html`<p class="price">
        ${price(summary.last)} <bdi>${pair.quote}</bdi> ${percentChange(summary)}
      </p>`
    }
    <${Switcher} />
  </header>`;
