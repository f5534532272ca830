// What a run has measured, and on what.
import type { BulkLoad } from "../bulk-load.ts";
import type { ColdStart } from "../cold-start.ts";
import type { Comparison } from "../compare.ts";
import type { Machine } from "./machine.ts";

export interface Results extends Comparison {
  /** ISO 8601, of the end of the run. */
  at: string;
  command: string;
  machine: Machine;
  trades: number;
  fewTrades: number;
  rounds: number;
  seconds: number;
  connections: number;
  /** What `pgbench --version` says; undefined where it is not installed. */
  pgbench: string | undefined;
  coldStart: ColdStart | undefined;
  bulkLoad: BulkLoad | undefined;
}
