// The benchmark of the indexer, with few events; and its page.
import { measureBackfill, type Backfill } from "../../bench/chain/index-speed.ts";
import { measureHead } from "../../bench/chain/head-delay.ts";
import { chainPage } from "../../bench/chain/chain-report.ts";
import { clusterUrl } from "../database.ts";

beforeEach(() => jest.spyOn(console, "log").mockImplementation());
afterEach(() => jest.restoreAllMocks());

it.each([
  ["of a book", 0],
  ["of pools", 9],
])(
  "measures a backfill %s by the indexer and by its bound, whose rows it counts",
  async (_name, pools) => {
    const server = { url: clusterUrl(), stop: () => Promise.resolve() };

    const { rates, logs } = await measureBackfill(server, { events: 300, pools, rounds: 1 });

    expect(logs).toBeGreaterThan(599);
    expect(rates.indexer).toEqual([expect.any(Number)]);
    expect(rates.bare).toEqual([expect.any(Number)]);
    expect(Math.min(...rates.indexer, ...rates.bare)).toBeGreaterThan(0);
  },
);

it.each([
  ["with a book", 0],
  ["with pools", 9],
])("measures from a new block %s to the answer of the service", async (_name, pools) => {
  const { latencies } = await measureHead(4, pools);

  expect(latencies).toHaveLength(4);
  expect(Math.min(...latencies)).toBeGreaterThan(0);
});

it("compares medians, gives the range of the turns, and marks a goal that is missed", () => {
  const run = {
    ...{ at: "2020-01-01T00:00:00.000Z", command: "npm run bench -- chain" },
    machine: {
      ...{ processor: "one", cores: 2, memoryGigabytes: 8, system: "linux", loadBefore: 0 },
      ...{ node: "v24", postgresql: "18", packages: {} },
    },
  };
  const backfill: Backfill = {
    ...{ events: 100, pools: 0, blocks: 20, logs: 300, rounds: 3 },
    rates: { indexer: [60, 50, 1000], bare: [100, 120, 500] },
  };
  const head = { blocks: 3, events: 30, path: "/v2/blocks?from=", latencies: [301, 302, 200] };

  const page = chainPage(run, backfill, head).join("\n");

  // 60 ÷ 120; the turns are 60 ÷ 100, 50 ÷ 120 and 1000 ÷ 500
  expect(page).toContain("COPY (0.42 to 2.00) | 0.50 × | ≥ 0.50 × | reached |");
  expect(page).toContain("median | 301 ms | ≤ 300 ms | **missed** |");
});
