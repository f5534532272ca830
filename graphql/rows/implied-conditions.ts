// Adds conditions that follow from those of the client and that an index can use.
//
// If rows are ordered by time as they are by id, a range of times implies a range of ids, and every
// index ends with the id: see row-order.ts. An index has a nullable column as coalesce(column, nullKey): see
// index-orders.ts. An index has a pair of texts as the key of both: see either-way.ts.
import {
  listOfCodec,
  PgCondition,
  sqlValueWithCodec,
  TYPES,
  type PgCodecAttribute,
  type PgWhereConditionSpec,
} from "postgraphile/@dataplan/pg";
import type { GrafastInputFieldConfig } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { nullKey } from "#indexed-orders";
import { impliedKey } from "./either-way.ts";

/** A client's comparison of a column with a value. */
interface Comparison {
  /** The and-ed comparisons that it belongs to. */
  group: object;
  attributeName: string;
  attribute: PgCodecAttribute;
  operator: string;
  value: unknown;
}

/** The hook's types leave out `apply`. */
type Applied = Pick<GrafastInputFieldConfig<PgCondition, unknown>, "apply">;

const MAX_INT = 2 ** 31 - 1;

/** The half-open range of each operator: "next" is the smallest value above the given one. */
const RANGES: Record<string, { from?: "this" | "next"; before?: "this" | "next" }> = {
  equalTo: { from: "this", before: "next" },
  in: { from: "this", before: "next" },
  greaterThanOrEqualTo: { from: "this" },
  greaterThan: { from: "next" },
  lessThan: { before: "this" },
  lessThanOrEqualTo: { before: "next" },
};

/** The range of the rows' order column that a comparison implies. */
function impliedRange({ attribute, operator, value }: Comparison, alias: SQL): SQL[] {
  const { ordered, soughtBy = sql.blank } = attribute.extensions ?? {};
  const { from, before } = RANGES[operator] ?? {};
  if (ordered === undefined) return [];
  const by = sql`${alias}.${sql.identifier(ordered.by)}`;
  const isInt = attribute.codec === TYPES.int;
  const codec = isInt ? TYPES.int : TYPES.timestamptz;
  const hasNext = !(isInt && [value].flat().includes(MAX_INT));

  const bound = (comparator: SQL, extreme: SQL, which: "this" | "next" | undefined): SQL[] => {
    if (which === undefined || (which === "next" && !hasNext)) return [];
    const step = isInt ? sql`1` : sql`interval '1 microsecond'`;
    const given = Array.isArray(value)
      ? sql`(select ${extreme}(given) from unnest(${sqlValueWithCodec(value, listOfCodec(codec))}) as given)`
      : sqlValueWithCodec(value, codec);
    const until = which === "next" ? sql`${given} + ${step}` : given;
    // PostgreSQL evaluates a subquery once, but might evaluate a function call for each row.
    return [sql`${by} ${comparator} ${soughtBy}((select ${ordered.first}(${until})))`];
  };
  return [...bound(sql`>=`, sql`min`, from), ...bound(sql`<`, sql`max`, before)];
}

/** The values to find in an index of coalesce(column, nullKey); none if an index does not help. */
function indexedValues({ attribute, operator, value }: Comparison): unknown[] {
  if (attribute.extensions?.coalesced === undefined) return [];
  if (operator === "isNull") {
    return value === true ? [attribute.codec === TYPES.int ? -1 : ""] : [];
  }
  return operator === "equalTo" || operator === "in" ? [value].flat() : [];
}

/** Adds the condition on coalesce(column, nullKey) that a comparison implies. */
function withCoalesced(condition: SQL, column: SQL, comparison: Comparison): SQL {
  const [value, ...others] = indexedValues(comparison);
  if (value === undefined) return condition;
  const codec = comparison.attribute.codec === TYPES.int ? TYPES.int : TYPES.text;
  const { soughtBy = sql.blank } = comparison.attribute.extensions ?? {};
  const sought =
    others.length === 0
      ? sql`${soughtBy}(${sqlValueWithCodec(value, codec)})`
      : sql`any (${sqlValueWithCodec([value, ...others], listOfCodec(codec))})`;
  // `is true` keeps PostgreSQL from using an index on the column itself, and from reading all rows of
  // a market in it.
  return sql`coalesce(${column}, ${nullKey(codec)}) = ${sought} and (${condition}) is true`;
}

