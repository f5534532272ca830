// Refuses an operation that exceeds a limit, before it is planned.
//
// A list whose condition or filter no index serves may read its whole table. One of them costs nothing
// more, because every column can be filtered by; each other one costs a 25th of the limit. So do 20 comparisons of each
// row, and a total of chosen rows as of a past block, of which no count is kept. A list counts twice whose pageInfo reads
// rows before the page and after it: they are the same rows if the cursor of `before` is not behind that of `after`.
import {
  getOperationAST,
  GraphQLError,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type FieldNode,
} from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { newPrice, type Price, type PricedList } from "./assessment.ts";
import { stateIn, stateOf } from "../../http/request.ts";
import { variablesProblem } from "./input-problem.ts";
import type { GraphqlLimits } from "./limits.ts";
import { nullProblem } from "./null-problem.ts";
import {
  COMPARISONS_PER_TABLE,
  WHOLE_TABLES,
  CHARACTERS_PER_COST,
  IGNORES_CASE_COST,
  LIST_COST,
  STEPS,
} from "./cost-of-parts.ts";
import { comparisonsOf, hasLongList, isServed } from "./served-conditions.ts";
import { conditionsOf, valuesOf, type VariableValues } from "./variable-values.ts";
import { refusal } from "./limit-error.ts";

export interface Assessment {
  operation: OperationDefinitionNode;
  /** Which selections @skip and @include leave out: with another choice the operation has another plan. */
  choice: string;
  complexity: number;
  /**
   * How many rows each list without `first` and `last` may have: as many as the limits allow, but fewer
   * if the query selects several of these lists, or much of each row.
   */
  listBound: number;
  /** Whether it may read a table, or all rows of a market, for what it answers. */
  readsWhole: boolean;
}

declare global {
  namespace Grafast {
    interface Context {
      assessment?: Assessment;
    }
  }
}

/** A client may have events of many subscriptions waiting: one is at most such a part of an answer. */
const EVENTS = 10;

const ONLY_BY_WEB_SOCKET = new GraphQLError(
  "Subscriptions are served by WebSocket, with the protocol of graphql-ws",
  { extensions: { code: "BAD_REQUEST" } },
);

// grafast would fail at its own assertion.
const NOTHING_SELECTED = new GraphQLError(
  "The subscription selects no field: @skip and @include leave none",
  { extensions: { code: "BAD_REQUEST" } },
);

/** Clients choose operation names of any length: the log has a prefix. */
const MAX_NAME_LENGTH = 100;

/** This plugin must come before all others that wrap the execution, so that nothing runs on a refusal. */
export function makeOperationLimitsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  /** Why an operation is refused; else it gets its assessment. */
  function refused(args: GrafastExecutionArgs, kind: string): ExecutionResult | undefined {
    const { schema, document, operationName, variableValues, requestContext } = args;
    const operation = getOperationAST(document, operationName);
    // Grafast refuses a request that does not say which operation to run.
    if (operation == null) return undefined;
    const state = stateIn(requestContext);
    if (state !== undefined) state.operation = operation.name?.value.slice(0, MAX_NAME_LENGTH);
    const isSubscription = operation.operation === OperationTypeNode.SUBSCRIPTION;
    if (isSubscription && kind !== "subscription") return { errors: [ONLY_BY_WEB_SOCKET] };
    const variables = valuesOf(operation, variableValues ?? {});
    // First, because `isServed` walks through them.
    const tooDeep = variablesProblem(document, variables, limits);
    if (tooDeep !== undefined) return { errors: [tooDeep] };
    if (Object.values(variables).includes(null)) {
      const isNull = nullProblem(schema, document, operation, variables);
      if (isNull !== undefined) return { errors: [isNull] };
    }
    const price = priceOf(schema, document, operation, variables);
    const { choice, complexity, lists } = price;
    if (isSubscription && complexity === 0) return { errors: [NOTHING_SELECTED] };
    if (complexity > limits.complexity) return { errors: [tooComplex(complexity, limits)] };
    for (const { field, first, last } of lists) {
      const rows = first(variables) ?? 0;
      if (rows > limits.page) return { errors: [pageTooLarge(field, "first", rows, limits)] };
      const lastRows = last(variables) ?? 0;
      if (lastRows > limits.page)
        return { errors: [pageTooLarge(field, "last", lastRows, limits)] };
    }
    const req = requestContext?.ws?.request ?? requestContext?.node?.req;
    const ofKey = req && stateOf(req).key?.cost;
    const mayCost = (ofKey ?? limits.cost) / (isSubscription ? EVENTS : 1);
    const bound = listBound(price, variables, { ...limits, cost: mayCost });
    if (bound instanceof GraphQLError) return { errors: [bound] };
    const { contextValue } = args as { contextValue: Grafast.Context };
    const readsWhole = lists.some((list) => mayReadWhole(list, variables));
    contextValue.assessment = { operation, choice, complexity, listBound: bound, readsWhole };
    return undefined;
  }

  /** A subscription that others share is executed again without a request: what its clients may have is known. */
  const isAccepted = ({ contextValue }: GrafastExecutionArgs): boolean =>
    (contextValue as Grafast.Context).assessment !== undefined;

  return {
    name: "OperationLimitsPlugin",
    description: "Limits pages, lists of values, complexity and cost.",

    grafast: {
      middleware: {
        execute: (next, { args }) => refused(args, "query") ?? next(),
        subscribe: (next, { args }) =>
          isAccepted(args) ? next() : (refused(args, "subscription") ?? next()),
      },
    },
  };
}

