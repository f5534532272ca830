// Knows which conditions and filters of a list an index serves. Any other may read the whole table for one
// row: see assessment.ts.
import { valueFromASTUntyped, type FieldNode } from "graphql";
import type { PgCodecWithAttributes } from "postgraphile/@dataplan/pg";
import { unorderedPair } from "#append-only-totals";
import { IGNORES_CASE_COST, LIST_COST } from "./cost-of-parts.ts";
import type { VariableValues } from "./variable-values.ts";

/** The fields of a list's condition that an index has, in the index's order. */
interface IndexedFieldsOfOne {
  fields: readonly string[];
  /** One with a nullable column as it is serves no list of values: see implied-conditions.ts. */
  isOfSingleValues: boolean;
}
export type IndexedFields = readonly IndexedFieldsOfOne[];

const RANGES = new Set(["lessThan", "lessThanOrEqualTo", "greaterThan", "greaterThanOrEqualTo"]);

type Kind = "equality" | "list" | "range" | "unserved";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Without what a variable without a value would give: it is left out. */
const entriesOf = (value: unknown): [string, unknown][] =>
  isObject(value) ? Object.entries(value).filter(([, one]) => one !== undefined) : [];

function kindOf(operators: unknown): Kind {
  const names = entriesOf(operators).map(([name]) => name);
  if (names.includes("equalTo")) return "equality";
  if (names.includes("in")) return "list";
  return names.some((name) => RANGES.has(name)) ? "range" : "unserved";
}

/** What stands among an index's fields for two columns in either order: see either-way.ts. */
const pairOf = (columns: readonly string[]): string => `or ${columns.toSorted().join(" ")}`;

function pairIn(or: unknown): string | undefined {
  const columns = Array.isArray(or) ? entriesOf(or[0]).map(([name]) => name) : [];
  const [one = "", other = ""] = columns;
  return unorderedPair(or, one, other) && pairOf(columns);
}

function collect(filter: unknown, kinds: Map<string, Kind>): void {
  if (Array.isArray(filter)) for (const one of filter) collect(one, kinds);
  for (const [name, operators] of entriesOf(filter)) {
    const pair = name === "or" ? pairIn(operators) : undefined;
    if (name === "and") collect(operators, kinds);
    else if (pair !== undefined) kinds.set(pair, "equality");
    else if (kinds.get(name) !== "equality") kinds.set(name, kindOf(operators));
  }
}

/** Whether an index leads to just the rows that these arguments of a list ask for. */
export function isServed(
  { arguments: given = [] }: FieldNode,
  indexes: IndexedFields,
  variables: VariableValues,
): boolean {
  const kinds = new Map<string, Kind>();
  for (const { name, value } of given) {
    if (name.value !== "condition" && name.value !== "filter") continue;
    const asked: unknown = valueFromASTUntyped(value, variables);
    if (name.value === "filter") collect(asked, kinds);
    else for (const [field] of entriesOf(asked)) kinds.set(field, "equality");
  }
  if (kinds.size === 0) return true;
  return indexes.some(({ fields, isOfSingleValues }) =>
    fields.slice(0, kinds.size).every((field, n, { length }) => {
      const kind = length === kinds.size ? kinds.get(field) : undefined;
      if (kind === "list") return !isOfSingleValues;
      return kind === "equality" || (kind === "range" && n === length - 1);
    }),
  );
}

const GROUPS = new Set(["and", "or", "not"]);

/** Whether PostgreSQL may rather look each row up in a list than find the list's rows by an index. */
export function hasLongList(
  { arguments: given = [] }: FieldNode,
  variables: VariableValues,
): boolean {
  const isLong = (value: unknown): boolean =>
    Array.isArray(value)
      ? value.some(isLong)
      : entriesOf(value).some(([name, one]) =>
          name === "in" && Array.isArray(one) ? one.length >= LIST_COST : isLong(one),
        );
  return given.some(
    ({ name, value }) => name.value === "filter" && isLong(valueFromASTUntyped(value, variables)),
  );
}

/** With how many comparisons these arguments of a list test each row that is read. */
export function comparisonsOf(
  { arguments: given = [] }: FieldNode,
  variables: VariableValues,
): number {
  const count = (filter: unknown): number => {
    if (Array.isArray(filter)) return filter.reduce<number>((sum, one) => sum + count(one), 0);
    return entriesOf(filter).reduce((sum, [name, value]) => {
      if (GROUPS.has(name)) return sum + count(value);
      const operators = isObject(value) ? entriesOf(value) : [[name, value] as const];
      return operators.reduce((all, one) => all + costOfComparison(...one), sum);
    }, 0);
  };
  return given.reduce((sum, { name, value }) => {
    const isOfRows = name.value === "condition" || name.value === "filter";
    return isOfRows ? sum + count(valueFromASTUntyped(value, variables)) : sum;
  }, 0);
}

/** The value of each row is lowered anew for each that ignores case. */
function costOfComparison(operator: string, value: unknown): number {
  if (operator.endsWith("Insensitive")) return IGNORES_CASE_COST;
  return Array.isArray(value) ? Math.max(1, Math.min(value.length, LIST_COST)) : 1;
}

export const ServedConditionsPlugin: GraphileConfig.Plugin = {
  name: "ServedConditionsPlugin",
  description: "Knows which conditions an index serves.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, { scope, Self }) {
        const { pgFieldResource: resource, isPgFieldConnection } = scope;
        // A list of a row is read by the index of its relation.
        if (isPgFieldConnection !== true || resource === undefined || Self.name !== "Query") {
          return field;
        }
        const { indexes, nullableIndexes = [] } = resource.extensions ?? {};
        // A list of a function has none.
        if (indexes === undefined) return field;
        const codec = resource.codec as PgCodecWithAttributes;
        // A range of a column that follows the rows' order is one of that: see implied-conditions.ts.
        const nameOf = (attributeName: string): string =>
          build.inflection.attribute({ attributeName, codec });
        const rowOrder = resource.extensions?.rowOrder?.map(nameOf) ?? [];
        const followed = Object.entries(codec.attributes)
          .filter(([, { extensions }]) => extensions?.ordered !== undefined)
          .map(([column]) => nameOf(column));
        const { eitherWay } = codec.extensions ?? {};
        const pair = eitherWay && pairOf([eitherWay.one, eitherWay.other].map(nameOf));
        const [by = ""] = rowOrder;
        const served = [
          ...indexes.map((columns) => columns.map(nameOf)),
          ...(pair === undefined ? [] : [[pair, ...rowOrder]]),
        ].map((fields) => ({ fields, isOfSingleValues: false }));
        const ofSingleValues = nullableIndexes.map((columns) => ({
          fields: columns.map(nameOf),
          isOfSingleValues: true,
        }));
        const indexedFields: IndexedFields = [...served, ...ofSingleValues].flatMap((index) => {
          const before = index.fields.slice(0, index.fields.indexOf(by));
          const others = index.fields.includes(by) ? followed : [];
          return [index, ...others.map((column) => ({ ...index, fields: [...before, column] }))];
        });
        return { ...field, extensions: { ...field.extensions, indexedFields } };
      },
    },
  },
};
