// The labels of the chart's price axis, no two of them alike.
import { placesIn, shortened } from "./decimal.js";

/** More digits than this the chart's floats do not have. */
const MAX_PLACES = 30;
/** Around one price, of the price: a thousandth is within the digits that labels have. */
const AROUND = 0.001;

/** With as many digits as distinguish them. @param {readonly string[]} prices */
export function labelsOf(prices) {
  let labels = prices.map((price) => shortened(price));
  for (let places = placesIn(prices); places <= MAX_PLACES; places += 1) {
    if (new Set(labels).size === labels.length) break;
    labels = prices.map((price) => shortened(price, places));
  }
  return labels;
}

/**
 * Of one price the chart would show some steps of the last digit of its floats.
 * @param {import("lightweight-charts").AutoscaleInfo | null} found
 */
export function aroundOne(found) {
  if (!found?.priceRange) return found;
  const { minValue, maxValue } = found.priceRange;
  if (minValue !== maxValue || minValue === 0) return found;
  const half = minValue * AROUND;
  return { ...found, priceRange: { minValue: minValue - half, maxValue: maxValue + half } };
}
