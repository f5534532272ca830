// Addresses and transactions: short, with a button that copies the whole, and a link to an explorer of the chain.
import { COPY } from "./clipboard.js";
import { html } from "./html.js";

/** The operator's templates, if there are any. */
const templates = () => document.getElementById("page")?.dataset ?? {};

/** @param {string} whole */
export const short = (whole) => `${whole.slice(0, 6)}…${whole.slice(-4)}`;

/** @param {string} whole */
const copyButton = (whole) =>
  html`<button
    type="button"
    class="copy"
    data-copy=${whole}
    aria-label="Copy ${whole}"
    title="Copy"
  >
    <svg viewBox="0 0 16 16" aria-hidden="true"><path d=${COPY} /></svg>
  </button>`;

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
    >${copyButton(whole)}${explorerLink("address", whole)}</span
  >`;

/** @param {string} whole */
export const transaction = (whole) =>
  html`<span class="address" title=${whole}
    >${short(whole)}${copyButton(whole)}${explorerLink("tx", whole)}</span
  >`;
