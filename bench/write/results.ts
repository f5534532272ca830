// The kinds of blocks that `npm run bench -- write` writes in turns, and its results.
import { EMPTY, FULL, SINGLE, type Shape } from "../data/constant-exchange.ts";

export const FULL_BLOCK = "20 trades, 15 offers, 8 cancellations";
export const ONE_TRADE = "1 trade";
export const NO_ROW = "no row";

/** The kinds of blocks, with the number of blocks per turn. */
export const TURNS: { name: string; shape: Shape; blocks: number }[] = [
  { name: FULL_BLOCK, shape: FULL, blocks: 20 },
  { name: ONE_TRADE, shape: SINGLE, blocks: 40 },
  { name: NO_ROW, shape: EMPTY, blocks: 40 },
];

/** Plain inserts of the same rows after the long history. */
export const bareName = (name: string): string => `${name}, bare`;
/** Writes through ingest after the short history. */
export const fewName = (name: string): string => `${name}, few`;

/** Milliseconds per block of each turn, by the names of TURNS. */
export type Times = Record<string, number[]>;

/** Mean accesses to 8 kB pages per block, by the same names. */
export type Pages = Record<string, number>;

/** Bytes of dex_trade per trade. */
export interface Growth {
  trades: number;
  indexes: number;
  all: number;
}

/** Bytes of write-ahead log per trade, in blocks of 20 trades. */
export interface Wal {
  trades: number;
  /** With 15 offers and 8 cancellations per block, right after a checkpoint. */
  behindCheckpoint: number;
  /** The same without full page images. */
  block: number;
  /** With trades alone, without full page images. */
  tradesAlone: number;
}

/** Milliseconds and pages per trade, of trades that were taken back in one call. */
export interface TakenBack {
  trades: number;
  milliseconds: number;
  pages: number;
}

export interface Server {
  postgresql: string;
  /** The short history, written block by block. */
  writtenLive: Growth;
  /** After the long history. */
  growth: Growth;
  wal: Wal;
  times: Times;
  pages: Pages;
  takenBack: TakenBack[];
  /** Renaming a token: its trades, the rows written, and milliseconds per trade. */
  renamed: { trades: number; touched: number; milliseconds: number };
  /** Registering one more pair without trades beside this number of them. */
  registered: { pairs: number; milliseconds: number; pages: number };
  /** Times and pages with these pairs registered. */
  timesBesideQuiet: Times;
  pagesBesideQuiet: Pages;
}
