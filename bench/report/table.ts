// Formats the results as Markdown.
import { isReached, type Ratio } from "./goals.ts";
import type { Results } from "./results.ts";

export function resultsTable(results: Results, ratios: Ratio[]): string {
  return [
    "# Results of the benchmark",
    facts(results),
    "## Goals",
    table(["goal", "case", ratioHead(results), "bound", ""], ratios.map(ratioRow)),
    "## Measurements",
    "Answers per second are medians of the rounds, and everything is the median of the runs; milliseconds cover all answers of all rounds. The last " +
      "column is the processor time per answer of the server alone, without the database and the load " +
      "generator, as a median of the rounds.",
    table(
      ["case", "contender", "answers per second", "median ms", "p99 ms", "µs of processor time"],
      results.measured.map(({ case: name, contender, rate, p50, p99, cpu }) => [
        code(name),
        contender,
        rate.toLocaleString("en", { maximumFractionDigits: rate < 100 ? 1 : 0 }),
        p50.toFixed(2),
        p99.toFixed(2),
        cpu?.toFixed(1) ?? "",
      ]),
    ),
    ...others(results),
  ]
    .join("\n\n")
    .concat("\n");
}

function facts(results: Results): string {
  const { machine } = results;
  const packages = Object.entries(machine.packages).map(([name, version]) => `${name} ${version}`);
  return [
    `- ${results.at}, by \`${results.command}\``,
    `- ${results.trades.toLocaleString("en")} trades, ${results.connections} keep-alive connections, ` +
      `${results.runs} ${results.runs === 1 ? "run" : "runs"} of ${results.rounds} rounds of ` +
      `${results.seconds} s in turns`,
    `- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ${machine.system}; ` +
      "servers, database and load generator share them",
    `- the machine's load average of the 15 minutes before was ${machine.loadBefore}` +
      (machine.loadBefore > machine.cores / 4 ? ": others were using it too" : ""),
    `- Node ${machine.node}, PostgreSQL ${machine.postgresql}, ${packages.join(", ")}`,
    `- ${results.pgbench ?? "pgbench is not installed: its rows are missing"}`,
  ].join("\n");
}

const ratioHead = ({ runs }: Results): string =>
  runs === 1 ? "ratio" : `ratio: median of ${runs} runs (least to most)`;

const ratioRow = (one: Ratio): string[] => [
  one.group,
  code(one.name),
  `${one.ratio.toFixed(2)} ×${rangeOf(one)}`,
  "atLeast" in one.bound ? `≥ ${one.bound.atLeast} ×` : `≤ ${one.bound.atMost} ×`,
  isReached(one) ? "reached" : "**missed**",
];

const rangeOf = ({ runs }: Ratio): string =>
  runs === undefined ? "" : ` (${Math.min(...runs).toFixed(2)} to ${Math.max(...runs).toFixed(2)})`;

function others({ coldStart, bulkLoad, memory, written }: Results): string[] {
  const whole = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 0 });
  const lines = [
    ...memory.map(
      ({ contender, now, peak }) =>
        `- ${contender}: ${whole(now / 1024)} MB of memory after all cases, peak ${whole(peak / 1024)} MB`,
    ),
  ];
  if (written > 0) lines.push(`- the writer wrote ${whole(written)} trades`);
  if (coldStart !== undefined) {
    lines.push(
      `- from the start of the process to the first answer: REST ${whole(coldStart.rest)} ms, ` +
        `GraphQL ${whole(coldStart.graphql)} ms (medians of ${coldStart.starts})`,
    );
  }
  if (bulkLoad !== undefined) {
    const peak =
      bulkLoad.peak === undefined ? "" : `, peak memory ${whole(bulkLoad.peak / 1024)} MB`;
    lines.push(
      `- bulk load of ${whole(bulkLoad.trades)} trades: ${whole(bulkLoad.load)} a second${peak}; ` +
        `while another client is connected, ${whole(bulkLoad.loadBeside)}; ` +
        `COPY of the same files ${whole(bulkLoad.copy)}, of files with the derived columns ` +
        `${whole(bulkLoad.copyWhole)} (medians of ${bulkLoad.rounds})`,
    );
  }
  return lines.length === 0 ? [] : ["## Other results", lines.join("\n")];
}

/** Formats a Markdown table. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const code = (name: string): string => (name.startsWith("/") ? `\`${name}\`` : name);
