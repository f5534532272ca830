// Which trades of a market the reader wants to see, by size and by address: kept in the page's address.
import { compare } from "./decimal.js";
import { symbol } from "./figures.js";
import { html } from "./html.js";
import { tradesTable } from "./tables.js";

/**
 * @typedef {import("./market-copy.js").Trade} Trade
 * @typedef {import("./trade-details.js").Details} Details
 * @typedef {{ least: string, account: string }} Filter
 * @typedef {{ trades: readonly Trade[], pair: { base: string, quote: string }, detailsOf: (id: number) => Details | undefined, changed: () => void }} Shown
 */

/** Of so many of the newest trades. */
const FILTERED = 200;
/** So many digits as an amount has. */
const AMOUNT = /^\d{1,60}(\.\d{1,18})?$/;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

/** What the address of the page asks for; empty for any. @returns {Filter} */
function asked() {
  const given = new URL(location.href).searchParams;
  return { least: (given.get("least") ?? "").trim(), account: (given.get("account") ?? "").trim() };
}

/** What is wrong with it. @param {Filter} filter */
const problemsOf = ({ least, account }) => [
  ...(least && !AMOUNT.test(least)
    ? ["The smallest amount must be a decimal number such as 0.5."]
    : []),
  ...(account && !ADDRESS.test(account)
    ? ["The address must be 0x and 40 hexadecimal digits."]
    : []),
];

/** Changes with the filter; empty without one. */
export function filterKey() {
  const { least, account } = asked();
  return least || account ? JSON.stringify([least, account]) : "";
}

/** How many of the newest are read. @param {number} unfiltered */
export const tradesWanted = (unfiltered) => (filterKey() ? FILTERED : unfiltered);

/** @param {Trade} trade @param {Details | undefined} details @param {Filter} filter */
function isWanted({ volume }, details, { least, account }) {
  if (least && compare(volume, least) < 0) return false;
  const sought = account.toLowerCase();
  return !account || [details?.maker, details?.taker].some((one) => one?.toLowerCase() === sought);
}

/** @param {HTMLFormElement} form @param {() => void} changed */
function choose(form, changed) {
  const address = new URL(location.href);
  const given = new FormData(form);
  for (const name of ["least", "account"]) {
    const text = String(given.get(name) ?? "").trim();
    if (text) address.searchParams.set(name, text);
    else address.searchParams.delete(name);
  }
  history.replaceState(history.state, "", address);
  changed();
}

/** @param {Shown} shown */
export function filteredTrades({ trades, pair, detailsOf, changed }) {
  const filter = asked();
  const problems = problemsOf(filter);
  const isOn = filterKey() !== "" && problems.length === 0;
  const wanted = isOn
    ? trades.filter((trade) => isWanted(trade, detailsOf(trade.id), filter))
    : trades;
  return html`<form
      class="blocks"
      aria-label="Filter of trades"
      onSubmit=${(/** @type {SubmitEvent & { currentTarget: HTMLFormElement }} */ event) => {
        event.preventDefault();
        choose(event.currentTarget, changed);
      }}
    >
      <label
        >Amount from
        <input
          type="text"
          name="least"
          inputmode="decimal"
          autocomplete="off"
          size="8"
          key=${`least ${filter.least}`}
          defaultValue=${filter.least}
        />
        ${symbol(pair.base)}</label
      >
      <label
        >Maker or taker
        <input
          type="text"
          name="account"
          autocomplete="off"
          spellcheck=${false}
          key=${`account ${filter.account}`}
          defaultValue=${filter.account}
      /></label>
      <button type="submit">Filter</button>
      ${
        filterKey() !== "" &&
        html`<button
          type="button"
          onClick=${(
            /** @type {{ currentTarget: HTMLButtonElement }} */ { currentTarget: { form } },
          ) => {
            for (const input of form?.querySelectorAll("input") ?? []) input.value = "";
            if (form) choose(form, changed);
          }}
        >
          All trades
        </button>`
      }
      <span role="status">
        ${problems.length > 0 ? `${problems.join(" ")} Nothing is filtered.` : isOn && `${wanted.length} of the ${trades.length} newest trades`}
      </span>
      ${isOn && filter.account && html`<a href="/accounts/${filter.account}">Older ones of this account</a>`}
    </form>
    ${wanted.length === 0 ? html`<p>No such trade.</p>` : tradesTable(wanted, pair, detailsOf)}`;
}
