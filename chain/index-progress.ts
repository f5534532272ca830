// Reports how far the indexer is: on a terminal a line that changes, else a line now and then.
import { grouped, progressBar, type ProgressLine } from "../db/progress-line.ts";
import type { IndexerEvent } from "./indexer-options.ts";

export interface ProgressOptions {
  line: ProgressLine;
  isTerminal: boolean;
  info: (text: string) => void;
  warn: (text: string) => void;
}

const EVERY_MS = 10_000;

/** Receives the indexer's events and writes them for people. */
export function indexProgress(options: ProgressOptions): (event: IndexerEvent) => void {
  const { line, isTerminal, info, warn } = options;
  let start: { at: number; block: number } | undefined;
  let rows = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  let isCaughtUp = false;
  const report = (write: (text: string) => void, text: string): void => {
    line.clear();
    write(text);
  };
  return (event) => {
    switch (event.event) {
      case "waiting":
        report(warn, `${event.reason}: waiting …`);
        break;
      case "written": {
        const { indexed, known, isBackfill, from } = event;
        start ??= { at: performance.now(), block: indexed };
        rows += event.rows;
        const seconds = Math.max(0.001, (performance.now() - start.at) / 1000);
        const rate = `${grouped(rows / seconds)} events/s`;
        const left = ((known - indexed) * seconds) / Math.max(1, indexed - start.block);
        if (isBackfill) {
          const text = `${progressBar(indexed - from + 1, known - from + 1)} blocks, ${rate}, ${duration(left)} left`;
          line.show(text);
          if (!isTerminal && performance.now() - toldAt > EVERY_MS) {
            toldAt = performance.now();
            info(text);
          }
        } else if (indexed === known) {
          if (!isCaughtUp) report(info, `The head of the chain, block ${known}, is written.`);
          isCaughtUp = true;
          line.show(`Block ${indexed} of ${new Date(event.time * 1000).toISOString()}`);
        }
        break;
      }
      case "reorganisation":
        report(
          info,
          `The chain has reorganised: ${event.depth} block(s) above block ${event.ancestor} were replaced.`,
        );
        break;
      case "leftOut":
        report(warn, event.reason);
        break;
      case "notice":
        report(info, `${event.reason}.`);
        break;
      case "doubt":
        report(warn, `${event.reason}.`);
        break;
      case "failure":
        report(warn, `${event.reason}. Trying again …`);
        break;
      case "recovered":
        report(info, "It goes on.");
        break;
      case "audit":
      case "begun":
      case "known":
      case "request":
      case "upToDate":
    }
  };
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
