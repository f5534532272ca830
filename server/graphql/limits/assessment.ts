// Computes, before an operation is planned, what it takes to plan (its complexity) and the rows that it may
// read (its cost).
//
// A row costs 1: each row of a list, up to its `first` or `last`, and each record that a row refers to. A
// `totalCount` costs 10, and an `offset` 1 for each 100 rows that it skips. Everything counts once for each
// row of the lists around it.
//
// A subscription is priced as one of its events, whose lists have as many rows as an event may have.
//
// A list whose condition or filter no index serves may read its whole table. One of them costs nothing
// more, because every column can be filtered by; each other one costs a 25th of the limit.
import {
  getNamedType,
  getNullableType,
  isAbstractType,
  isCompositeType,
  isListType,
  isObjectType,
  GraphQLError,
  Kind,
  OperationTypeNode,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  valueFromASTUntyped,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import { fragmentsOf } from "../fragments.ts";
import { variablesProblem } from "./input-problem.ts";
import { refusal } from "./limit-error.ts";
import type { GraphqlLimits } from "./limits.ts";
import { isServed, type IndexedFields } from "./served-conditions.ts";

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
}

/** The values of an operation's variables by name, without a prototype. */
export type VariableValues = Readonly<Record<string, unknown>>;

/**
 * What a field adds to a plan. Grafast plans by steps, each of some 4 kB and 0.03 ms; these are the steps
 * that were measured for each kind of field, rounded up, so that the sum bounds both.
 */
const STEPS = {
  scalar: 1,
  /** A record that is found by its key, or that another refers to. */
  record: 11,
  /** A list with its nodes or edges, and what its arguments add. */
  list: 30,
  totalCount: 13,
  pageInfo: 15,
  /** Each type that an interface's object may be of. */
  possibleType: 14,
};

const COUNT_COST = 10;
const SKIPPED_PER_COST = 100;
const WHOLE_TABLES = 25;

/**
 * The size of a list without paging: an array of a row, or of the introspected schema. It need not be
 * exact, because graphql itself refuses introspection that nests deep.
 */
const ARRAY_SIZE = 10;
const TYPES_SIZE = 100;

/** The cost with this bound of the lists without `first` and `last`. */
type Cost = (listBound: number) => number;

/** A field of the response: all selections of it under one name. */
interface Selected {
  parent: GraphQLCompositeType;
  field: FieldNode;
  definition: GraphQLField<unknown, unknown> | undefined;
  /** Undefined for a scalar. */
  type: GraphQLCompositeType | undefined;
  sets: SelectionSetNode[];
}

