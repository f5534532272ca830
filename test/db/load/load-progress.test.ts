// The progress line of a load.
import { loadProgressLine } from "../../../db/load/load-progress.ts";
import type { LoadProgress } from "../../../db/load/write-rows.ts";
import { progressBar, type Terminal } from "../../../db/progress-line.ts";

function terminal(isTTY: boolean): { written: string[]; terminal: Terminal } {
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  return { written, terminal: { isTTY, write } };
}

it("counts the rows that are read, with their rate, and the seconds of writing, a few times a second", () => {
  const { written, terminal: screen } = terminal(true);
  let now = 0;
  const line = loadProgressLine(screen, () => now);
  const at = (ms: number, progress: LoadProgress): void => {
    now = ms;
    line.report(progress);
  };
  const reading = (rows: number): LoadProgress => ({ step: "reading", table: "trades", rows });
  const last: LoadProgress = { step: "reading", table: "offers", rows: 5000 };
  const writing: LoadProgress = { step: "writing", rows: 30_000 };

  at(0, reading(10));
  at(100, reading(500));
  at(2000, reading(30_000));
  at(2001, last);
  // Too soon to know a rate: 5,000 rows in 0.3 s would be 16,667 a second.
  at(2301, last);
  at(2350, writing);
  at(3350, writing);
  line.clear();

  expect(written.map((text) => text.replace("\r\x1b[2K", ""))).toEqual([
    "reading trades: 10 rows",
    "reading trades: 30,000 rows, 15,000 a second",
    "reading offers: 5,000 rows",
    "reading offers: 5,000 rows",
    "writing: 30,000 rows",
    "writing: 30,000 rows, for 1 s",
    "",
  ]);
});

it("writes nothing without a terminal", () => {
  const { written, terminal: file } = terminal(false);
  const line = loadProgressLine(file);

  line.report({ step: "reading", table: "trades", rows: 10 });
  line.clear();

  expect(written).toEqual([]);
});

it("draws how far a task is", () => {
  expect(progressBar(0, 20_000)).toBe("[--------------------]   0 %  0 of 20,000");
  expect(progressBar(5000, 20_000)).toBe("[#####---------------]  25 %  5,000 of 20,000");
  expect(progressBar(20_001, 20_000)).toBe("[####################] 100 %  20,001 of 20,000");
});
