// How the market pages shorten numbers.
import { compact, placesIn, shortened } from "../../page/client/decimal.js";

it.each([
  ["0", "0"],
  ["2744.123485030572268827", "2,744.12"],
  ["0.000000001331", "0.0₈1331"],
  ["-50.004", "-50.004"],
  ["-83.041346540971616455", "-83.0413"],
  ["0.000000000000000001", "0.0₁₇1"],
  ["100000000000000000000", "1e20"],
])("%s is shown as %s", (value, shown) => {
  expect(shortened(value)).toBe(shown);
});

it.each([
  ["999", "999"],
  ["1000", "1K"],
  ["999949", "999.9K"],
  // Rounded to four digits it is a million.
  ["999960", "1M"],
  ["27539812800", "27.54B"],
])("the volume %s is shown as %s", (value, shown) => {
  expect(compact(value)).toBe(shown);
});

it("a column has the places of its middle price, and one far below keeps its own", () => {
  const prices = ["130.1", "131.25", "0.000000000000000001"];
  const places = placesIn(prices);
  expect(prices.map((price) => shortened(price, places))).toEqual(["130.100", "131.250", "0.0₁₇1"]);
});
