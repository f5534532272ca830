// What a load shows of its progress.
import { progressLine, type Terminal } from "../../../db/load/progress.ts";

function terminal(isTTY: boolean): { written: string[]; terminal: Terminal } {
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  return { written, terminal: { isTTY, write } };
}

it("counts the rows of each step with their rate, a few times a second", () => {
  const { written, terminal: screen } = terminal(true);
  let now = 0;
  const line = progressLine(screen, () => now);
  const at = (ms: number, step: "reading" | "writing", rows: number): void => {
    now = ms;
    line.hear({ step, table: "trades", rows });
  };

  at(0, "reading", 10);
  at(100, "reading", 500);
  at(2000, "reading", 30_000);
  at(2050, "writing", 0);
  at(3050, "writing", 12_345);
  line.clear();

  expect(written.map((text) => text.replace("\r\x1b[2K", ""))).toEqual([
    "reading trades: 10 rows",
    "reading trades: 30,000 rows, 15,000 a second",
    "writing trades: 0 rows",
    "writing trades: 12,345 rows, 12,345 a second",
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
