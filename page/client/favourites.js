// The markets that the reader has marked, by BASE/QUOTE.
import { store, stored } from "./stored.js";

const KEY = "favourites";

let marked = new Set(read());

/** @returns {string[]} */
function read() {
  try {
    const found = JSON.parse(stored(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
  } catch {
    // Another program of this origin has written it.
    return [];
  }
}

/** @param {string} pair */
export const isFavourite = (pair) => marked.has(pair);

/** @param {string} pair */
export function toggleFavourite(pair) {
  // Another tab may have changed them.
  marked = new Set(read());
  if (!marked.delete(pair)) marked.add(pair);
  store(KEY, JSON.stringify([...marked]));
}
