// Table and chart of a run's results.
import { CONTENDERS } from "../../bench/contenders.ts";
import type { Measured } from "../../bench/load/alternate.ts";
import { ratioChart } from "../../bench/report/chart.ts";
import { isReached, ratiosOf, type Ratio } from "../../bench/report/goals.ts";
import type { Results } from "../../bench/read.ts";
import { resultsPage } from "../../bench/report/page.ts";

const measured = (name: string, contender: string, rate: number): Measured => ({
  case: name,
  contender,
  rate,
  p50: 1,
  p99: 2,
  cpu: 30,
});

const aRun = (overrides: Partial<Results>): Results => ({
  at: "2026-01-01T00:00:00.000Z",
  command: "npm run bench -- read",
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
  ...{
    trades: 1_000_000,
    few: 100_000,
    rounds: 5,
    seconds: 2,
    warmUp: 2,
    connections: 16,
  },
  parts: ["rest"],
  measured: [],
  written: 0,
  memory: { service: 300 * 1024 ** 2, cached: 250 * 1024 ** 2 },
  ...overrides,
});

const pageOf = (run: Results, ratios: Ratio[]): string => resultsPage(run, ratios).join("\n");

test("A rate is compared with the hand-written handler's, and with that of the same duties", () => {
  const ratios = ratiosOf(
    aRun({
      measured: [
        measured("/v1/markets/", CONTENDERS.service, 95),
        measured("/v1/markets/", CONTENDERS.handWritten, 100),
        measured("/v1/markets/", CONTENDERS.sameDuties, 76),
      ],
    }),
  );
  const name = "/v1/markets/";
  expect(ratios).toMatchObject([
    { name, ratio: 0.95, bound: { atLeast: 0.95 } },
    { name, ratio: 1.25, bound: { atLeast: 1.2 } },
  ]);
  expect(ratios.map(isReached)).toEqual([true, true]);
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

test("The table names machine and command, and marks what is missed", () => {
  const run = aRun({});
  const table = pageOf(run, [
    { group: "REST", name: "/v1/a", ratio: 0.5, bound: { atLeast: 0.9 } },
    { group: "REST", name: "/v1/b", ratio: 1, bound: { atLeast: 0.9 } },
  ]);
  expect(table).toContain("by `npm run bench -- read`");
  expect(table).toContain("A processor, 8 cores, 16 GB");
  expect(table).toContain("| REST | `/v1/a` | 0.50 × | ≥ 0.9 × | **missed** |");
  expect(table).toContain("| REST | `/v1/b` | 1.00 × | ≥ 0.9 × | reached |");
  expect(table).not.toContain("others were using it");
  expect(table).toContain("The service had 300 MB of memory after all cases without its cache");
});

test("The table says where the machine was shared", () => {
  const run = aRun({});
  const table = pageOf({ ...run, machine: { ...run.machine, loadBefore: 4 } }, []);
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
