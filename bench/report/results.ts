// The results of a benchmark run.
import type { BulkLoad } from "../bulk-load.ts";
import type { ColdStart } from "../cold-start.ts";
import type { Comparison } from "../compare.ts";
import type { Machine } from "./machine.ts";

export interface Results extends Comparison {
  /** End of the run, ISO 8601. */
  at: string;
  command: string;
  machine: Machine;
  trades: number;
  fewTrades: number;
  runs: number;
  rounds: number;
  seconds: number;
  connections: number;
  /** The output of `pgbench --version`; undefined if it is not installed. */
  pgbench: string | undefined;
  coldStart: ColdStart | undefined;
  bulkLoad: BulkLoad | undefined;
}
