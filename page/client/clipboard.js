// What the clipboard gets: whole numbers for those shown, and the text of a button.

/** How long a button says that it has copied, and the mark by which it does. */
export const COPIED_MS = 1500;
export const COPIED = "M2,9l4,4l8,-10";

/** Returns whether the clipboard has it. @param {string} text */
export async function copyText(text) {
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

/** Puts whole numbers in the clipboard, also those of a selection. */
export function copyWholeNumbers() {
  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (selection === null || selection.isCollapsed || event.clipboardData === null) return;
    const range = selection.getRangeAt(0);
    const { commonAncestorContainer: around } = range;
    const inside = (around instanceof Element ? around : around.parentElement)?.closest("data");
    const copied = inside?.value ?? wholeText(range.cloneContents());
    event.clipboardData.setData("text/plain", copied);
    event.preventDefault();
  });
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
