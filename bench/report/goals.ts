// The goals of the service: ratios of measurements in one run, each with a bound.
import { CONTENDERS } from "../contenders.ts";
import { WITH_TOTAL } from "../cases.ts";
import { growthCase, sizeName, WRITING } from "../compare.ts";
import type { Results } from "../read.ts";

export interface Ratio {
  group: string;
  name: string;
  ratio: number;
  /** A lower bound for ratios of rates, an upper bound for ratios of times. */
  bound: { atLeast: number } | { atMost: number };
}

export const isReached = ({ ratio, bound }: Ratio): boolean =>
  "atLeast" in bound ? ratio >= bound.atLeast : ratio <= bound.atMost;

const REST = "REST, CACHE_BYTES=0, its rate against the hand-written handler";
const DUTIES = "REST, CACHE_BYTES=0, its rate against the handler with the same duties";
const GRAPHQL = "GraphQL, CACHE_BYTES=0, its rate against the hand-written handler";
const PLAIN = "GraphQL, CACHE_BYTES=0, its rate against plain PostGraphile";
const CACHED = "With the cache, its rate against bare Express with the same bytes";
const TOTAL = "A page with totalCount, its time against the page without";
const DEEP = "A deep page, its time against an early one";
const GROWTH = "A long history, its time against a short one";

/** All ratios that these results allow, in display order. */
export function ratiosOf(results: Pick<Results, "measured" | "trades" | "few">): Ratio[] {
  const { measured, trades, few } = results;
  const cases = [...new Set(measured.map((one) => one.case))];
  const ratios: Ratio[] = [];
  const rate = (name: string | undefined, contender: string): number | undefined =>
    measured.find((one) => one.case === name && one.contender === contender)?.rate;
  const add = (
    [group, name = ""]: [string, string | undefined],
    [above, below]: [number | undefined, number | undefined],
    bound: Ratio["bound"],
  ): void => {
    if (above === undefined || below === undefined) return;
    ratios.push({ group, name, ratio: above / below, bound });
  };
  const { service, cached, handWritten, sameDuties, plain, sameBytes } = CONTENDERS;

  for (const name of cases.filter((one) => one.startsWith("/"))) {
    add([REST, name], [rate(name, service), rate(name, handWritten)], { atLeast: 0.95 });
    add([DUTIES, name], [rate(name, service), rate(name, sameDuties)], { atLeast: 1.2 });
  }
  // Pages with a total are left out, because the service counts with other SQL: see TOTAL below.
  for (const name of cases.filter((one) => isPage(one))) {
    add([GRAPHQL, name], [rate(name, service), rate(name, handWritten)], { atLeast: 0.8 });
    add([PLAIN, name], [rate(name, service), rate(name, plain)], { atLeast: 1.8 });
  }
  for (const name of cases) {
    add([CACHED, name], [rate(name, cached), rate(name, sameBytes)], { atLeast: 1.3 });
  }
  // The ratio of times is the inverse ratio of rates.
  for (const counted of cases.filter((one) => one.includes(WITH_TOTAL))) {
    const page = counted.replace(WITH_TOTAL, "");
    const name = page.replace(/^\w+ /, "") + (page.endsWith(WRITING) ? "" : ", at rest");
    add([TOTAL, name], [rate(page, service), rate(counted, service)], { atMost: 1.2 });
  }
  for (const isSame of [/by cursor/, /^\/v2\/trades\/[^ ]*$/]) {
    const [early, deep] = cases.filter((one) => isSame.test(one));
    add([DEEP, deep], [rate(early, service), rate(deep, service)], { atMost: 1.2 });
  }
  for (const path of new Set(cases.map((one) => one.replace(/ by size$/, "")))) {
    const [short, long] = [few, trades].map((size) => rate(growthCase(path), sizeName(size)));
    add([GROWTH, path], [short, long], { atMost: 1.2 });
  }
  return ratios;
}

const isPage = (name: string): boolean =>
  name.startsWith("GraphQL") && !name.includes(WITH_TOTAL) && !name.endsWith(WRITING);
