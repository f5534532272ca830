// `npm run bench -- read`: compares the service with alternatives, and writes the results.
import { refuse } from "../db/command-line.ts";
import { compare, type Comparison } from "./compare.ts";
import { makeData } from "./data/make.ts";
import { openServer } from "./data/server.ts";
import { log, publish, readOptions, runOf, whole, type Run } from "./harness.ts";
import { ratioChart } from "./report/chart.ts";
import { isReached, ratiosOf } from "./report/goals.ts";
import { resultsPage } from "./report/page.ts";

export const PARTS = ["rest", "graphql", "writer", "growth"] as const;
export type Part = (typeof PARTS)[number];

/** How much is measured. */
export interface ReadSize {
  trades: number;
  /** Trades of the short history, for the comparison of history sizes. */
  few: number;
  rounds: number;
  seconds: number;
  warmUp: number;
  connections: number;
  parts: readonly Part[];
}

/** The results of a run. */
export interface Results extends Run, ReadSize, Comparison {}

async function main(): Promise<void> {
  const { cases, out, ...numbers } = readOptions(
    "bench -- read",
    "bench/results",
    `Creates a database of trades if it is missing, and compares the service on it with alternatives.
bench/README.md describes the measurements.
Uses the PostgreSQL in .bench/, or the server of BENCH_DATABASE_URL, whose login needs the right to create
databases and roles.`,
    {
      trades: ["trades of the long history, a multiple of 20", 1_000_000, 20_000],
      few: ["trades of the short one", 100_000, 20_000],
      cases: ["only these parts", PARTS.join(",")],
      rounds: ["number of rounds; the results are their medians", 5, 1],
      ms: ["milliseconds of each measurement", 2000, 1],
      "warm-up": ["milliseconds of warm-up of each measurement", 2000, 1],
      connections: ["number of keep-alive connections", 16, 1],
    },
  );
  const { trades, few, ms, "warm-up": warmUp } = numbers;
  if (trades % 20 !== 0 || few % 20 !== 0) refuse("--trades and --few are multiples of 20");
  const parts = PARTS.filter((part) => cases.split(",").includes(part));
  if (parts.length !== cases.split(",").length) refuse(`--cases has some of ${PARTS.join(", ")}`);
  const size: ReadSize = { ...numbers, parts, seconds: ms / 1000, warmUp: warmUp / 1000 };

  const server = await openServer();
  try {
    const databaseUrl = await makeData(server, trades);
    const fewUrl = parts.includes("growth") ? await makeData(server, few) : databaseUrl;
    const run = await runOf("read", databaseUrl);
    const compared = await compare({ ...size, databaseUrl, fewUrl });
    const results: Results = { ...run, ...size, ...compared };
    const ratios = ratiosOf(results);
    const title = `Ratios at ${whole(trades)} trades; lines mark the bounds`;
    const chart = { "ratios.svg": ratioChart(title, ratios) };
    await publish(out, resultsPage(results, ratios), chart);
    log(`${ratios.filter(isReached).length} of ${ratios.length} bounds reached`);
  } finally {
    await server.stop();
  }
}

if (import.meta.main) await main();
