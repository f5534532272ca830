// What an indexer reports while it runs.
import type { Outcome } from "./requests.ts";

export type IndexerEvent =
  /** Nothing can be written at present. */
  | { event: "waiting"; reason: string }
  /** Blocks are written up to `indexed`. */
  | {
      event: "written";
      indexed: number;
      time: number;
      known: number;
      knownTime: number;
      rows: number;
      leftOut: number;
      isBackfill: boolean;
      /** The first block of the index. */
      from: number;
    }
  | { event: "reorganisation"; ancestor: number; depth: number }
  | { event: "known"; known: number; knownTime: number }
  | { event: "leftOut"; reason: string }
  /** What somebody who starts it should know. */
  | { event: "notice"; reason: string }
  /** Whether the open offers are yet to be compared with the contract's state. */
  | { event: "audit"; isDue: boolean }
  /** Something cannot be checked, and is believed. */
  | { event: "doubt"; reason: string }
  /** The node or the database fails; it is tried again. */
  | { event: "failure"; reason: string }
  | { event: "recovered" }
  | { event: "request"; method: string; outcome: Outcome };
