// Templates that make Preact's elements.
import htm from "htm";
import { h } from "preact";

/**
 * @typedef {(parts: TemplateStringsArray, ...values: unknown[]) => import("preact").VNode} Template
 */

/** By this mark htm makes each element anew. */
const ANEW = 3;

/**
 * htm would keep the elements without a value, and Preact links them to the tree in which they were drawn: each update would
 * leave that much behind.
 * @this {number[]}
 * @param {Parameters<typeof h>} element
 */
function make(...element) {
  this[0] = ANEW;
  return h(...element);
}

// htm's types take its default export for a namespace.
export const html = /** @type {{ bind: (make: unknown) => Template }} */ (
  /** @type {unknown} */ (htm)
).bind(make);
