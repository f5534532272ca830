// Adds to what a condition or a filter asks for what follows from it, by which an index finds the rows.
//
// A range of a column whose order is that of the rows, as of time, is a range of what says that order,
// as of ids, which every index has: see row-order.ts. A text that can be null is in an index as '' where
// it is null: see index-orders.ts. Two texts are in one by the key of both: see either-way.ts.
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
import { keyOfBoth } from "./either-way.ts";

/** What is asked of a column. */
interface Comparison {
  attributeName: string;
  attribute: PgCodecAttribute;
  operator: string;
  value: unknown;
}

/** What the types of a hook leave out: how the field changes the statement. */
type Applied = Pick<GrafastInputFieldConfig<PgCondition, unknown>, "apply">;

const MAX_INT = 2 ** 31 - 1;

/** Rows are from this value or the next one on, and before this one or the next. */
const RANGES: Record<string, { from?: "this" | "next"; before?: "this" | "next" }> = {
  equalTo: { from: "this", before: "next" },
  in: { from: "this", before: "next" },
  greaterThanOrEqualTo: { from: "this" },
  greaterThan: { from: "next" },
  lessThan: { before: "this" },
  lessThanOrEqualTo: { before: "next" },
};

/** The range of the rows' order that a comparison is in. */
function rangesOf({ attribute, operator, value }: Comparison, alias: SQL): SQL[] {
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
    // In a subquery it is evaluated once, where PostgreSQL might evaluate it for each row.
    return [sql`${by} ${comparator} ${soughtBy}((select ${ordered.first}(${until})))`];
  };
  return [...bound(sql`>=`, sql`min`, from), ...bound(sql`<`, sql`max`, before)];
}

/** The texts, as an index has them, of which one is to be there; none where no index finds them. */
function textsOf({ attribute, operator, value }: Comparison): unknown[] {
  if (attribute.extensions?.known === undefined) return [];
  if (operator === "isNull") return value === true ? [""] : [];
  return operator === "equalTo" || operator === "in" ? [value].flat() : [];
}

/** What is asked, and the text as an index has it: '' in place of null. */
function knownText(asked: SQL, column: SQL, comparison: Comparison): SQL {
  const [text, ...others] = textsOf(comparison);
  if (text === undefined) return asked;
  const { soughtBy = sql.blank } = comparison.attribute.extensions ?? {};
  const sought =
    others.length === 0
      ? sql`${soughtBy}(${sqlValueWithCodec(text, TYPES.text)})`
      : sql`any (${sqlValueWithCodec([text, ...others], listOfCodec(TYPES.text))})`;
  // Compared with true, what is asked is no condition on an index by the column itself, of which
  // PostgreSQL would else go through all that it has of a market.
  return sql`coalesce(${column}, '') = ${sought} and (${asked}) is true`;
}

/** Whether it is within a `not`, where a comparison with null is still to be neither true nor false. */
function isNegated(where: unknown): boolean {
  if (!(where instanceof PgCondition)) return false;
  return where.resolvedMode.mode === "NOT" || isNegated(where.dangerouslyGetParent());
}

/** What columns are to be equal to, of each set of comparisons that are to hold together. */
const equalities = new WeakMap<object, Map<string, unknown>>();

/** Applies a comparison with what follows from it. */
function applyWith(
  comparison: Comparison,
  where: PgCondition,
  together: object,
  apply: (where: PgCondition) => void,
): void {
  const { attributeName, attribute, operator, value } = comparison;
  const { ordered, known, eitherWay } = attribute.extensions ?? {};
  const equal = equalities.get(together) ?? new Map<string, unknown>();
  equalities.set(together, equal);
  if (operator === "equalTo") equal.set(attributeName, value);
  if (ordered === undefined && known === undefined && eitherWay === undefined) {
    apply(where);
    return;
  }

  const withImplied = (asked: SQL, column: SQL): SQL => {
    const isFoundItself = known?.beside.some((name) => equal.has(name)) === true;
    const conditions = [
      isFoundItself || isNegated(where) ? asked : knownText(asked, column, comparison),
      ...rangesOf(comparison, where.alias),
      ...(eitherWay?.one === attributeName ? keyOfBoth(eitherWay, where.alias, equal) : []),
    ];
    return sql.join(conditions, " and ");
  };
  const collecting = Object.assign(Object.create(where) as PgCondition, {
    where: (asked: PgWhereConditionSpec<string>) => {
      if (typeof asked === "function") throw new Error(`${attributeName} is asked for otherwise`);
      // It is made to SQL when all that is to hold together is known.
      const callback = (column: SQL): SQL =>
        withImplied("callback" in asked ? asked.callback(column) : asked, column);
      where.where({ type: "attribute", attribute: attributeName, callback });
    },
  });
  apply(collecting);
}

export const ImpliedConditionsPlugin: GraphileConfig.Plugin = {
  name: "ImpliedConditionsPlugin",
  version: "1.0.0",
  description: "Finds rows by an index that what is asked of them does not name.",

  schema: {
    hooks: {
      GraphQLInputObjectType_fields_field(field, _build, { scope }) {
        const { apply } = field as Applied;
        if (apply === undefined) return field;

        if (scope.isPgConnectionConditionInputField === true) {
          const { pgAttribute: attribute, pgCodec: codec } = scope;
          const [attributeName] =
            Object.entries(codec?.attributes ?? {}).find(([, one]) => one === attribute) ?? [];
          if (attribute === undefined || attributeName === undefined) return field;
          const applied: Applied = {
            apply: (where, value, info) => {
              const asked =
                value === null
                  ? { operator: "isNull", value: true }
                  : { operator: "equalTo", value };
              applyWith({ attributeName, attribute, ...asked }, where, where, (collecting) => {
                apply(collecting, value, info);
              });
            },
          };
          return { ...field, ...applied };
        }

        if (scope.isPgConnectionFilterOperator === true) {
          const { fieldName: operator } = scope;
          const applied: Applied = {
            apply: (where, value, info) => {
              const { attributeName, attribute } = where.extensions.pgFilterAttribute ?? {};
              if (attributeName === undefined || attribute === undefined) {
                apply(where, value, info);
                return;
              }
              const comparison = { attributeName, attribute, operator, value };
              applyWith(comparison, where, where.dangerouslyGetParent(), (collecting) => {
                apply(collecting, value, info);
              });
            },
          };
          return { ...field, ...applied };
        }
        return field;
      },
    },
  },
};
