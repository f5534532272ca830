// Has PostgreSQL look each row up in a long list of `in` and `notIn`, as a set that it makes once for a statement. An empty
// list of `notIn` leaves out null, as every other does.
//
// A list that is a parameter is else compared value by value with each row that no index has found.
import {
  listOfCodec,
  PgCondition,
  sqlValueWithCodec,
  TYPES,
  type PgWhereConditionSpec,
} from "postgraphile/@dataplan/pg";
import type { GrafastInputFieldConfig } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { LIST_COST } from "../limits/cost-of-parts.ts";

/** The hook's types leave out `apply`. */
type Applied = Pick<GrafastInputFieldConfig<PgCondition, unknown>, "apply">;

/** Types that have a hash, and whose filter compares as their `=` does. */
const HASHED = [
  ...[TYPES.text, TYPES.varchar, TYPES.uuid, TYPES.boolean, TYPES.date, TYPES.timestamptz],
  ...[TYPES.int2, TYPES.int, TYPES.bigint, TYPES.numeric],
];

/** What the comparison becomes. Undefined where it stays as it is. */
function betterThan(
  where: PgCondition,
  operator: "in" | "notIn",
  value: unknown,
): ((condition: SQL) => SQL) | undefined {
  const { attributeName, attribute } = where.extensions.pgFilterAttribute ?? {};
  if (!Array.isArray(value) || attributeName === undefined || attribute === undefined)
    return undefined;
  const { expression, via } = attribute;
  if (expression !== undefined || via !== undefined) return undefined;
  const column = sql`${where.alias}.${sql.identifier(attributeName)}`;
  const hasValue = sql`(${column} is not null or null)`;
  if (value.length === 0 && operator === "notIn")
    return (condition) => sql`${condition} and ${hasValue}`;
  const codec = HASHED.find((one: unknown) => one === attribute.codec);
  if (value.length <= LIST_COST || codec === undefined) return undefined;
  const list = sqlValueWithCodec(value, listOfCodec(codec));
  // Within an expression it stays a subquery: see lists-without-case.ts.
  const isIn = sql`(${column} in (select unnest(${list}))) = true`;
  // The list itself is left, for indexes, and for rows that are in the set. Null stays null.
  return operator === "in"
    ? (condition) => sql`${isIn} and ${condition}`
    : (condition) => sql`case when ${isIn} then ${condition} else ${hasValue} end`;
}

export const LongListsPlugin: GraphileConfig.Plugin = {
  name: "LongListsPlugin",
  description: "Looks rows up in the long lists of in and notIn.",

  schema: {
    hooks: {
      GraphQLInputObjectType_fields_field(field, _build, { scope }) {
        const { isPgConnectionFilterOperator, fieldName } = scope;
        const { apply } = field as Applied;
        if (isPgConnectionFilterOperator !== true || apply === undefined) return field;
        if (fieldName !== "in" && fieldName !== "notIn") return field;
        const applied: Applied = {
          apply(where, value, info) {
            const better = betterThan(where, fieldName, value);
            if (better === undefined) return apply(where, value, info) as unknown;
            const add = (spec: PgWhereConditionSpec<string>): void => {
              if (typeof spec === "function") throw new Error(`${fieldName} has a function`);
              const isOfColumn = "callback" in spec;
              where.where(
                isOfColumn
                  ? { ...spec, callback: (of) => better(spec.callback(of)) }
                  : better(spec),
              );
            };
            // A copy: see implied-conditions.ts.
            const copy = Object.create(PgCondition.prototype) as PgCondition;
            return apply(Object.assign(copy, where, { where: add }), value, info) as unknown;
          },
        };
        return { ...field, ...applied };
      },
    },
  },
};
