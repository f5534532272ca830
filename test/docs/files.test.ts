// Files that somebody writes, tests apart: no two have one name, and none has more than 300 lines.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const MAX_LINES = 300;
const TESTS = /(^|\/)test\//;
const GENERATED = /\.d\.ts$|^db\/migrations\/committed\//;
// Each package and each example is a project by itself, and the catalog's queries are named for PostgreSQL's kinds of objects.
const SEPARATE = /^(packages|examples|db\/check\/catalog)\//;

const files = execFileSync("git", ["ls-files", "*.ts", "*.js", "*.sql", "*.css", "*.sh"], {
  encoding: "utf8",
})
  .trim()
  .split("\n")
  .filter((file) => !TESTS.test(file) && !GENERATED.test(file));

it("no production file has more than 300 lines", () => {
  expect(files.length).toBeGreaterThan(350);
  const long = files.flatMap((file) => {
    const lines = readFileSync(file, "utf8").split("\n").length - 1;
    return lines > MAX_LINES ? [`${file}: ${lines}`] : [];
  });
  expect(long).toEqual([]);
});

it("no two production files have one name", () => {
  const byName = Map.groupBy(
    files.filter((file) => !SEPARATE.test(file)),
    (file) => basename(file),
  );
  const shared = [...byName.values()].filter((paths) => paths.length > 1);
  expect(shared).toEqual([]);
});