/** Assesses an operation of a valid document, or returns why it is refused. */
export function assess(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
  limits: GraphqlLimits,
): Assessment | GraphQLError {
  const variables = valuesOf(operation, given);
  // First, because `isServed` walks through them.
  const tooDeep = variablesProblem(variables, limits);
  if (tooDeep !== undefined) return tooDeep;
  const fragments = fragmentsOf(document);
  let choice = "";
  let complexity = 0;
  let unserved = 0;
  let tooLarge: GraphQLError | undefined;

  // Only a plain true of @skip or false of @include leaves a selection out: the executor refuses others.
  const isLeftOut = ({ directives = [] }: SelectionNode): boolean => {
    if (directives.length === 0) return false;
    const leftOut = directives.some(({ name: { value: name }, arguments: [condition] = [] }) => {
      if (condition === undefined || (name !== "skip" && name !== "include")) return false;
      return valueFromASTUntyped(condition.value, variables) === (name === "skip");
    });
    choice += leftOut ? "-" : "+";
    return leftOut;
  };

  /** The selected fields, with fragments resolved. */
  const collect = (type: GraphQLCompositeType, sets: SelectionSetNode[]): Selected[] => {
    const collected = new Map<string, Selected>();
    const spread = new Set<string>();
    const add = (parent: GraphQLCompositeType, { selections }: SelectionSetNode): void => {
      for (const selection of selections) {
        if (isLeftOut(selection)) continue;
        if (selection.kind === Kind.FIELD) {
          const key = `${parent.name}.${(selection.alias ?? selection.name).value}`;
          const selected = collected.get(key) ?? selectedField(parent, selection);
          collected.set(key, selected);
          if (selection.selectionSet !== undefined) selected.sets.push(selection.selectionSet);
          continue;
        }
        let fragment: Exclude<SelectionNode, FieldNode> | FragmentDefinitionNode = selection;
        if (selection.kind === Kind.FRAGMENT_SPREAD) {
          const name = selection.name.value;
          const definition = fragments.get(name);
          if (definition === undefined || spread.has(name)) continue;
          spread.add(name);
          fragment = definition;
        }
        if (!("selectionSet" in fragment)) continue;
        const on = fragment.typeCondition && schema.getType(fragment.typeCondition.name.value);
        const narrowed = isCompositeType(on) && !isObjectType(parent) ? on : parent;
        add(narrowed, fragment.selectionSet);
      }
    };
    for (const set of sets) add(type, set);
    return [...collected.values()];
  };

  const fieldsCost = (type: GraphQLCompositeType | undefined, sets: SelectionSetNode[]): Cost =>
    type === undefined ? sumOf([]) : sumOf(collect(type, sets).map(fieldCost));

  const fieldCost = (selected: Selected): Cost => {
    const { field, definition, type, sets } = selected;
    if (definition === undefined || type === undefined) {
      complexity += STEPS.scalar;
      return sumOf([]);
    }
    const isList = isListType(getNullableType(definition.type));
    const isIntrospection = type.name.startsWith("__");
    const isPaged = definition.args.some(({ name }) => name === "first");
    const { eventRows } = definition.extensions;
    if (!isIntrospection) {
      complexity += isAbstractType(type)
        ? STEPS.possibleType * schema.getPossibleTypes(type).length
        : eventRows === undefined
          ? STEPS.record
          : STEPS.list;
      if (isPaged) return listCost(selected, type, isList);
    }
    const each = fieldsCost(type, sets);
    if (!isList) return isIntrospection ? each : (bound) => 1 + each(bound);
    const isTypes = isIntrospection && field.name.value === "types";
    const size = eventRows ?? (isTypes ? TYPES_SIZE : ARRAY_SIZE);
    return (bound) => size * (1 + each(bound));
  };

  const listCost = (
    { field, definition, sets }: Selected,
    type: GraphQLCompositeType,
    isPlain: boolean,
  ): Cost => {
    complexity += STEPS.list - STEPS.record;
    const perRow: Cost[] = isPlain ? [fieldsCost(type, sets)] : [];
    const perList: Cost[] = [];
    // A connection may be asked for its count alone.
    let readsRows = isPlain;
    for (const part of isPlain ? [] : collect(type, sets)) {
      const name = part.field.name.value;
      readsRows ||= ["pageInfo", "nodes", "edges"].includes(name);
      if (name === "totalCount") {
        complexity += STEPS.totalCount;
        perList.push(() => COUNT_COST);
      } else if (name === "pageInfo") {
        complexity += STEPS.pageInfo;
      } else if (name === "nodes") {
        perRow.push(fieldsCost(part.type, part.sets));
      } else if (name === "edges" && part.type !== undefined) {
        for (const ofEdge of collect(part.type, part.sets)) {
          perRow.push(fieldsCost(ofEdge.type, ofEdge.sets));
        }
      } else {
        perList.push(fieldCost(part));
      }
    }
    tooLarge ??= pageProblem(field, variables, limits);
    const indexed = definition?.extensions["indexedFields"] as IndexedFields | undefined;
    if (indexed !== undefined && !isServed(field, indexed, variables)) unserved += 1;

    const [beside, each] = [sumOf(perList), sumOf(perRow)];
    if (!readsRows) return beside;
    const rows = amountOf(field, "first", variables) ?? amountOf(field, "last", variables);
    const offset = amountOf(field, "offset", variables) ?? 0;
    const skipped = Math.floor(offset / SKIPPED_PER_COST);
    return (bound) => beside(bound) + skipped + (rows ?? bound) * (1 + each(bound));
  };

  const root = schema.getRootType(operation.operation);
  const rowsCost = fieldsCost(root ?? undefined, [operation.selectionSet]);
  if (operation.operation === OperationTypeNode.SUBSCRIPTION && complexity === 0) {
    return NOTHING_SELECTED;
  }
  const problem = complexityProblem(complexity, limits) ?? tooLarge;
  if (problem !== undefined) return problem;

  const wholeTables = (Math.max(0, unserved - 1) * limits.cost) / WHOLE_TABLES;
  const least = wholeTables + rowsCost(1);
  if (least > limits.cost) return tooExpensive(least, unserved, limits);
  // The cost grows with the bound, so bisection finds the largest bound that fits; mostly that is the first.
  let [listBound, tooMany, next] = [1, limits.rows + 1, limits.rows];
  while (tooMany - listBound > 1) {
    if (wholeTables + rowsCost(next) <= limits.cost) listBound = next;
    else tooMany = next;
    next = Math.floor((listBound + tooMany) / 2);
  }
  return { operation, choice, complexity, listBound };
}

