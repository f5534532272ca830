// Medians and percentiles of measurements.
import { median, percentile } from "../../bench/load/statistics.ts";

test("The median is the value in the middle, whatever the order", () => {
  expect(median([9, 1, 5])).toBe(5);
});

test("The median of an even number is the mean of the two in the middle", () => {
  // (2 + 10) / 2
  expect(median([100, 2, 10, 1])).toBe(6);
});

test("The 99th percentile of 200 values is the 198th, by nearest rank", () => {
  const values = Array.from({ length: 200 }, (_, at) => 200 - at);
  expect(percentile(values, 0.99)).toBe(198);
});

test("Every percentile of one value is that value", () => {
  expect(percentile([7], 0.01)).toBe(7);
  expect(percentile([7], 1)).toBe(7);
});

test("Of nothing there is no median and no percentile", () => {
  expect(() => median([])).toThrow("nothing was measured");
  expect(() => percentile([], 0.99)).toThrow("nothing was measured");
});
