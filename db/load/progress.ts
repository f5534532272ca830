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
 * One line that counts the rows of a file as they are read, with their rate, and then the seconds that
 * they have been written for. Writes nothing where there is no terminal. `now` gives milliseconds.
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
      const isReading = progress.step === "reading";
      const current = isReading ? `reading ${progress.table}` : "writing";
      if (current !== step) {
        step = current;
        began = now();
        shown = Number.NEGATIVE_INFINITY;
      }
      if (now() - shown < EVERY_MS) return;
      shown = now();
      const seconds = (shown - began) / 1000;
      const rate = seconds > 0 ? `, ${grouped(progress.rows / seconds)} a second` : "";
      // The database writes them in one statement, and tells nothing before its end.
      const since = isReading ? rate : `, for ${grouped(seconds)} seconds`;
      terminal.write(`${ERASE_LINE}${step}: ${grouped(progress.rows)} rows${since}`);
    },
    clear: () => terminal.write(ERASE_LINE),
  };
}

/** A count with its thousands set apart: 1,234,567. */
export const grouped = (count: number): string => Math.round(count).toLocaleString("en-US");
