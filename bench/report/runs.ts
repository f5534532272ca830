// Makes one result of several runs: the medians.
import { median } from "../load/statistics.ts";
import { ratiosOf, type Ratio } from "./goals.ts";
import type { Results } from "./results.ts";

/**
 * The last run, with the medians of all runs as its measurements; counts are sums, and peaks of memory the
 * highest. Throws if there is no run.
 */
export function combineRuns(runs: readonly Results[]): Results {
  const last = runs.at(-1);
  if (last === undefined) throw new Error("nothing was measured");
  return {
    ...last,
    runs: runs.length,
    measured: last.measured.map((one, index) => {
      const all = runs.flatMap((run) => run.measured[index] ?? []);
      const cpu = all.flatMap((each) => each.cpu ?? []);
      return {
        ...one,
        rate: median(all.map((each) => each.rate)),
        rates: all.flatMap((each) => each.rates),
        p50: median(all.map((each) => each.p50)),
        p99: median(all.map((each) => each.p99)),
        answers: sum(all.map((each) => each.answers)),
        cpu: cpu.length === 0 ? undefined : median(cpu),
      };
    }),
    memory: last.memory.map((one, index) => ({
      ...one,
      peak: Math.max(...runs.flatMap((run) => run.memory[index]?.peak ?? [])),
    })),
    written: sum(runs.map((run) => run.written)),
    coldStart: medians(
      runs.flatMap((run) => run.coldStart ?? []),
      ["rest", "graphql"],
    ),
    bulkLoad: medians(
      runs.flatMap((run) => run.bulkLoad ?? []),
      ["load", "loadBeside", "copy", "copyWhole"],
    ),
  };
}

/** The median of each ratio, with the ratios of all runs. */
export function ratiosOfRuns(runs: readonly Results[]): Ratio[] {
  const [first = [], ...others] = runs.map(ratiosOf);
  if (others.length === 0) return first;
  return first.map((one, index) => {
    const all = [one, ...others.flatMap((ratios) => ratios[index] ?? [])].map(({ ratio }) => ratio);
    return { ...one, ratio: median(all), runs: all };
  });
}

/** The last of these objects, with the medians of these members. */
function medians<Key extends string, One extends Record<Key, number>>(
  all: readonly One[],
  keys: readonly Key[],
): One | undefined {
  const last = all.at(-1);
  if (last === undefined) return undefined;
  const values = keys.map((key) => [key, median(all.map((one) => one[key]))] as const);
  return { ...last, ...Object.fromEntries(values) };
}

const sum = (values: readonly number[]): number => values.reduce((one, other) => one + other, 0);
