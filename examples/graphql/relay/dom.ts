// A page without a browser, for React to render into. To be imported before React.
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<main></main>");
Object.assign(globalThis, { window, document: window.document });
