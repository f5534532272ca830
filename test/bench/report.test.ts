// Table and chart of a run's results.
import { CONTENDERS } from "../../bench/contenders.ts";
import type { Measured } from "../../bench/load/alternate.ts";
import { ratioChart } from "../../bench/report/chart.ts";
import { isReached, ratiosOf } from "../../bench/report/goals.ts";
import type { Results } from "../../bench/report/results.ts";
import { combineRuns, ratiosOfRuns } from "../../bench/report/runs.ts";
import { resultsTable } from "../../bench/report/table.ts";

const measured = (name: string, contender: string, rate: number): Measured => ({
  case: name,
  contender,
  rate,
  rates: [rate],
  p50: 1,
  p99: 2,
  answers: 10,
});

const aRun = (overrides: Partial<Results>): Results => ({
  at: "2026-01-01T00:00:00.000Z",
  command: "npm run bench",
  machine: {
    processor: "A processor",
    cores: 8,
    memoryGigabytes: 16,
    system: "linux 6",
    loadBefore: 0.1,
    node: "v24.0.0",
    postgresql: "18.4",
    packages: { express: "5.3.0" },
  },
  pgbench: undefined,
  trades: 1_000_000,
  fewTrades: 100_000,
  runs: 1,
  rounds: 5,
  seconds: 2,
  connections: 16,
  measured: [],
  memory: [],
  written: 0,
  coldStart: undefined,
  bulkLoad: undefined,
  ...overrides,
});

test("A rate is compared with the hand-written handler's, and 0.9 of it is enough", () => {
  const [ratio] = ratiosOf(
    aRun({
      measured: [
        measured("/v1/markets/", CONTENDERS.service, 90),
        measured("/v1/markets/", CONTENDERS.handWritten, 100),
      ],
    }),
  );
  expect(ratio).toMatchObject({ name: "/v1/markets/", ratio: 0.9, bound: { atLeast: 0.9 } });
  expect(ratio && isReached(ratio)).toBe(true);
});

test("A page with its total is compared by time, and may take 1.2 times as long", () => {
  const [ratio] = ratiosOf(
    aRun({
      measured: [
        measured("GraphQL by market", CONTENDERS.service, 130),
        measured("GraphQL by market, with totalCount", CONTENDERS.service, 100),
      ],
    }),
  );
  // 130 a second without, 100 with: 1.3 times the time.
  expect(ratio).toMatchObject({ ratio: 1.3, bound: { atMost: 1.2 } });
  expect(ratio && isReached(ratio)).toBe(false);
});

test("An endpoint on a long history is compared with itself on a short one", () => {
  const [ratio] = ratiosOf(
    aRun({
      measured: [
        measured("/v2/volumes by size", "1,000,000 trades", 50),
        measured("/v2/volumes by size", "100,000 trades", 55),
      ],
    }),
  );
  expect(ratio).toMatchObject({ name: "/v2/volumes", ratio: 1.1 });
});

test("A ratio of which one side was not measured is not given", () => {
  expect(ratiosOf(aRun({ measured: [measured("/v2/volumes", CONTENDERS.service, 50)] }))).toEqual(
    [],
  );
});

test("The table names machine and command, says what is missing, and marks what is missed", () => {
  const run = aRun({});
  const table = resultsTable(run, [
    { group: "REST", name: "/v1/a", ratio: 0.5, bound: { atLeast: 0.9 } },
    { group: "REST", name: "/v1/b", ratio: 1, bound: { atLeast: 0.9 } },
  ]);
  expect(table).toContain("by `npm run bench`");
  expect(table).toContain("A processor, 8 cores, 16 GB");
  expect(table).toContain("pgbench is not installed");
  expect(table).toContain("| REST | `/v1/a` | 0.50 × | ≥ 0.9 × | **missed** |");
  expect(table).toContain("| REST | `/v1/b` | 1.00 × | ≥ 0.9 × | reached |");
  expect(table).not.toContain("others were using it");
});

test("The table says where the machine was shared", () => {
  const run = aRun({});
  const table = resultsTable({ ...run, machine: { ...run.machine, loadBefore: 4 } }, []);
  expect(table).toContain("load average of the 15 minutes before was 4: others were using it too");
});

test("The chart has a bar as long as its ratio, a line at the bound, and escapes names", () => {
  const chart = ratioChart("Ratios", [
    { group: "Times", name: "a < b", ratio: 2, bound: { atMost: 1 } },
    { group: "Times", name: "c", ratio: 1, bound: { atMost: 1 } },
  ]);
  // The longest takes the 440 units there are; half as much takes half.
  expect(chart).toContain('class="missed" x="330" y="77" width="440"');
  expect(chart).toContain('class="reached" x="330" y="99" width="220"');
  expect(chart).toContain('x1="550" x2="550"');
  expect(chart).toContain("a &#60; b");
  expect(chart).toContain("prefers-color-scheme: dark");
});

test("Several runs give the median of each ratio, with the least and the most", () => {
  const runs = [90, 80, 100].map((rate) =>
    aRun({
      measured: [
        measured("/v1/markets/", CONTENDERS.service, rate),
        measured("/v1/markets/", CONTENDERS.handWritten, 100),
      ],
      written: 5,
      coldStart: { rest: rate, graphql: 200, starts: 5 },
    }),
  );

  const results = combineRuns(runs);
  expect(results.measured[0]).toMatchObject({ rate: 90, rates: [90, 80, 100], answers: 30 });
  expect(results).toMatchObject({ runs: 3, written: 15, coldStart: { rest: 90, graphql: 200 } });
  expect(resultsTable(results, ratiosOfRuns(runs))).toContain(
    "| `/v1/markets/` | 0.90 × (0.80 to 1.00) | ≥ 0.9 × | reached |",
  );
});
