// What an operation costs, before it runs: the rows that it may read, nested ones as often as they
// are asked for.
//
// A row costs 1: one of a list, as many as `first` or `last` allow, or one that a row refers to. A
// `totalCount` costs 10, and what an `offset` skips 1 for each 100 rows. All of it counts once for
// each row of the lists around it. What @skip and @include leave out is never run, and costs nothing.
//
// A list whose condition or filter no index serves may read its whole table. One of them costs nothing
// more, since every column filters; each other one costs a 25th of what is accepted.
import type { GraphQLError } from "graphql";
import type { Amount, Demand, ListDemand, OperationDemand } from "./demand.ts";
import { givenVariable, type GivenVariables } from "./given-variables.ts";
import type { GraphqlLimits } from "./limits.ts";
import { refusal } from "./limit-error.ts";
import { isServed } from "./served-conditions.ts";

const COUNT_COST = 10;
const SKIPPED_PER_COST = 100;
const WHOLE_TABLES = 25;

export interface Assessment {
  /** What it costs at most. */
  cost: number;
  /**
   * How many rows each list without `first` and `last` may have: as many as the limits allow, but
   * fewer where the query asks for several such lists, or for much of each row.
   */
  listBound: number;
}

/** What the operation costs with these variables, or why it is refused. */
export function assess(
  demand: OperationDemand,
  variables: GivenVariables,
  limits: GraphqlLimits,
): Assessment | GraphQLError {
  const tooLarge = pageProblem(demand.lists, variables, limits);
  if (tooLarge !== undefined) return tooLarge;
  const unserved = demand.lists.filter(
    ({ field, indexedFields }) =>
      indexedFields !== undefined && !isServed(field, indexedFields, variables),
  ).length;
  const wholeTables = (Math.max(0, unserved - 1) * limits.cost) / WHOLE_TABLES;
  const costWith = (listBound: number): number =>
    wholeTables + costOf(demand.root, variables, listBound);

  const least = costWith(1);
  if (least > limits.cost) return tooExpensive(least, unserved, limits);
  // The cost grows with the bound, so the largest that fits is found by halving.
  let fits = 1;
  let tooMany = limits.rows + 1;
  if (costWith(limits.rows) <= limits.cost) fits = limits.rows;
  while (fits < limits.rows && tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (costWith(middle) <= limits.cost) fits = middle;
    else tooMany = middle;
  }
  return { cost: Math.ceil(costWith(fits)), listBound: fits };
}

function costOf(demands: readonly Demand[], variables: GivenVariables, listBound: number): number {
  let cost = 0;
  for (const demand of demands) {
    switch (demand.kind) {
      case "count":
        cost += COUNT_COST;
        break;
      case "record":
        cost += 1 + costOf(demand.each, variables, listBound);
        break;
      case "schemaList":
        cost += demand.size;
        cost += Math.max(1, demand.size) * costOf(demand.each, variables, listBound);
        break;
      case "list":
        cost += listCost(demand, variables, listBound);
    }
  }
  return cost;
}

function listCost(list: ListDemand, variables: GivenVariables, listBound: number): number {
  const beside = costOf(list.beside, variables, listBound);
  if (!list.readsRows) return beside;
  const rows = amountOf(list.first, variables) ?? amountOf(list.last, variables) ?? listBound;
  const skipped = Math.floor((amountOf(list.offset, variables) ?? 0) / SKIPPED_PER_COST);
  return beside + skipped + rows * (1 + costOf(list.each, variables, listBound));
}

/** The number given; null where none is. One that makes no sense is refused where it is used. */
function amountOf(amount: Amount, variables: GivenVariables): number | null {
  if (amount === null || typeof amount === "number") return amount && Math.max(0, amount);
  const given = givenVariable(variables, amount.variable);
  const value = given === undefined ? amount.otherwise : given;
  if (value === null) return null;
  return typeof value === "number" && value > 0 ? value : 0;
}

function pageProblem(
  lists: readonly ListDemand[],
  variables: GivenVariables,
  { page }: GraphqlLimits,
): GraphQLError | undefined {
  for (const list of lists) {
    for (const name of ["first", "last"] as const) {
      const rows = amountOf(list[name], variables) ?? 0;
      if (rows <= page) continue;
      const onwards = name === "first" ? '"after": endCursor' : '"before": startCursor';
      return refusal(
        "PAGE_TOO_LARGE",
        `Argument "${name}" of "${list.field.name.value}" must be an integer from 0 to ${page}, not ${rows}: page on with ${onwards}.`,
        list.field,
      );
    }
  }
  return undefined;
}

function tooExpensive(cost: number, unserved: number, limits: GraphqlLimits): GraphQLError {
  const tables =
    unserved > 1
      ? ` ${unserved} of its lists have a condition or filter that no index serves, and each after the first counts as ${limits.cost / WHOLE_TABLES}.`
      : "";
  return refusal(
    "TOO_EXPENSIVE",
    `The query may read ${Math.ceil(cost)} rows, nested ones counted for each row around them: at most ${limits.cost} are accepted. Ask for smaller pages by "first", the smallest for what is nested.${tables}`,
  );
}
