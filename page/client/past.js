// As of a past block: which one the document is of, the control that names another, and the step to it.
import { html } from "./html.js";

const NAMES = ["block", "time", "hash"];

const data = () => document.getElementById("page")?.dataset ?? {};

/** The number of the block that the document is of; undefined for the head. */
export const pastBlock = () => data()["block"];

/** Behind the title of a panel. */
export const atBlock = () => pastBlock() && ` at block ${pastBlock()}`;

const topicsIn = (/** @type {Document} */ page) => page.getElementById("past")?.textContent ?? "{}";

/** What the page shows of the block, by topics as those of the stream. @returns {Record<string, unknown>} */
export const pastTopics = () => JSON.parse(topicsIn(document));

/** A query of GraphQL, as of the block. @param {string} query */
export const queryAsOfBlock = (query) =>
  pastBlock() ? `query @asOf(block: ${pastBlock()}) ${query}` : query;

/** A question of REST, as of the block. @param {string} path */
export const asOfBlock = (path) =>
  pastBlock() ? `${path}${path.includes("?") ? "&" : "?"}block=${pastBlock()}` : path;

/** The page's address as of another block; without one, as of the head. @param {string} [name] @param {string} [value] */
function addressOf(name, value = "") {
  const address = new URL(location.href);
  for (const one of NAMES) address.searchParams.delete(one);
  if (name) address.searchParams.set(name, value);
  return address.href;
}

/** @param {string} text */
const nameOf = (text) => (text.startsWith("0x") ? "hash" : /^\d{4}-/.test(text) ? "time" : "block");

/**
 * @param {{ head: { block: number } | undefined, go: (address: string) => void }} shown
 */
export function blockControl({ head, go }) {
  const { block, previous = head ? String(head.block - 1) : "", next = "" } = data();
  /** @param {string} text @param {string} to */
  const step = (text, to) =>
    html`<a
      href=${to ? addressOf("block", to) : undefined}
      role="link"
      tabindex="0"
      aria-disabled=${String(!to)}
      onClick=${(/** @type {MouseEvent & { currentTarget: HTMLAnchorElement }} */ event) => {
        // The browser opens another tab.
        if (event.ctrlKey || event.metaKey || event.shiftKey || !event.currentTarget.href) return;
        event.preventDefault();
        go(event.currentTarget.href);
      }}
      >${text}</a
    >`;
  return html`<form
    class="blocks"
    aria-label="Blocks"
    onSubmit=${(/** @type {SubmitEvent & { currentTarget: HTMLFormElement }} */ event) => {
      event.preventDefault();
      const text = String(new FormData(event.currentTarget).get("asked")).trim();
      go(addressOf(nameOf(text), text));
    }}
  >
    <label
      >As of block, hash or time
      <input
        name="asked"
        type="search"
        placeholder="2026-01-31T12:00:00Z"
        pattern="\\s*(\\d+|0x[0-9a-fA-F]+|\\d{4}-.+)\\s*"
        title="A block's number, its hash (0x…), or a time such as 2026-01-31T12:00:00Z"
        required
        autocomplete="off"
        spellcheck=${false}
    /></label>
    <button type="submit">Show</button>
    ${step("Previous block", previous)}
    ${block && [step("Next block", next), html`<a href=${addressOf()}>Return to live</a>`]}
  </form>`;
}

let reading = new AbortController();

/**
 * Reads the document of another block into this one. Returns whether it is of a block, and undefined where a later step has
 * taken its place.
 * @param {string} address
 */
export async function stepTo(address) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const read = found.getElementById("page")?.dataset;
    if (!read?.["block"]) return false;
    Object.assign(data(), read);
    /** @type {HTMLElement} */ (document.getElementById("past")).textContent = topicsIn(found);
    document.title = found.title;
    return true;
  } catch {
    return signal.aborted ? undefined : false;
  }
}
