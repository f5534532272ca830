// One line of a terminal that shows how far a task is.

/** Where progress is written, a terminal or not: `process.stderr`. */
export type Terminal = Pick<NodeJS.WriteStream, "isTTY" | "write">;

export interface ProgressLine {
  /** Shows this in place of the line before, at most a few times a second; `now` shows it at once. */
  show: (line: string, now?: boolean) => void;
  /** Takes the line off the terminal again. */
  clear: () => void;
}

const EVERY_MS = 200;
const ERASE_LINE = "\r\x1b[2K";
const BAR_WIDTH = 20;

/** Writes nothing where there is no terminal. `now` gives milliseconds. */
export function progressLine(
  terminal: Terminal,
  now: () => number = () => performance.now(),
): ProgressLine {
  if (!terminal.isTTY) return { show: () => undefined, clear: () => undefined };
  let shown = Number.NEGATIVE_INFINITY;
  return {
    show: (line, atOnce = false) => {
      if (!atOnce && now() - shown < EVERY_MS) return;
      shown = now();
      terminal.write(`${ERASE_LINE}${line}`);
    },
    clear: () => terminal.write(ERASE_LINE),
  };
}

/** `[#####---------------]  25 %  5,000 of 20,000`. */
export function progressBar(done: number, total: number): string {
  const share = Math.min(1, done / total);
  const full = Math.floor(share * BAR_WIDTH);
  const bar = `${"#".repeat(full)}${"-".repeat(BAR_WIDTH - full)}`;
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${bar}] ${percent} %  ${grouped(done)} of ${grouped(total)}`;
}

/** A count with its thousands set apart: 1,234,567. */
export const grouped = (count: number): string => Math.round(count).toLocaleString("en-US");
