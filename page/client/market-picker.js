// A button that opens a list of markets, of which the reader chooses one.
import { Component } from "preact";
import { hasAddress, name, percentChange, priceOf } from "./figures.js";
import { html } from "./html.js";
import { BY_VOLUME, inOrder, marketsNamed } from "./market-order.js";
import { asOfBlock } from "./past.js";
import { read } from "./read-service.js";

/**
 * @typedef {import("./market-order.js").Market} Market
 * @typedef {import("./market-order.js").Pair} Pair
 * @typedef {import("./market-copy.js").Summary} Summary
 * @typedef {{
 *   title: string,
 *   style?: string,
 *   byKey?: boolean,
 *   isOffered?: (pair: Pair) => boolean,
 *   addressOf: (pair: Pair) => string,
 *   choose?: (pair: Pair) => void,
 * }} Shown With `byKey`, `/` and Ctrl-K open it. Without `choose`, the browser goes to the address.
 */

const SHOWN = 12;

/** @param {EventTarget | null} target */
const isTyping = (target) => target instanceof HTMLInputElement && target.type !== "checkbox";

/** @extends {Component<Shown>} */
export class MarketPicker extends Component {
  /** @type {HTMLDialogElement | undefined} */
  dialog;
  /** By volume, the greatest first. @type {Market[] | undefined} */
  markets;
  sought = "";

  componentDidMount() {
    if (this.props.byKey) document.addEventListener("keydown", this.openByKey);
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
    if (document.querySelector("dialog[open]")) return;
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
    const { isOffered = () => true } = this.props;
    this.markets = Object.entries(pairs)
      .flatMap(([key, pair]) => {
        const summary = summaries[key];
        return summary && hasAddress(pair) && isOffered(pair) ? [{ key, pair, summary }] : [];
      })
      .sort(inOrder(BY_VOLUME, true));
    this.forceUpdate();
  }

  /** @param {Pair} pair */
  choose(pair) {
    const { choose, addressOf } = this.props;
    if (choose === undefined) {
      location.href = addressOf(pair);
      return;
    }
    this.dialog?.close();
    choose(pair);
  }

  /** @param {number} step From the field, or from the link that has the focus. */
  move(step) {
    const places = [...(this.dialog?.querySelectorAll("input, li a") ?? [])];
    const at = places.indexOf(/** @type {Element} */ (document.activeElement));
    const next = places[(at + step + places.length) % places.length];
    if (next instanceof HTMLElement) next.focus();
  }

  render() {
    const { title, style = "", byKey = false, addressOf } = this.props;
    const found = marketsNamed(this.markets ?? [], this.sought);
    return html`<button type="button" class=${style} onClick=${() => this.open()}>
        ${title}${byKey && html` <kbd>/</kbd>`}
      </button>
      <dialog
        class="picker"
        aria-label=${title}
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
            if (first) this.choose(first.pair);
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
            ({ key, pair, summary }) =>
              html`<li key=${key}>
                <a
                  href=${addressOf(pair)}
                  onClick=${(/** @type {MouseEvent} */ event) => {
                    // The browser opens another tab.
                    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                    event.preventDefault();
                    this.choose(pair);
                  }}
                  >${name(pair)}</a
                >
                <span>${priceOf(summary, "last")} ${percentChange(summary)}</span>
              </li>`,
          )}
        </ul>
      </dialog>`;
  }
}
