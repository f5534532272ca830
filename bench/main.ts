// `npm run bench`: creates the data, measures, and writes the results.
import { fileURLToPath } from "node:url";
import { measureBulkLoad } from "./bulk-load.ts";
import { measureColdStart } from "./cold-start.ts";
import { compare, type Comparison } from "./compare.ts";
import { makeData } from "./data/make.ts";
import { openServer } from "./data/server.ts";
import { pgbenchVersion } from "./load/pgbench.ts";
import { readOptions, USAGE, type BenchOptions } from "./options.ts";
import { describeMachine } from "./report/machine.ts";
import type { Results } from "./report/results.ts";
import { writeResults } from "./report/write.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const log = (line: string): void => console.log(line);

async function main(args: string[]): Promise<number> {
  let options;
  try {
    options = readOptions(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    return EXIT_USAGE;
  }
  if (options === "help") {
    console.log(USAGE);
    return 0;
  }
  try {
    await run(options, args);
    return 0;
  } catch (error) {
    console.error(error);
    return EXIT_FAILED;
  }
}

async function run(options: BenchOptions, args: string[]): Promise<void> {
  const server = await openServer(process.env, log);
  try {
    const databaseUrl = await makeData(server, options.trades, log);
    const has = (...parts: BenchOptions["parts"]): boolean =>
      parts.some((part) => options.parts.includes(part));
    const fewUrl = has("growth") ? await makeData(server, options.fewTrades, log) : databaseUrl;
    if (options.dataOnly) return;

    const machine = await describeMachine(databaseUrl);
    const pgbench = await pgbenchVersion();
    if (pgbench === undefined) log("Skipping pgbench, which is not installed");

    const hasPgbench = pgbench !== undefined;
    const { trades, fewTrades, rounds, seconds, connections, loadTrades } = options;
    const runs: Results[] = [];
    while (runs.length < options.runs) {
      log(`Run ${runs.length + 1} of ${options.runs}`);
      let compared: Comparison = { measured: [], memory: [], written: 0 };
      if (has("rest", "graphql", "writer", "growth", "cached")) {
        compared = await compare({ ...options, databaseUrl, fewUrl, hasPgbench, log });
      }
      if (has("cold")) log("Cold start");
      const coldStart = has("cold") ? await measureColdStart(databaseUrl, 5) : undefined;
      if (has("load")) log("Bulk load");
      const bulkLoad = has("load")
        ? await measureBulkLoad(server, { trades: loadTrades, rounds: options.quick ? 1 : 3, log })
        : undefined;
      runs.push({
        at: new Date().toISOString(),
        command: commandOf(args),
        machine,
        pgbench,
        ...{ trades, fewTrades, runs: 1, rounds, seconds, connections },
        ...compared,
        coldStart,
        bulkLoad,
      });
      // After each run, so that an interrupted benchmark keeps what it has measured.
      log(await writeResults(outFolder(options), runs));
    }
  } finally {
    await server.stop();
  }
}

/** The command line of this run, without --out, which does not affect the results. */
function commandOf(args: string[]): string {
  const at = args.indexOf("--out");
  const shown = at < 0 ? args : args.toSpliced(at, 2);
  return ["npm run bench", ...(shown.length > 0 ? ["--", ...shown] : [])].join(" ");
}

// Results of --quick, or of the bulk load alone, must not replace the published ones.
function outFolder({ out, quick, parts }: BenchOptions): string {
  if (out !== undefined) return out;
  const isLoadOnly = parts.every((part) => part === "load");
  const folder = isLoadOnly ? "results/load" : "results";
  return fileURLToPath(new URL(quick ? "../.bench/results" : folder, import.meta.url));
}

process.exitCode = await main(process.argv.slice(2));
