// The results of `npm run bench:chain`.
import type { Machine } from "../report/machine.ts";

export interface ChainSize {
  events: number;
  blocks: number;
  rounds: number;
}

/** Events a second of each turn. */
export interface Backfill extends ChainSize {
  logs: number;
  rates: { indexer: number[]; bare: number[] };
}

export interface BesidePonder extends ChainSize {
  version: string;
  /** Events a second of each turn, by the names of beside-ponder.ts. */
  rates: Record<string, number[]>;
  /** Requests to the node, of the last turn of each. */
  requests: Record<string, Record<string, number>>;
}

export interface Head {
  blocks: number;
  path: string;
  /** Milliseconds of each block that has a trade of the market. */
  latencies: number[];
}

export interface ChainResults {
  /** End of the run, ISO 8601. */
  at: string;
  command: string;
  machine: Machine;
  backfill: Backfill;
  ponder?: BesidePonder | undefined;
  head?: Head | undefined;
}
