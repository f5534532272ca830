// No file that somebody writes, tests apart, has more than 300 lines.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const MAX_LINES = 300;
const TESTS = /(^|\/)test\//;
const GENERATED = /\.d\.ts$|^db\/migrations\/committed\//;

it("no production file has more than 300 lines", () => {
  const files = execFileSync("git", ["ls-files", "*.ts", "*.js", "*.sql", "*.css", "*.sh"], {
    encoding: "utf8",
  })
    .trim()
    .split("\n")
    .filter((file) => !TESTS.test(file) && !GENERATED.test(file));
  expect(files.length).toBeGreaterThan(350);
  const long = files.flatMap((file) => {
    const lines = readFileSync(file, "utf8").split("\n").length - 1;
    return lines > MAX_LINES ? [`${file}: ${lines}`] : [];
  });
  expect(long).toEqual([]);
});
