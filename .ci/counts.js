// Counts the tests of a suite from the reports that Jest wrote of it: the first run, and, where files failed, their second run,
// which takes their place. Prints the tests that passed and those that failed; with --failures the names of the first run's.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

const [first, second] = globalThis.process.argv.slice(2);
const read = (file) =>
  existsSync(file) && readFileSync(file).length > 0
    ? JSON.parse(readFileSync(file, "utf8")).testResults
    : [];

const failuresOf = ({ name, status, assertionResults }) => {
  const failures = assertionResults.filter((one) => one.status === "failed");
  const names = failures.map(({ fullName }) => fullName);
  // A file can fail without a test: it does not load.
  return (names.length === 0 && status === "failed" ? ["the file"] : names).map(
    (test) => `${relative(".", name)}: ${test}`,
  );
};

if (second === "--failures") globalThis.console.log(read(first).flatMap(failuresOf).join("\n"));
else {
  const again = new Map(read(second ?? "").map((file) => [file.name, file]));
  const files = read(first).map((file) => again.get(file.name) ?? file);
  const passed = files.flatMap((file) =>
    file.assertionResults.filter(({ status }) => status === "passed"),
  );
  globalThis.console.log(passed.length, files.flatMap(failuresOf).length);
}
