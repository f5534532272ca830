// Keeps the price of an operation, so that a request computes it by its variables alone.
import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from "graphql";
import { newPrice, type Price } from "./assessment.ts";
import { conditionsOf, type VariableValues } from "./variable-values.ts";

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
  const price = prices.get(choice) ?? newPrice(schema, document, operation, variables);
  if (prices.size < KEPT_PRICES) prices.set(choice, price);
  return price;
}

const signOf = (value: unknown): string => (value === true ? "+" : value === false ? "-" : "?");
