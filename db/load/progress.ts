// Shows how far a load is, on a terminal.
import type { LoadProgress } from "./write.ts";

/** Where progress is written, a terminal or not: `process.stderr`. */
export type Terminal = Pick<NodeJS.WriteStream, "isTTY" | "write">;

export interface ProgressLine {
  hear: (progress: LoadProgress) => void;
  /** Takes the line off the terminal again. */
  clear: () => void;
}

const EVERY_MS = 200;
const ERASE_LINE = "\r\x1b[2K";

/**
 * One line that counts the rows of the step at hand, with their rate since it began. Writes nothing
 * where there is no terminal. `now` gives milliseconds.
 */
export function progressLine(
  terminal: Terminal,
  now: () => number = () => performance.now(),
): ProgressLine {
  if (!terminal.isTTY) return { hear: () => undefined, clear: () => undefined };
  let step = "";
  let began = now();
  let shown = Number.NEGATIVE_INFINITY;
  return {
    hear: (progress) => {
      const current = `${progress.step} ${progress.table}`;
      if (current !== step) {
        step = current;
        began = now();
        shown = Number.NEGATIVE_INFINITY;
      }
      if (now() - shown < EVERY_MS) return;
      shown = now();
      const seconds = (shown - began) / 1000;
      const rate = seconds > 0 ? `, ${grouped(progress.rows / seconds)} a second` : "";
      terminal.write(`${ERASE_LINE}${step}: ${grouped(progress.rows)} rows${rate}`);
    },
    clear: () => terminal.write(ERASE_LINE),
  };
}

/** A count with its thousands set apart: 1,234,567. */
export const grouped = (count: number): string => Math.round(count).toLocaleString("en-US");