interface Kept {
  /** The variables of @skip and @include. */
  conditions: readonly string[];
  /** By which of these are true and which false. */
  prices: Map<string, Price>;
}

/** A document is parsed for one schema, and kept. */
const kept = new WeakMap<OperationDefinitionNode, Kept>();

/** Of one operation: with n conditions it may have 2 to the nth. Further ones are computed for each request. */
const KEPT_PRICES = 8;

/** The price of an operation of a valid document. */
export function priceOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: VariableValues,
): Price {
  let known = kept.get(operation);
  if (known === undefined) {
    known = { conditions: conditionsOf(document), prices: new Map() };
    kept.set(operation, known);
  }
  const { conditions, prices } = known;
  const choice = conditions.map((name) => signOf(variables[name])).join("");
  const knownPrice = prices.get(choice);
  if (knownPrice !== undefined) return knownPrice;
  const price = newPrice(schema, document, operation, variables);
  if (prices.size < KEPT_PRICES) prices.set(choice, price);
  return price;
}

const signOf = (value: unknown): string => (value === true ? "+" : value === false ? "-" : "?");

const mayReadWhole = (list: PricedList, variables: VariableValues): boolean => {
  const { field, isChosen, indexed, isCountedWhole } = list;
  if (!isChosen) return false;
  if (isCountedWhole || indexed === undefined || !isServed(field, indexed, variables)) return true;
  return hasLongList(field, variables);
};

function listBound(
  { lists, cost }: Price,
  variables: VariableValues,
  limits: GraphqlLimits,
): number | GraphQLError {
  const isUnserved = ({ field, indexed }: PricedList): boolean =>
    indexed !== undefined && !isServed(field, indexed, variables);
  const ofUnserved = lists
    .filter(isUnserved)
    .flatMap((one) => (one.isReadAround(variables) ? [one, one] : [one]));
  const unserved = ofUnserved.length;
  const counted = lists.filter((list) => list.isCountedWhole && !isUnserved(list)).length;
  const comparisons = ofUnserved.map(({ field }) => comparisonsOf(field, variables));
  const compared = comparisons.reduce((all, n) => all + Math.floor(n / COMPARISONS_PER_TABLE), 0);
  const tables = Math.max(0, unserved + counted - 1) + compared;
  const wholeTables = (tables * limits.cost) / WHOLE_TABLES;
  const least = wholeTables + cost(1, variables);
  if (least > limits.cost) return tooExpensive(least, { unserved, counted, compared }, limits);
  // The cost grows with the bound, so bisection finds the largest bound that fits; mostly that is the first.
  let [found, tooMany, next] = [1, limits.rows + 1, limits.rows];
  while (tooMany - found > 1) {
    if (wholeTables + cost(next, variables) <= limits.cost) found = next;
    else tooMany = next;
    next = Math.floor((found + tooMany) / 2);
  }
  return found;
}

const tooComplex = (complexity: number, limits: GraphqlLimits): GraphQLError =>
  refusal(
    "TOO_COMPLEX",
    `The query has a complexity of ${complexity}, ${STEPS.list} for each list, ${STEPS.record} for each record, ${STEPS.scalar} for each other field: at most ${limits.complexity} is accepted. Ask in several requests.`,
  );

function pageTooLarge(
  field: FieldNode,
  name: "first" | "last",
  rows: number,
  { page }: GraphqlLimits,
): GraphQLError {
  const onwards = name === "first" ? '"after": endCursor' : '"before": startCursor';
  return refusal(
    "PAGE_TOO_LARGE",
    `Argument "${name}" of "${field.name.value}" must be an integer from 0 to ${page}, not ${rows}: page on with ${onwards}.`,
    field,
  );
}

function tooExpensive(
  cost: number,
  { unserved, counted, compared }: Record<"unserved" | "counted" | "compared", number>,
  limits: GraphqlLimits,
): GraphQLError {
  const why = [
    ...(unserved > 0
      ? [`${unserved} of its lists have a condition or filter that no index serves`]
      : []),
    ...(counted > 0 ? [`${counted} have a total of chosen rows as of a past block`] : []),
  ].join(", ");
  const tables =
    unserved + counted > 1
      ? ` ${why}, and each after the first counts as ${limits.cost / WHOLE_TABLES}.`
      : "";
  const comparisons =
    compared > 0
      ? ` Where no index serves a condition or filter, each ${COMPARISONS_PER_TABLE} comparisons in it count as ${limits.cost / WHOLE_TABLES}, and one that ignores case, or with a list of ${LIST_COST} values or more, as ${IGNORES_CASE_COST} comparisons: give values of one column as a list of "in" or "inInsensitive".`
      : "";
  return refusal(
    "TOO_EXPENSIVE",
    `The operation costs ${Math.ceil(cost)}, 1 for each row that it may read, nested ones counted for each row around them, and 1 more for each ${CHARACTERS_PER_COST} characters of a row: at most ${limits.cost} is accepted. Ask for smaller pages by "first", the smallest for what is nested.${tables}${comparisons}`,
  );
}
