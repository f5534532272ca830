// The command line options of `npm run bench`.
import { parseArgs } from "node:util";
import { isPossibleSize } from "./data/make.ts";

export const USAGE = `Usage: npm run bench -- [options]

Creates a database of trades if it is missing, and compares the service on it with alternatives.
bench/README.md describes the measurements.

  --trades N       number of trades, a multiple of 1000 from 100000, default 1000000
  --data-only      only create the data
  --cases A,B      only these parts: rest, graphql, writer, growth, cold, load; or cached: only the
                   answers from memory of rest and graphql, takes less than a minute
  --runs N         number of whole runs, default 1; the results are their medians
  --rounds N       number of rounds of a run, default 5
  --seconds S      seconds of each measurement, default 2
  --warm-up S      seconds of warm-up of each measurement, default 2
  --connections N  number of keep-alive connections, default 16
  --load-trades N  number of trades of the bulk load, default 1000000
  --out DIR        output folder, default bench/results (of load alone bench/results/load, with --quick
                   .bench/results)
  --quick          200,000 trades and short rounds, takes less than five minutes; to try the benchmark
  --help           show this

Uses its own embedded PostgreSQL in .bench/, or the server of BENCH_DATABASE_URL, whose login needs the
right to create databases and roles.`;

const WHOLE = ["rest", "graphql", "writer", "growth", "cold", "load"] as const;
/** `cached` is a part of `rest` and `graphql` that can be measured separately. */
export const PARTS = [...WHOLE, "cached"] as const;
export type Part = (typeof PARTS)[number];

export interface BenchOptions {
  trades: number;
  /** Size of the short history, for the comparison of history sizes. */
  fewTrades: number;
  dataOnly: boolean;
  parts: Part[];
  runs: number;
  rounds: number;
  seconds: number;
  warmUp: number;
  connections: number;
  loadTrades: number;
  out: string | undefined;
  quick: boolean;
}

/** Reads the options; "help" for --help. Throws a message for the user if an option is invalid. */
export function readOptions(args: string[]): BenchOptions | "help" {
  const { values } = parseArgs({
    args,
    options: {
      trades: { type: "string" },
      "data-only": { type: "boolean", default: false },
      cases: { type: "string" },
      runs: { type: "string", default: "1" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      "warm-up": { type: "string" },
      connections: { type: "string", default: "16" },
      "load-trades": { type: "string" },
      out: { type: "string" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const { quick } = values;
  const trades = Number(values.trades ?? (quick ? 200_000 : 1_000_000));
  if (!isPossibleSize(trades)) {
    throw new Error(
      `--trades is ${String(values.trades)}; it must be a multiple of 1000 from 100000`,
    );
  }
  return {
    trades,
    fewTrades: 100_000,
    dataOnly: values["data-only"],
    parts: readParts(values.cases),
    runs: wholeNumber("runs", values.runs),
    rounds: positive("rounds", values.rounds ?? (quick ? "2" : "5")),
    seconds: positive("seconds", values.seconds ?? (quick ? "0.3" : "2")),
    warmUp: positive("warm-up", values["warm-up"] ?? (quick ? "0.2" : "2")),
    connections: positive("connections", values.connections),
    loadTrades: positive("load-trades", values["load-trades"] ?? (quick ? "30000" : "1000000")),
    out: values.out,
    quick,
  };
}

function readParts(given: string | undefined): Part[] {
  if (given === undefined) return [...WHOLE];
  const names = given.split(",");
  const unknown = names.find((name) => !PARTS.includes(name as Part));
  if (unknown !== undefined) {
    throw new Error(`--cases has ${JSON.stringify(unknown)}; it accepts ${PARTS.join(", ")}`);
  }
  return PARTS.filter((part) => names.includes(part));
}

function wholeNumber(name: string, text: string): number {
  const value = positive(name, text);
  if (Number.isSafeInteger(value)) return value;
  throw new Error(`--${name} is ${JSON.stringify(text)}; it must be a whole number above 0`);
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`--${name} is ${JSON.stringify(text)}; it must be a number above 0`);
}