/** Inside `not`, a comparison with null must stay null: `is true` would change the result. */
function isNegated(where: unknown): boolean {
  if (!(where instanceof PgCondition)) return false;
  return where.resolvedMode.mode === "NOT" || isNegated(where.dangerouslyGetParent());
}

/** For each group of and-ed comparisons, the value that each column must equal. */
const equalities = new WeakMap<object, Map<string, unknown>>();

/** The condition to apply a comparison to, so that the conditions that it implies are added. */
function withImplied(comparison: Comparison, where: PgCondition): PgCondition {
  const { group, attributeName, attribute, operator, value } = comparison;
  const { ordered, coalesced, eitherWay } = attribute.extensions ?? {};
  const equal = equalities.get(group) ?? new Map<string, unknown>();
  equalities.set(group, equal);
  if (operator === "equalTo") equal.set(attributeName, value);
  if (ordered === undefined && coalesced === undefined && eitherWay === undefined) return where;

  // PostGraphile calls this after all comparisons of the group are applied.
  const implied = (condition: SQL, column: SQL): SQL => {
    const hasPlainIndex = coalesced?.plainIndexWith.some((name) => equal.has(name)) === true;
    const conditions = [
      hasPlainIndex || isNegated(where) ? condition : withCoalesced(condition, column, comparison),
      ...impliedRange(comparison, where.alias),
      ...(eitherWay?.one === attributeName ? impliedKey(eitherWay, where.alias, equal) : []),
    ];
    return sql.join(conditions, " and ");
  };
  const added = (spec: PgWhereConditionSpec<string>): void => {
    if (typeof spec === "function") {
      throw new Error(`${attributeName} has a condition as a function`);
    }
    const callback = (column: SQL): SQL =>
      implied("callback" in spec ? spec.callback(column) : spec, column);
    where.where({ type: "attribute", attribute: attributeName, callback });
  };
  // A copy: V8 keeps what has been a prototype, and the operation with it, until the next full garbage collection.
  const copy = Object.create(PgCondition.prototype) as PgCondition;
  return Object.assign(copy, where, { where: added });
}

export const ImpliedConditionsPlugin: GraphileConfig.Plugin = {
  name: "ImpliedConditionsPlugin",
  description: "Adds implied conditions that an index can use.",

  schema: {
    hooks: {
      GraphQLInputObjectType_fields_field(field, _build, { scope }) {
        const { apply } = field as Applied;
        const comparisonOf = comparisons(scope);
        if (apply === undefined || comparisonOf === undefined) return field;
        const applied: Applied = {
          apply: (where, value, info) => {
            const comparison = comparisonOf(where, value);
            return apply(
              comparison ? withImplied(comparison, where) : where,
              value,
              info,
            ) as unknown;
          },
        };
        return { ...field, ...applied };
      },
    },
  },
};

/** Returns the comparison that a field of a condition, or an operator of a filter, makes with a value. */
function comparisons(
  scope: GraphileBuild.ScopeInputObjectFieldsField,
): ((where: PgCondition, value: unknown) => Comparison | undefined) | undefined {
  if (scope.isPgConnectionConditionInputField === true) {
    const { pgAttribute: attribute, pgCodec: codec } = scope;
    const [attributeName] =
      Object.entries(codec?.attributes ?? {}).find(([, one]) => one === attribute) ?? [];
    if (attribute === undefined || attributeName === undefined) return undefined;
    return (group, value) =>
      value === null
        ? { group, attributeName, attribute, operator: "isNull", value: true }
        : { group, attributeName, attribute, operator: "equalTo", value };
  }
  if (scope.isPgConnectionFilterOperator !== true) return undefined;
  const { fieldName: operator } = scope;
  return (where, value) => {
    const { attributeName, attribute } = where.extensions.pgFilterAttribute ?? {};
    if (attributeName === undefined || attribute === undefined) return undefined;
    return { group: where.dangerouslyGetParent(), attributeName, attribute, operator, value };
  };
}
