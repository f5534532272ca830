// Shows how far a load is, on a terminal.
import { grouped, progressLine, type Terminal } from "../progress-line.ts";
import type { LoadProgress } from "./write-rows.ts";

/** A rate over less time than this says nothing: the first rows of a file come from a buffer. */
const MIN_SECONDS = 1;

/**
 * One line that counts the rows of a file as they are read, with their rate, and then the seconds that
 * writing them has taken. Writes nothing where there is no terminal. `now` gives milliseconds.
 */
export function loadProgressLine(terminal: Terminal, now: () => number = () => performance.now()) {
  const line = progressLine(terminal, now);
  let step = "";
  let began = now();
  return {
    report: (progress: LoadProgress): void => {
      const isReading = progress.step === "reading";
      const current = isReading ? `reading ${progress.table}` : "writing";
      const isNew = current !== step;
      if (isNew) began = now();
      step = current;
      const seconds = (now() - began) / 1000;
      // The database writes all rows in one statement, and reports nothing before its end.
      const since = isReading
        ? `, ${grouped(progress.rows / seconds)} a second`
        : `, for ${grouped(seconds)} s`;
      const shown = seconds < MIN_SECONDS ? "" : since;
      line.show(`${step}: ${grouped(progress.rows)} rows${shown}`, isNew);
    },
    clear: line.clear,
  };
}
