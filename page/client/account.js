// The page of an account in a browser that runs scripts: its buttons copy, and copied numbers are whole.
import { serveClipboard } from "./clipboard.js";

serveClipboard();
for (const button of document.querySelectorAll("button[data-copy]"))
  button.removeAttribute("hidden");
