// Keeps the page of the service's state up to date: reads its document again while it is seen.
import { serveClipboard } from "./clipboard.js";

const EVERY_MS = 5000;
const ANSWER_MS = 10_000;

serveClipboard();

/** @type {HTMLElement | undefined} */
let lost;

/** @param {boolean} isLost */
function showLoss(isLost) {
  if (!isLost) {
    lost?.remove();
    lost = undefined;
  } else if (lost === undefined) {
    lost = document.createElement("p");
    lost.className = "connection lost";
    lost.role = "alert";
    lost.textContent = "The service does not answer. What follows is what it said last.";
    document.querySelector("h1")?.after(lost);
  }
}

async function readAgain() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, {
      headers: { Accept: "text/html" },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const parts = found.querySelectorAll("[data-part]");
    showLoss(parts.length === 0);
    for (const part of parts) {
      const shown = document.getElementById(part.id);
      // The element stays, so that a screen reader reads a change of what has role=status.
      if (shown?.innerHTML !== part.innerHTML) shown?.replaceChildren(...part.childNodes);
    }
  } catch {
    showLoss(true);
  }
}

/** One after the other. */
async function keepReading() {
  await readAgain();
  setTimeout(keepReading, EVERY_MS);
}

setTimeout(keepReading, EVERY_MS);
document.addEventListener("visibilitychange", () => void readAgain());
