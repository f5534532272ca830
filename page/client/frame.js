// What both pages have: the head, its age, the connection, the zone of times, and drawing once a frame.
import { render } from "preact";
import { Age } from "./age.js";
import { serveClipboard } from "./clipboard.js";
import { beginToMark, moment } from "./figures.js";
import { html } from "./html.js";
import { pastBlock } from "./past.js";
import { UNREACHABLE } from "./stream.js";
import { inUtc, setUtc } from "./times.js";

const READY_MS = 30_000;
const ANSWER_MS = 10_000;

/** Why the service was not ready when it was asked last. @type {string[]} */
let reasons = [];
/** The head beside which they were shown. @type {number | undefined} */
let shownBeside;

const CONNECTIONS = {
  connecting: "Connecting",
  live: "Live",
  lost: "Connection lost. Trying again.",
  past: "As of a past block, not live",
  reading: "Reading another block",
};

/** @param {import("./stream.js").Connection} connection */
const connectionLine = (connection) =>
  html`<p role="status" class=${`connection ${connection}`}>${CONNECTIONS[connection]}</p>`;

/**
 * @param {{ block: number, time: string } | undefined} head
 * @param {import("./stream.js").Connection} connection
 */
export function statusLine(head, connection) {
  // A new head may have ended what was wrong: the line must not contradict it until the service is asked again.
  if (reasons.length > 0 && head?.block !== shownBeside) void askWhetherReady();
  shownBeside = head?.block;
  return html`<div class="status">
    ${connectionLine(connection)}
    <p class="head">
      ${
        head
          ? html`${pastBlock() ? "As of block" : "Head: block"} ${head.block},
              ${" "}${moment(head.time, true)}, ${" "}<${Age} time=${head.time} />`
          : "No block is written yet."
      }
    </p>
    <label
      ><input
        type="checkbox"
        checked=${inUtc()}
        onChange=${(/** @type {{ currentTarget: HTMLInputElement }} */ { currentTarget }) => {
          setUtc(currentTarget.checked);
          draw();
        }}
      />
      Times in UTC</label
    >
    ${reasons.length > 0 && html`<p class="behind">The service is not ready: ${reasons.join("; ")}</p>`}
  </div>`;
}

/**
 * A part of the page that is made again only if a value has changed: Preact skips an element that is the same object.
 * @template Made
 * @param {() => readonly unknown[]} valuesOf What the part shows.
 * @param {() => Made} make
 */
export function partOf(valuesOf, make) {
  /** @type {{ values: readonly unknown[], made: Made } | undefined} */
  let last;
  return () => {
    const values = valuesOf();
    if (last?.values.every((value, n) => value === values[n])) return last.made;
    const made = make();
    last = { values, made };
    return made;
  };
}

let isDue = false;
let isDrawn = false;
/** @type {() => void} */
let draw;

/**
 * Draws the page into its place, once a frame at most. Returns what asks for that.
 * @param {HTMLElement} place
 * @param {{
 *   view: () => import("preact").VNode,
 *   isReady: () => boolean,
 *   connection: () => import("./stream.js").Connection,
 * }} page Until it is ready, the server's own tables stand.
 */
export function startPage(place, { view, isReady, connection }) {
  serveClipboard();
  const notice = document.createElement("div");
  place.prepend(notice);
  draw = () => {
    if (isDue) return;
    if (!isReady()) {
      // A page that is drawn has its status line.
      if (!isDrawn) render(connection() === "lost" ? connectionLine("lost") : null, notice);
      return;
    }
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      if (!isDrawn) {
        // The server's own tables go.
        place.replaceChildren();
        beginToMark();
      }
      isDrawn = true;
      render(view(), place);
    });
  };
  void askWhetherReady();
  setInterval(askWhetherReady, READY_MS);
  return draw;
}

async function askWhetherReady() {
  if (document.hidden) return;
  const signal = AbortSignal.timeout(ANSWER_MS);
  const answer = await fetch("/ready", { cache: "no-store", signal }).catch(() => undefined);
  if (answer === undefined) dispatchEvent(new Event(UNREACHABLE));
  /** @type {{ reasons?: string[] }} */
  const { reasons: given = [] } = (await answer?.json().catch(() => undefined)) ?? {};
  if (given.join() === reasons.join()) return;
  reasons = given;
  draw();
}

/** @param {string} id @returns {HTMLElement} */
export function placeOnPage(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element ${id}`);
  return found;
}
