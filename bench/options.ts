// What `npm run bench` is asked for.
import { parseArgs } from "node:util";
import { isPossibleSize } from "./data/make.ts";

export const USAGE = `Usage: npm run bench -- [options]

Makes a database of trades, where it is not there yet, and measures the service on it beside what
one could run instead. bench/README.md says what is measured, and how.

  --trades N       how many trades: 1000000 (default), 10000000, … a multiple of 1000 from 100000
  --data-only      only make the data
  --cases A,B      only these parts: rest, graphql, writer, growth, cold, load, or cached: of rest
                   and graphql only the answers from memory, within a minute
  --rounds N       how often each measurement is made, default 5
  --seconds S      how long each is, default 2
  --warm-up S      how long each is asked before any is measured, default 2
  --connections N  how many are kept open, default 16
  --load-trades N  how many trades the bulk load is of, default 1000000
  --out DIR        where results go, default bench/results (--quick: .bench/results)
  --quick          200,000 trades and short rounds: within five minutes, to see that all works
  --help           show this

The PostgreSQL is one of the benchmark's own, in .bench/, or that of BENCH_DATABASE_URL, whose login
may make databases and roles.`;

const WHOLE = ["rest", "graphql", "writer", "growth", "cold", "load"] as const;
/** `cached` is a part of rest and graphql, to be asked for alone. */
export const PARTS = [...WHOLE, "cached"] as const;
export type Part = (typeof PARTS)[number];

export interface BenchOptions {
  trades: number;
  /** The smaller history that answers are compared with. */
  fewTrades: number;
  dataOnly: boolean;
  parts: Part[];
  rounds: number;
  seconds: number;
  warmUp: number;
  connections: number;
  loadTrades: number;
  out: string | undefined;
  quick: boolean;
}

/** Throws a line for the user where an argument is wrong; "help" where that was asked for. */
export function readOptions(args: string[]): BenchOptions | "help" {
  const { values } = parseArgs({
    args,
    options: {
      trades: { type: "string" },
      "data-only": { type: "boolean", default: false },
      cases: { type: "string" },
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
    throw new Error(`--trades is a multiple of 1000 from 100000, not ${String(values.trades)}`);
  }
  return {
    trades,
    fewTrades: 100_000,
    dataOnly: values["data-only"],
    parts: readParts(values.cases),
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
    throw new Error(`--cases has ${JSON.stringify(unknown)}; there are ${PARTS.join(", ")}`);
  }
  return PARTS.filter((part) => names.includes(part));
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`--${name} is a number above 0, not ${JSON.stringify(text)}`);
}
