// Addresses and transactions: short, with a button that copies the whole, and a link to an explorer of the chain.
import { Component } from "preact";
import { html } from "./html.js";

const COPIED_MS = 1500;

/** The operator's templates, if there are any. */
const templates = () => document.getElementById("page")?.dataset ?? {};

/** @param {string} whole */
export const short = (whole) => `${whole.slice(0, 6)}…${whole.slice(-4)}`;

/** Returns whether the clipboard has it. @param {string} text */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page by plain http has no clipboard: the browser's own command is given the text.
    /** @param {ClipboardEvent} event */
    const give = (event) => {
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    addEventListener("copy", give, { capture: true, once: true });
    const isCopied = document.execCommand("copy");
    removeEventListener("copy", give, { capture: true });
    return isCopied;
  }
}

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
        <path d=${this.isCopied ? "M2,9l4,4l8,-10" : "M5,5h8v9h-8zM3,11v-9h7"} />
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

/** @param {string} whole */
export const address = (whole) =>
  html`<span class="address" title=${whole}
    >${short(whole)}<${Copy} text=${whole} />${explorerLink("address", whole)}</span
  >`;

/** @param {string} whole */
export const transaction = (whole) =>
  html`<span class="address" title=${whole}
    >${short(whole)}<${Copy} text=${whole} />${explorerLink("tx", whole)}</span
  >`;
