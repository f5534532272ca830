// The arguments of the benchmark.
import { readOptions } from "../../bench/options.ts";

test("Without arguments a million trades are measured in every part", () => {
  expect(readOptions([])).toMatchObject({
    trades: 1_000_000,
    parts: ["rest", "graphql", "writer", "growth", "cold", "load"],
    rounds: 5,
    dataOnly: false,
  });
});

test("--quick is small and short", () => {
  expect(readOptions(["--quick"])).toMatchObject({ trades: 200_000, rounds: 2, seconds: 0.3 });
});

test("Parts are chosen by name", () => {
  expect(readOptions(["--cases", "load,rest"])).toMatchObject({ parts: ["rest", "load"] });
});

test("Answers from memory alone are measured only where that is asked for", () => {
  expect(readOptions(["--cases", "cached"])).toMatchObject({ parts: ["cached"] });
  expect(readOptions([])).not.toMatchObject({
    parts: expect.arrayContaining(["cached"]) as object,
  });
});

test.each([
  [["--trades", "5"], "--trades is 5; it must be a multiple of 1000 from 100000"],
  [["--trades", "100500"], "--trades is 100500; it must be a multiple of 1000"],
  [["--cases", "rest,rset"], '--cases has "rset"'],
  [["--runs", "1.5"], '--runs is "1.5"; it must be a whole number above 0'],
  [["--rounds", "0"], '--rounds is "0"; it must be a number above 0'],
  [["--fast"], "--fast"],
])("%j is refused", (args, message) => {
  expect(() => readOptions(args)).toThrow(message);
});

test("--help asks for help", () => {
  expect(readOptions(["--help", "--trades", "5"])).toBe("help");
});
