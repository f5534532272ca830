// Addresses and transactions: short, with a button that copies the whole, and a link to an explorer of the chain.
import { Component } from "preact";
import { COPIED, COPIED_MS, copyText } from "./clipboard.js";
import { html } from "./html.js";

/** The operator's templates, if there are any. */
const templates = () => document.getElementById("page")?.dataset ?? {};

/** @param {string} whole */
export const short = (whole) => `${whole.slice(0, 6)}…${whole.slice(-4)}`;

/** @extends {Component<{ text: string }>} */
class Copy extends Component {
  isCopied = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;

  /** @param {boolean} isCopied */
  show(isCopied) {
    this.isCopied = isCopied;
    this.forceUpdate();
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
  }

  render() {
    const { text } = this.props;
    return html`<button
      type="button"
      class="copy ${this.isCopied ? "copied" : ""}"
      aria-label=${this.isCopied ? `Copied ${text}` : `Copy ${text}`}
      title=${this.isCopied ? "Copied" : "Copy"}
      onClick=${() => {
        void copyText(text).then((isCopied) => {
          clearTimeout(this.timer);
          this.show(isCopied);
          this.timer = setTimeout(() => this.show(false), COPIED_MS);
        });
      }}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d=${this.isCopied ? COPIED : "M5,5h8v9h-8zM3,11v-9h7"} />
      </svg>
    </button>`;
  }
}

/** @param {"tx" | "address"} kind @param {string} whole */
function explorerLink(kind, whole) {
  const template = templates()[kind === "tx" ? "explorerTx" : "explorerAddress"];
  if (template === undefined) return null;
  return html`<a
    class="explorer"
    href=${template.replace(`{${kind}}`, encodeURIComponent(whole))}
    rel="noopener noreferrer"
    aria-label="${whole} in the explorer"
    title="In the explorer"
    >↗</a
  >`;
}

/** With a link to the account's page. @param {string} whole */
export const address = (whole) =>
  html`<span class="address" title=${whole}
    ><a href="/accounts/${whole}">${short(whole)}</a
    ><${Copy} text=${whole} />${explorerLink("address", whole)}</span
  >`;

/** @param {string} whole */
export const transaction = (whole) =>
  html`<span class="address" title=${whole}
    >${short(whole)}<${Copy} text=${whole} />${explorerLink("tx", whole)}</span
  >`;
