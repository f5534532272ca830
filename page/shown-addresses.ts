// Addresses and transactions in the documents of the server: short, with links and a button for browsers that run scripts.
import type { Explorer } from "./document.ts";
import { html, type Html } from "./html.ts";
import { symbolOf } from "./shown-figures.ts";

const short = (whole: string): string => `${whole.slice(0, 6)}…${whole.slice(-4)}`;

/** Shown by the module, as it needs a script. */
const copyButton = (whole: string): Html =>
  html`<button
    type="button"
    class="copy"
    data-copy="${whole}"
    aria-label="Copy ${whole}"
    title="Copy"
    hidden
  >
    <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M5,5h8v9h-8zM3,11v-9h7" /></svg>
  </button>`;

function explorerLink(explorer: Explorer, kind: "tx" | "address", whole: string): Html | string {
  const template = explorer[kind];
  if (template === undefined) return "";
  return html`<a
    class="explorer"
    href="${template.replace(`{${kind}}`, encodeURIComponent(whole))}"
    rel="noopener noreferrer"
    aria-label="${whole} in the explorer"
    title="In the explorer"
    >↗</a
  >`;
}

/** A link to the account's page. */
export const accountOf = (whole: string, explorer: Explorer): Html =>
  html`<span class="address" title="${whole}"
    ><a href="/accounts/${whole}">${short(whole)}</a>${copyButton(whole)}${explorerLink(
      explorer,
      "address",
      whole,
    )}</span
  >`;

/** The address of the page itself, whole. */
export const wholeAccountOf = (whole: string, explorer: Explorer): Html =>
  html`<span class="address whole"
    >${whole}${copyButton(whole)}${explorerLink(explorer, "address", whole)}</span
  >`;

export const transactionOf = (whole: string, explorer: Explorer): Html =>
  html`<span class="address" title="${whole}"
    >${short(whole)}${copyButton(whole)}${explorerLink(explorer, "tx", whole)}</span
  >`;

/** A token by its symbol, else by its address. */
export const tokenOf = (symbol: string | null, gem: string): Html =>
  symbol === null ? html`<span title="${gem}">${short(gem)}</span>` : symbolOf(symbol);
