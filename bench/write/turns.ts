// The kinds of blocks that are written in turns, with their names in the results.
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
