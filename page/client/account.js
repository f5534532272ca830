// The page of an account in a browser that runs scripts: its buttons copy, and copied numbers are whole.
import { COPIED, COPIED_MS, copyText, copyWholeNumbers } from "./clipboard.js";

copyWholeNumbers();

/** @param {HTMLElement} button @param {string} text */
function serve(button, text) {
  const path = button.querySelector("path");
  const shape = path?.getAttribute("d") ?? "";
  /** @param {boolean} isCopied */
  const show = (isCopied) => {
    button.classList.toggle("copied", isCopied);
    button.title = isCopied ? "Copied" : "Copy";
    button.setAttribute("aria-label", `${button.title} ${text}`);
    path?.setAttribute("d", isCopied ? COPIED : shape);
  };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  button.addEventListener("click", () => {
    void copyText(text).then((isCopied) => {
      clearTimeout(timer);
      show(isCopied);
      timer = setTimeout(() => show(false), COPIED_MS);
    });
  });
  button.hidden = false;
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (button instanceof HTMLElement) serve(button, button.dataset["copy"] ?? "");
}
