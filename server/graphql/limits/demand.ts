// What an operation asks of the database: a tree of the records, lists and counts that it selects, and
// what they take to plan. Read from document and schema once for all variables but those of @skip and
// @include.
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
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import type { GivenVariables } from "./given-variables.ts";
import { STEPS } from "./complexity.ts";
import type { IndexedFields } from "./served-conditions.ts";
import { leftOutOf, type IsLeftOut } from "./left-out.ts";

/** A number that the query gives, or the variable that will give it; null where it gives none. */
export type Amount = number | null | { variable: string; otherwise: number | null };

/** One record, with what is asked of it. */
export interface RecordDemand {
  kind: "record";
  each: Demand[];
}

/** The count of a whole set. */
export interface CountDemand {
  kind: "count";
}

/** A list, with what is asked of each of its rows, and what beside them. */
export interface ListDemand {
  kind: "list";
  field: FieldNode;
  first: Amount;
  last: Amount;
  offset: Amount;
  /** What each index serves of its condition and filter; undefined for a list of a row. */
  indexedFields: IndexedFields | undefined;
  /** Whether rows are read at all; a connection may be asked for its count alone. */
  readsRows: boolean;
  each: Demand[];
  beside: Demand[];
}

/** A list that the schema itself holds, of about this size. */
export interface SchemaListDemand {
  kind: "schemaList";
  size: number;
  each: Demand[];
}

export type Demand = RecordDemand | CountDemand | ListDemand | SchemaListDemand;

/** An operation's demand: its root fields, and all of its lists once more. */
export interface OperationDemand {
  operation: OperationDefinitionNode;
  root: Demand[];
  lists: ListDemand[];
  /** What it takes to plan. */
  complexity: number;
}

/**
 * The size of a list without paging: an array of a row, or of the schema's description. It need not be
 * exact, since graphql itself refuses introspection that nests deep.
 */
const ARRAY_SIZE = 10;

/** The schema's types are many more. */
const TYPES_SIZE = 100;

/**
 * The demand of an operation of a valid document, without what these variables leave out; undefined
 * where it does not say which is run.
 */
export function operationDemand(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null,
  variables: GivenVariables,
): OperationDemand | undefined {
  const operations = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  const [operation, another] = operations.filter(
    ({ name }) => operationName === null || name?.value === operationName,
  );
  if (operation === undefined || another !== undefined) return undefined;
  const type = schema.getRootType(operation.operation);
  if (type == null) return undefined;
  const reader = new DemandReader(schema, document, operation, leftOutOf(operation, variables));
  const root = reader.read(type, [operation.selectionSet]);
  return { operation, root, lists: reader.lists, complexity: reader.complexity };
}

/** A field as it will be answered: all selections of it under one name. */
interface Selected {
  parent: GraphQLCompositeType;
  field: FieldNode;
  sets: SelectionSetNode[];
}

class DemandReader {
  readonly lists: ListDemand[] = [];
  complexity = 0;
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #defaults: ReadonlyMap<string, number | null>;
  readonly #isLeftOut: IsLeftOut;

