// What the clipboard gets: whole numbers for those shown, and the text of a button.

/** How long a button says that it has copied. */
const COPIED_MS = 1500;
/** The marks of a button that copies, and of one that has. */
export const COPY = "M5,5h8v9h-8zM3,11v-9h7";
const COPIED = "M2,9l4,4l8,-10";

/** Serves the buttons that have `data-copy`, and puts whole numbers in the clipboard. */
export function serveClipboard() {
  document.addEventListener("copy", giveWholeNumbers);
  document.addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("button[data-copy]") : null;
    if (button instanceof HTMLElement) void copyBy(button);
  });
}

/** @type {WeakMap<HTMLElement, ReturnType<typeof setTimeout>>} */
const timers = new WeakMap();

/** @param {HTMLElement} button */
async function copyBy(button) {
  const textOf = () => button.dataset["copy"] ?? "";
  /** @param {boolean} isCopied */
  const show = (isCopied) => {
    button.title = isCopied ? "Copied" : "Copy";
    button.setAttribute("aria-label", `${button.title} ${textOf()}`);
    button.querySelector("path")?.setAttribute("d", isCopied ? COPIED : COPY);
  };
  show(await copyText(textOf()));
  clearTimeout(timers.get(button));
  timers.set(
    button,
    setTimeout(() => show(false), COPIED_MS),
  );
}

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

/** Also those of a selection. @param {ClipboardEvent} event */
function giveWholeNumbers(event) {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed || event.clipboardData === null) return;
  const range = selection.getRangeAt(0);
  const { commonAncestorContainer: around } = range;
  const inside = (around instanceof Element ? around : around.parentElement)?.closest("data");
  const copied = inside?.value ?? wholeText(range.cloneContents());
  event.clipboardData.setData("text/plain", copied);
  event.preventDefault();
}

const ENDS_LINE = /^(TR|P|H1|H2|DIV|LI|CAPTION|PRE|SUMMARY|DD)$/;

/** @param {Node} node @returns {string} */
function wholeText(node) {
  if (node instanceof HTMLDataElement) return node.value;
  if (node instanceof Text) return node.data;
  const text = [...node.childNodes].map(wholeText).join("");
  if (node.nodeName === "TD" || node.nodeName === "TH" || node.nodeName === "DT")
    return `${text}\t`;
  return ENDS_LINE.test(node.nodeName) ? `${text.trimEnd()}\n` : text;
}
