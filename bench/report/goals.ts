// The goals of the service: ratios of measurements in one run, each with a bound.
import { CONTENDERS } from "../contenders.ts";
import { WITH_TOTAL } from "../cases.ts";
import { growthCase, sizeName, WRITING } from "../compare.ts";
import type { Measured } from "../load/alternate.ts";
import type { Results } from "./results.ts";

export interface Ratio {
  group: string;
  name: string;
  ratio: number;
  /** The ratio of each run, if there are several. */
  runs?: number[];
  /** A lower bound for ratios of rates, an upper bound for ratios of times. */
  bound: { atLeast: number } | { atMost: number };
}

export const isReached = ({ ratio, bound }: Ratio): boolean =>
  "atLeast" in bound ? ratio >= bound.atLeast : ratio <= bound.atMost;

const REST = "REST, CACHE=off, its rate against the hand-written handler";
const GRAPHQL = "GraphQL, CACHE=off, its rate against the hand-written handler";
const CACHED = "CACHE=on, its rate against bare Express with the same bytes";
const TOTAL = "A page with totalCount, its time against the page without";
const DEEP = "A deep page, its time against an early one";
const GROWTH = "A long history, its time against a short one";
const LOAD = "Bulk load, its rate against a bare COPY of the same files";

/** All ratios that these results allow, in display order. */
export function ratiosOf(results: Results): Ratio[] {
  const { measured, bulkLoad } = results;
  const rates = new Map(measured.map((one) => [keyOf(one), one.rate]));
  const rate = (name: string, contender: string): number | undefined =>
    rates.get(keyOf({ case: name, contender }));
  const cases = [...new Set(measured.map((one) => one.case))];
  const ratios: Ratio[] = [];

  function add(
    group: string,
    name: string,
    [above, below]: [number | undefined, number | undefined],
    bound: Ratio["bound"],
  ): void {
    if (above === undefined || below === undefined) return;
    ratios.push({ group, name, ratio: above / below, bound });
  }
  const { service, cached, handWritten, sameBytes } = CONTENDERS;

  for (const name of cases.filter((one) => one.startsWith("/"))) {
    add(REST, name, [rate(name, service), rate(name, handWritten)], { atLeast: 0.9 });
  }
  // Pages with a total are left out, because the service counts with other SQL: see TOTAL below.
  for (const name of cases.filter((one) => isPage(one))) {
    add(GRAPHQL, name, [rate(name, service), rate(name, handWritten)], { atLeast: 0.6 });
  }
  for (const name of cases) {
    add(CACHED, name, [rate(name, cached), rate(name, sameBytes)], { atLeast: 1.3 });
  }
  for (const counted of cases.filter((one) => one.includes(WITH_TOTAL))) {
    const page = counted.replace(WITH_TOTAL, "");
    const name = page.replace(/^\w+ /, "") + (page.endsWith(WRITING) ? "" : ", at rest");
    // The ratio of times is the inverse ratio of rates.
    add(TOTAL, name, [rate(page, service), rate(counted, service)], { atMost: 1.2 });
  }
  const [early, deep] = cases.filter((one) => one.includes("by cursor"));
  if (early !== undefined && deep !== undefined) {
    add(DEEP, deep, [rate(early, service), rate(deep, service)], { atMost: 1.2 });
  }
  const [newest, older] = cases.filter((one) => /^\/v2\/trades\/[^ ]*$/.test(one));
  if (newest !== undefined && older !== undefined) {
    add(DEEP, older, [rate(newest, service), rate(older, service)], { atMost: 1.2 });
  }
  for (const name of cases.filter((one) => one === growthCase(one.split(" ")[0] ?? ""))) {
    add(
      GROWTH,
      name.split(" ")[0] ?? name,
      [rate(name, sizeName(results.fewTrades)), rate(name, sizeName(results.trades))],
      { atMost: 1.2 },
    );
  }
  if (bulkLoad !== undefined) {
    add(LOAD, "of the same files", [bulkLoad.load, bulkLoad.copy], { atLeast: 0.6 });
    add(LOAD, "of the same files, another connected", [bulkLoad.loadBeside, bulkLoad.copy], {
      atLeast: 0.6,
    });
    add(LOAD, "of files in which the derived columns stand", [bulkLoad.load, bulkLoad.copyWhole], {
      atLeast: 0.6,
    });
  }
  return ratios;
}

const isPage = (name: string): boolean =>
  name.startsWith("GraphQL") && !name.includes(WITH_TOTAL) && !name.endsWith(WRITING);

const keyOf = ({ case: name, contender }: Pick<Measured, "case" | "contender">): string =>
  `${name}\n${contender}`;