  constructor(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    isLeftOut: IsLeftOut,
  ) {
    this.#schema = schema;
    this.#isLeftOut = isLeftOut;
    this.#fragments = new Map(
      document.definitions.flatMap((definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION
          ? [[definition.name.value, definition] as const]
          : [],
      ),
    );
    this.#defaults = new Map(
      (operation.variableDefinitions ?? []).map(({ variable, defaultValue }) => [
        variable.name.value,
        defaultValue?.kind === Kind.INT ? Number(defaultValue.value) : null,
      ]),
    );
  }

  /** What these selections ask of one object of the type. */
  read(type: GraphQLCompositeType, sets: SelectionSetNode[]): Demand[] {
    return this.#collect(type, sets).flatMap((selected) => this.#demandsOf(selected));
  }

  #demandsOf({ parent, field, sets }: Selected): Demand[] {
    const definition = this.#definition(parent, field);
    const type = definition && getNamedType(definition.type);
    if (definition === undefined || !isCompositeType(type)) {
      this.complexity += STEPS.scalar;
      return [];
    }
    const isList = isListType(getNullableType(definition.type));
    if (type.name.startsWith("__")) {
      const size = field.name.value === "types" ? TYPES_SIZE : ARRAY_SIZE;
      return [{ kind: "schemaList", size: isList ? size : 0, each: this.read(type, sets) }];
    }
    this.complexity += isAbstractType(type)
      ? STEPS.possibleType * this.#schema.getPossibleTypes(type).length
      : STEPS.record;
    if (definition.args.some(({ name }) => name === "first")) {
      return [this.#list(field, definition, isList, type, sets)];
    }
    if (isList) {
      return [{ kind: "schemaList", size: ARRAY_SIZE, each: this.read(type, sets) }];
    }
    return [{ kind: "record", each: this.read(type, sets) }];
  }

  #list(
    field: FieldNode,
    { extensions }: GraphQLField<unknown, unknown>,
    isPlain: boolean,
    type: GraphQLCompositeType,
    sets: SelectionSetNode[],
  ): ListDemand {
    this.complexity += STEPS.list - STEPS.record;
    const demand: ListDemand = {
      kind: "list",
      field,
      first: this.#amount(field, "first"),
      last: this.#amount(field, "last"),
      offset: this.#amount(field, "offset"),
      indexedFields: extensions["indexedFields"] as IndexedFields | undefined,
      readsRows: isPlain,
      each: isPlain ? this.read(type, sets) : [],
      beside: [],
    };
    if (!isPlain) for (const part of this.#collect(type, sets)) this.#addPart(demand, part);
    this.lists.push(demand);
    return demand;
  }

  /** Adds what one field of a connection asks for. */
  #addPart(demand: ListDemand, part: Selected): void {
    switch (part.field.name.value) {
      case "totalCount":
        this.complexity += STEPS.totalCount;
        demand.beside.push({ kind: "count" });
        return;
      case "pageInfo":
        this.complexity += STEPS.pageInfo;
        demand.readsRows = true;
        return;
      case "nodes":
        demand.readsRows = true;
        demand.each.push(...this.#within(part));
        return;
      case "edges": {
        demand.readsRows = true;
        const type = this.#typeOf(part);
        if (type === undefined) return;
        for (const ofEdge of this.#collect(type, part.sets))
          demand.each.push(...this.#within(ofEdge));
        return;
      }
      default:
        demand.beside.push(...this.#demandsOf(part));
    }
  }

  /** What is asked of the object that a field gives, the object itself left out. */
  #within(selected: Selected): Demand[] {
    const type = this.#typeOf(selected);
    return type === undefined ? [] : this.read(type, selected.sets);
  }

  #typeOf({ parent, field }: Selected): GraphQLCompositeType | undefined {
    const definition = this.#definition(parent, field);
    const type = definition && getNamedType(definition.type);
    return isCompositeType(type) ? type : undefined;
  }

  #definition(
    parent: GraphQLCompositeType,
    field: FieldNode,
  ): GraphQLField<unknown, unknown> | undefined {
    const name = field.name.value;
    if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
    if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
    return "getFields" in parent ? parent.getFields()[name] : undefined;
  }

  /** The fields of these selections, fragments resolved, each name once. */
  #collect(type: GraphQLCompositeType, sets: SelectionSetNode[]): Selected[] {
    const collected = new Map<string, Selected>();
    const spread = new Set<string>();
    const add = (parent: GraphQLCompositeType, set: SelectionSetNode): void => {
      for (const selection of set.selections) {
        if (this.#isLeftOut(selection)) continue;
        if (selection.kind === Kind.FIELD) {
          const key = `${parent.name}.${(selection.alias ?? selection.name).value}`;
          const known = collected.get(key);
          const ownSets = selection.selectionSet === undefined ? [] : [selection.selectionSet];
          if (known === undefined) collected.set(key, { parent, field: selection, sets: ownSets });
          else known.sets.push(...ownSets);
          continue;
        }
        const fragment =
          selection.kind === Kind.INLINE_FRAGMENT
            ? selection
            : this.#fragments.get(selection.name.value);
        if (fragment === undefined) continue;
        if (selection.kind === Kind.FRAGMENT_SPREAD) {
          if (spread.has(selection.name.value)) continue;
          spread.add(selection.name.value);
        }
        add(this.#narrowed(parent, fragment.typeCondition?.name.value), fragment.selectionSet);
      }
    };
    for (const set of sets) add(type, set);
    return [...collected.values()];
  }

  /** The type that a fragment's fields are looked up on. */
  #narrowed(parent: GraphQLCompositeType, condition: string | undefined): GraphQLCompositeType {
    if (condition === undefined || isObjectType(parent)) return parent;
    const type = this.#schema.getType(condition);
    return isObjectType(type) || isAbstractType(type) ? type : parent;
  }

  #amount(field: FieldNode, name: string): Amount {
    const argument = (field.arguments ?? []).find(
      (given: ArgumentNode) => given.name.value === name,
    );
    const value = argument?.value;
    if (value?.kind === Kind.INT) return Number(value.value);
    if (value?.kind !== Kind.VARIABLE) return null;
    const variable = value.name.value;
    return { variable, otherwise: this.#defaults.get(variable) ?? null };
  }
}
