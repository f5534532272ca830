// Formats the results of `npm run bench -- read` as Markdown.
import { runLines, table, whole } from "../harness.ts";
import type { Results } from "../read.ts";
import { isReached, type Ratio } from "./goals.ts";

export function resultsPage(results: Results, ratios: Ratio[]): string[] {
  const { trades, connections, rounds, seconds, written, memory } = results;
  const megabytes = (bytes: number): string => `${whole(bytes / 1024 ** 2)} MB`;
  return [
    "# Results of the benchmark",
    runLines(
      results,
      `${whole(trades)} trades, ${connections} keep-alive connections, ${rounds} rounds of ${seconds} s in turns`,
    ),
    "## Goals",
    table(["goal", "case", "ratio", "bound", ""], ratios.map(ratioRow)),
    "## Measurements",
    "Answers per second are medians of the rounds; milliseconds cover " +
      "all answers of all rounds. The last column is the processor time per answer of the server alone, without " +
      "the database and the load generator, as a median of the rounds.",
    table(
      ["case", "contender", "answers per second", "median ms", "p99 ms", "µs of processor time"],
      results.measured.map(({ case: name, contender, rate, p50, p99, cpu }) => [
        ...[code(name), contender],
        rate.toLocaleString("en", { maximumFractionDigits: rate < 100 ? 1 : 0 }),
        ...[p50.toFixed(2), p99.toFixed(2), cpu.toFixed(1)],
      ]),
    ),
    `The service had ${megabytes(memory.service)} of memory after all cases without its cache, and ` +
      `${megabytes(memory.cached)} with it.${written === 0 ? "" : ` The writer wrote ${whole(written)} trades.`}`,
  ];
}

const ratioRow = (one: Ratio): string[] => [
  ...[one.group, code(one.name)],
  `${one.ratio.toFixed(2)} ×`,
  "atLeast" in one.bound ? `≥ ${one.bound.atLeast} ×` : `≤ ${one.bound.atMost} ×`,
  isReached(one) ? "reached" : "**missed**",
];

const code = (name: string): string => (name.startsWith("/") ? `\`${name}\`` : name);
