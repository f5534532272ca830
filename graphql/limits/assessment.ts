// Computes what an operation takes to plan (its complexity) and the rows that it may read (its cost), the latter as
// a function of its variables.
//
// A row costs 1: each row of a list, up to its `first` or `last`, and each record that a row refers to, and 1 more for
// each 2,000 characters of its fields: of a name 1 each, and 64 for a value. A `totalCount` costs 10, an `offset` 1
// for each 100 rows that it skips, and a `pageInfo` 1 for each row that it reads beside the page. Everything counts once
// for each row of the lists around it.
//
// As of a past block, a record of a view is computed from hours, minutes and trades: it costs as much as many rows.
//
// A subscription is priced as one of its events, whose lists have as many rows as an event may have.
import {
  getNamedType,
  getNullableType,
  isAbstractType,
  isCompositeType,
  isListType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
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
import { isAsOf } from "../as-of/directive.ts";
import { isGiven, READ_BESIDE } from "./beside-page.ts";
import {
  CHARACTERS_PER_COST,
  COUNT_COST,
  PAST_RECORD_COST,
  SKIPPED_PER_COST,
  STEPS,
  VALUE,
} from "./cost-of-parts.ts";
import type { IndexedFields } from "./served-conditions.ts";
import {
  amountOf,
  argumentNamed,
  argumentOf,
  leavesOut,
  type Amount,
  type VariableValues,
} from "./variable-values.ts";

/** The cost with this bound of the lists without `first` and `last`. */
export type Cost = (listBound: number, variables: VariableValues) => number;

/** A list with pages. */
export interface PricedList {
  field: FieldNode;
  first: Amount;
  last: Amount;
  /** Whether it has a condition or filter. */
  isChosen: boolean;
  /** What its indexes serve; undefined where it has no condition or filter. */
  indexed: IndexedFields | undefined;
  /** Whether its total reads each row that it counts: no count of a past block is kept. */
  isCountedWhole: boolean;
  /** Whether its PageInfo reads rows before the page and after it. */
  isReadAround: (variables: VariableValues) => boolean;
}

export interface Price {
  /** Which selections @skip and @include leave out: with another choice the operation has another plan. */
  choice: string;
  complexity: number;
  lists: readonly PricedList[];
  cost: Cost;
}

/**
 * The size of a list without paging: an array of a row, or of the introspected schema. It need not be
 * exact, because graphql itself refuses introspection that nests deep.
 */
const ARRAY_SIZE = 10;
const TYPES_SIZE = 100;

/** A field of the response: all selections of it under one name. */
interface Selected {
  parent: GraphQLCompositeType;
  field: FieldNode;
  definition: GraphQLField<unknown, unknown> | undefined;
  /** Undefined for a scalar. */
  type: GraphQLCompositeType | undefined;
  sets: SelectionSetNode[];
}

/** The fields of an object. */
interface Part {
  cost: Cost;
  /** Of its answer, in characters. */
  width: number;
}

const NOTHING: Cost = () => 0;

const EMPTY: Part = { cost: NOTHING, width: 0 };

/** The price of an operation of a valid document, with the selections that these variables leave. */
export function newPrice(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: VariableValues,
): Price {
  const fragments = fragmentsOf(document);
  let choice = "";
  let complexity = 0;
  const lists: PricedList[] = [];

  const isLeftOut = (node: SelectionNode): boolean => {
    if (node.directives === undefined || node.directives.length === 0) return false;
    const leftOut = leavesOut(node, variables);
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

  const isPast = isAsOf(operation);
  const rowCost = (type: GraphQLCompositeType | undefined): number =>
    isPast && isObjectType(type) && type.extensions.isOfView === true ? PAST_RECORD_COST : 1;

  const partOf = (type: GraphQLCompositeType | undefined, sets: SelectionSetNode[]): Part => {
    if (type === undefined) return EMPTY;
    const selected = collect(type, sets);
    return { cost: sumOf(selected.map(fieldCost)), width: sum(selected.map(widthOf)) };
  };

  const fieldCost = (selected: Selected): Cost => {
    const { field, definition, type, sets } = selected;
    if (definition === undefined || type === undefined) {
      complexity += STEPS.scalar;
      return NOTHING;
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
    const { cost: each, width } = partOf(type, sets);
    const row = (isList ? 1 : isIntrospection ? 0 : rowCost(type)) + costOf(width);
    if (!isList) return (bound, given) => row + each(bound, given);
    const isTypes = isIntrospection && field.name.value === "types";
    const size = eventRows ?? (isTypes ? TYPES_SIZE : ARRAY_SIZE);
    return (bound, given) => size * (row + each(bound, given));
  };

  const listCost = (
    { field, definition, sets }: Selected,
    type: GraphQLCompositeType,
    isPlain: boolean,
  ): Cost => {
    complexity += STEPS.list - STEPS.record;
    const perRow: Part[] = isPlain ? [partOf(type, sets)] : [];
    const perList: Cost[] = [];
    // A connection may be asked for its count alone.
    let readsRows = isPlain;
    let isCounted = false;
    const sides = new Set<string>();
    for (const part of isPlain ? [] : collect(type, sets)) {
      const name = part.field.name.value;
      readsRows ||= ["pageInfo", "nodes", "edges"].includes(name);
      if (name === "totalCount") {
        isCounted = true;
        complexity += STEPS.totalCount;
        perList.push(() => COUNT_COST);
      } else if (name === "pageInfo") {
        complexity += STEPS.pageInfo;
        const ofPage = part.type === undefined ? [] : collect(part.type, part.sets);
        const costOfPage = costOf(sum(ofPage.map(widthOf)));
        perList.push(() => costOfPage);
        for (const one of ofPage) {
          for (const side of READ_BESIDE[one.field.name.value] ?? []) sides.add(side);
        }
      } else if (name === "nodes") {
        perRow.push(partOf(part.type, part.sets));
      } else if (name === "edges" && part.type !== undefined) {
        for (const ofEdge of collect(part.type, part.sets)) {
          perRow.push({ cost: NOTHING, width: widthOf(ofEdge) }, partOf(ofEdge.type, ofEdge.sets));
        }
      } else {
        perList.push(fieldCost(part));
      }
    }
    const [first, last] = [amountOf(field, "first"), amountOf(field, "last")];
    const isChosen = ["condition", "filter"].some((name) => argumentOf(field, name) !== undefined);
    const indexed = definition?.extensions["indexedFields"] as IndexedFields | undefined;
    const isCountedWhole =
      isPast && isChosen && isCounted && definition?.extensions.isCountedBesidePage === true;
    const served = isChosen ? indexed : undefined;
    const besides = [...sides].flatMap((name) => argumentNamed(field, name) ?? []);
    complexity += STEPS.rowBeside * besides.length;
    const readBeside = (given: VariableValues): string[] =>
      besides.filter(({ value }) => isGiven(value, given)).map(({ name }) => name.value);
    if (besides.length > 0) perList.push((_bound, given) => readBeside(given).length);
    const isReadAround = (given: VariableValues): boolean =>
      ["after", "before"].every((name) => readBeside(given).includes(name));
    lists.push({ field, first, last, isChosen, indexed: served, isCountedWhole, isReadAround });

    const [beside, each] = [sumOf(perList), sumOf(perRow.map(({ cost }) => cost))];
    if (!readsRows) return beside;
    const offset = amountOf(field, "offset");
    const characters = sum(perRow.map(({ width }) => width));
    const row = rowCost(isPlain ? type : rowTypeOf(type)) + costOf(characters);
    return (bound, given) => {
      const rows = first(given) ?? last(given) ?? bound;
      const skipped = Math.floor((offset(given) ?? 0) / SKIPPED_PER_COST);
      return beside(bound, given) + skipped + rows * (row + each(bound, given));
    };
  };

  const root = schema.getRootType(operation.operation);
  const { cost } = partOf(root ?? undefined, [operation.selectionSet]);
  return { choice, complexity, lists, cost };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** Of a field's name and its value in the answer, in characters. A record's value is its fields, which are another part. */
const widthOf = ({ parent, field, type }: Selected): number => {
  const value = parent.name.startsWith("__") ? VALUE.introspected : VALUE.stored;
  return (field.alias ?? field.name).value.length + (type === undefined ? value : 0);
};

/** Of what an object's fields have beyond the first characters. */
const costOf = (width: number): number => Math.floor(width / CHARACTERS_PER_COST);

const sumOf = (costs: readonly Cost[]): Cost => {
  const some = costs.filter((cost) => cost !== NOTHING);
  if (some.length === 0) return NOTHING;
  return (bound, given) => some.reduce((sum, cost) => sum + cost(bound, given), 0);
};

/** The type of a connection's rows. */
function rowTypeOf(connection: GraphQLCompositeType): GraphQLCompositeType | undefined {
  const nodes = "getFields" in connection ? connection.getFields()["nodes"] : undefined;
  const type = nodes && getNamedType(nodes.type);
  return isCompositeType(type) ? type : undefined;
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
