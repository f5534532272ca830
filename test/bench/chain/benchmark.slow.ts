// The benchmark of the indexer, with few events; and its report.
import { measureBackfill } from "../../../bench/chain/backfill.ts";
import { INDEXER, PONDER, PONDER_MANY } from "../../../bench/chain/beside-ponder.ts";
import { Databases } from "../../../bench/chain/databases.ts";
import { measureHead } from "../../../bench/chain/head.ts";
import { chainReport, goalsOf } from "../../../bench/chain/report.ts";
import type { ChainResults } from "../../../bench/chain/results.ts";
import { clusterUrl } from "../../database.ts";

const results = (overrides: Partial<ChainResults>): ChainResults => ({
  at: "2020-01-01T00:00:00.000Z",
  command: "npm run bench:chain",
  machine: {
    ...{ processor: "one", cores: 2, memoryGigabytes: 8, system: "linux", loadBefore: 0 },
    ...{ node: "v24", postgresql: "18", packages: {} },
  },
  backfill: {
    ...{ events: 100, blocks: 20, logs: 300, rounds: 3 },
    rates: { indexer: [60, 50, 1000], bare: [100, 120, 500] },
  },
  ...overrides,
});

it("measures a backfill by the indexer and by its bound, whose rows it counts", async () => {
  const databases = await Databases.open({ url: clusterUrl(), stop: () => Promise.resolve() });
  const size = { events: 300, blocks: 60, rounds: 1 };

  const { rates, logs } = await measureBackfill(databases, size, () => undefined);

  expect(logs).toBeGreaterThan(600);
  expect(rates.indexer).toEqual([expect.any(Number)]);
  expect(rates.bare).toEqual([expect.any(Number)]);
  expect(Math.min(...rates.indexer, ...rates.bare)).toBeGreaterThan(0);
});

it("measures from a new block to the answer of the service", async () => {
  const { latencies } = await measureHead(4, () => undefined);

  // By the seed, not each of the four blocks has a trade of the market.
  expect(latencies.length).toBeGreaterThan(0);
  expect(Math.min(...latencies)).toBeGreaterThan(0);
});

describe("the report", () => {
  it("compares medians, and gives the least and the most of the turns", () => {
    // 60 ÷ 120; the turns are 60 ÷ 100, 50 ÷ 120 and 1000 ÷ 500
    expect(goalsOf(results({}))).toEqual([
      {
        name: "backfill: its rate against fetching, viem's decodeEventLog and COPY",
        value: "0.50 × (0.42 to 2.00)",
        bound: "≥ 0.5 ×",
        isReached: true,
      },
    ]);
  });

  it("names a goal that is missed", () => {
    const rates = { [INDEXER]: [100], [PONDER]: [5], [PONDER_MANY]: [20] };
    const given = results({
      ponder: { version: "1", events: 100, blocks: 20, rounds: 1, rates, requests: {} },
      head: { blocks: 3, path: "/v2/trades/weth/dai", latencies: [301, 302, 200] },
    });

    expect(goalsOf(given).map(({ value, isReached }) => [value, isReached])).toEqual([
      ["0.50 × (0.42 to 2.00)", true],
      ["20 × (20 to 20)", true],
      ["5.00 × (5.00 to 5.00)", false],
      ["301 ms", false],
    ]);
    expect(chainReport(given).match(/\*\*missed\*\*/g)).toHaveLength(2);
  });
});
