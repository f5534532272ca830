// What a run has measured of writing, and on what.
import type { Machine } from "../report/machine.ts";

/** Milliseconds a block, of each turn, by what was written where. */
export type Times = Record<string, number[]>;

/** Pages of 8 kB a block, the mean, by the same names. */
export type Pages = Record<string, number>;

/** Bytes of dex_trade for each of so many trades. */
export interface Growth {
  trades: number;
  indexes: number;
  all: number;
}

/** Bytes of write-ahead log a trade, of so many trades in blocks of 20. */
export interface Wal {
  trades: number;
  /** Of blocks with 15 offers and 8 cancellations, right behind a checkpoint. */
  behindCheckpoint: number;
  /** Of the same without the pages that are logged whole for it. */
  block: number;
  /** Of blocks that have trades alone, without such pages. */
  tradesAlone: number;
}

/** Milliseconds and pages for each of so many trades that were taken back at once. */
export interface TakenBack {
  trades: number;
  milliseconds: number;
  pages: number;
}

export interface Server {
  postgresql: string;
  /** The smaller history, which was written block by block. */
  writtenLive: Growth;
  /** Behind the larger one. */
  growth: Growth;
  wal: Wal;
  times: Times;
  pages: Pages;
  takenBack: TakenBack[];
  /** A token of so many trades: how many rows were written, and milliseconds a trade. */
  renamed: { trades: number; touched: number; milliseconds: number };
  /** Pairs that are never traded: milliseconds and pages of one, when there are so many. */
  registered: { pairs: number; milliseconds: number; pages: number };
  /** The same as times and pages, with these pairs there. */
  timesBesideQuiet: Times;
  pagesBesideQuiet: Pages;
}

export interface WriteResults {
  /** ISO 8601, of the end of the run. */
  at: string;
  command: string;
  machine: Machine;
  trades: number;
  fewTrades: number;
  rounds: number;
  servers: Server[];
}