// grafast would fail at its own assertion.
const NOTHING_SELECTED = new GraphQLError(
  "The subscription selects no field: @skip and @include leave none",
  { extensions: { code: "BAD_REQUEST" } },
);

const sumOf =
  (costs: readonly Cost[]): Cost =>
  (listBound) =>
    costs.reduce((sum, cost) => sum + cost(listBound), 0);

/** Own properties only: GraphQL accepts `constructor` as the name of a variable. */
function valuesOf(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): VariableValues {
  const values = Object.create(null) as Record<string, unknown>;
  for (const { variable, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    if (Object.hasOwn(given, name)) values[name] = given[name];
    else if (defaultValue !== undefined) values[name] = valueFromASTUntyped(defaultValue);
  }
  return values;
}

function selectedField(parent: GraphQLCompositeType, field: FieldNode): Selected {
  const { value: name } = field.name;
  const metaFields = [SchemaMetaFieldDef, TypeMetaFieldDef];
  const definition =
    metaFields.find((metaField) => metaField.name === name) ??
    ("getFields" in parent ? parent.getFields()[name] : undefined);
  const type = definition && getNamedType(definition.type);
  return { parent, field, definition, type: isCompositeType(type) ? type : undefined, sets: [] };
}

/** The number that an argument gives; null without one. The executor refuses values that are no number. */
function amountOf(
  { arguments: given = [] }: FieldNode,
  name: string,
  variables: VariableValues,
): number | null {
  const argument = given.find((one) => one.name.value === name);
  const value = argument && valueFromASTUntyped(argument.value, variables);
  if (value == null) return null;
  return typeof value === "number" && value > 0 ? value : 0;
}

function complexityProblem(complexity: number, limits: GraphqlLimits): GraphQLError | undefined {
  if (complexity <= limits.complexity) return undefined;
  return refusal(
    "TOO_COMPLEX",
    `The query has a complexity of ${complexity}, ${STEPS.list} for each list, ${STEPS.record} for each record, ${STEPS.scalar} for each other field: at most ${limits.complexity} is accepted. Ask in several requests.`,
  );
}

function pageProblem(
  field: FieldNode,
  variables: VariableValues,
  { page }: GraphqlLimits,
): GraphQLError | undefined {
  for (const name of ["first", "last"]) {
    const rows = amountOf(field, name, variables) ?? 0;
    if (rows <= page) continue;
    const onwards = name === "first" ? '"after": endCursor' : '"before": startCursor';
    return refusal(
      "PAGE_TOO_LARGE",
      `Argument "${name}" of "${field.name.value}" must be an integer from 0 to ${page}, not ${rows}: page on with ${onwards}.`,
      field,
    );
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
