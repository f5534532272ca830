// What a load shows of its progress.
import { progressLine, type Terminal } from "../../../db/load/progress.ts";
import type { LoadProgress } from "../../../db/load/write.ts";

function terminal(isTTY: boolean): { written: string[]; terminal: Terminal } {
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  return { written, terminal: { isTTY, write } };
}

it("counts the rows that are read, with their rate, and the seconds of writing, a few times a second", () => {
  const { written, terminal: screen } = terminal(true);
  let now = 0;
  const line = progressLine(screen, () => now);
  const at = (ms: number, progress: LoadProgress): void => {
    now = ms;
    line.hear(progress);
  };
  const reading = (rows: number): LoadProgress => ({ step: "reading", table: "trades", rows });
  const writing: LoadProgress = { step: "writing", rows: 30_000 };

  at(0, reading(10));
  at(100, reading(500));
  at(2000, reading(30_000));
  at(2050, writing);
  at(3050, writing);
  line.clear();

  expect(written.map((text) => text.replace("\r\x1b[2K", ""))).toEqual([
    "reading trades: 10 rows",
    "reading trades: 30,000 rows, 15,000 a second",
    "writing: 30,000 rows, for 0 seconds",
    "writing: 30,000 rows, for 1 seconds",
    "",
  ]);
});

it("writes nothing where there is no terminal", () => {
  const { written, terminal: file } = terminal(false);
  const line = progressLine(file);

  line.hear({ step: "reading", table: "trades", rows: 10 });
  line.clear();

  expect(written).toEqual([]);
});
