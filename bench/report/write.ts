// Writes the results of the runs as JSON, table and chart.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ratioChart } from "./chart.ts";
import { isReached } from "./goals.ts";
import type { Results } from "./results.ts";
import { combineRuns, ratiosOfRuns } from "./runs.ts";
import { resultsTable } from "./table.ts";

/** Writes results.json, README.md and ratios.svg. Resolves to a summary line. */
export async function writeResults(folder: string, runs: Results[]): Promise<string> {
  const ratios = ratiosOfRuns(runs);
  const results = combineRuns(runs);
  const title = `Ratios at ${results.trades.toLocaleString("en")} trades; lines mark the bounds`;
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "results.json"),
    `${JSON.stringify({ ...results, ratios }, null, 2)}\n`,
  );
  await writeFile(join(folder, "README.md"), resultsTable(results, ratios));
  await writeFile(join(folder, "ratios.svg"), ratioChart(title, ratios));
  const reached = ratios.filter(isReached).length;
  return `${reached} of ${ratios.length} bounds reached; see ${folder}`;
}
