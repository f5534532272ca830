// Templates that make Preact's elements.
import htm from "htm";
import { h } from "preact";

/**
 * @typedef {(parts: TemplateStringsArray, ...values: unknown[]) => import("preact").VNode} Template
 */

// htm's types take its default export for a namespace.
export const html = /** @type {{ bind: (make: unknown) => Template }} */ (
  /** @type {unknown} */ (htm)
).bind(h);
