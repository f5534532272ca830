// Reads the smart tag @eitherWay, and finds rows by an unordered pair of values with one index.
//
// `@eitherWay schema.key(one, other)` declares a function that returns the same number for two values
// in either order, and that indexes begin with it. A filter with both orders in an `or` then becomes a
// condition on that number, and the index returns the rows in the requested order. For the `or` itself
// PostgreSQL would read and sort all matching rows.
import type { Introspection, PgClass } from "pg-introspection";
import { sqlValueWithCodec, TYPES, type PgCondition } from "postgraphile/@dataplan/pg";
import type { GrafastInputFieldConfig } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { unorderedPair } from "#append-only-totals";

/** Two text columns that are not null, and the function that computes the key of their values. */
interface EitherWay {
  key: SQL;
  one: string;
  other: string;
}

/** The hook's types leave out `apply`. */
type Applied = Pick<GrafastInputFieldConfig<PgCondition, unknown>, "apply">;

declare global {
  namespace DataplanPg {
    interface PgCodecExtensions {
      /** Undefined without the tag. */
      eitherWay?: EitherWay;
    }
    interface PgCodecAttributeExtensions {
      /** Set on each of the two columns. */
      eitherWay?: EitherWay;
    }
  }
}

const TAG = /^(\w+)\.(\w+)\((\w+), *(\w+)\)$/;

/** Parses the tag; undefined if it is invalid. */
function eitherWayOf(
  table: PgClass,
  tag: string,
  introspection: Introspection,
): EitherWay | undefined {
  const [, schema = "", name = "", one = "", other = ""] = TAG.exec(tag.trim()) ?? [];
  const isFunction = introspection.getNamespace({ name: schema })?.getProcs({ name })?.length === 1;
  const isText = (name: string): boolean => {
    const column = table.getAttribute({ name });
    return column?.attnotnull === true && column.getType()?.typname === "text";
  };
  if (!isFunction || !isText(one) || !isText(other)) return undefined;
  return { key: sql.identifier(schema, name), one, other };
}

const sqlText = (text: string): SQL => sqlValueWithCodec(text, TYPES.text);

const column = (alias: SQL, name: string): SQL => sql`${alias}.${sql.identifier(name)}`;

/** Condition: the row's key is that of a and b. */
function hasKey(alias: SQL, { key, one, other }: EitherWay, a: string, b: string): SQL {
  return sql`${key}(${column(alias, one)}, ${column(alias, other)}) = ${key}(${sqlText(a)}, ${sqlText(b)})`;
}

/** Condition: the two columns hold a and b, in either order. */
function hasUnorderedPair(alias: SQL, way: EitherWay, a: string, b: string): SQL {
  const [one, other] = [column(alias, way.one), column(alias, way.other)];
  // `case` keeps the planner from choosing an index on the columns; it estimates that half of the
  // rows with the key match.
  return sql`(
    ${hasKey(alias, way, a, b)}
    and case
      when ${one} = ${sqlText(a)} then ${other} = ${sqlText(b)}
      else ${one} = ${sqlText(b)} and ${other} = ${sqlText(a)}
    end
  )`;
}

/** The condition on the key, if both columns are compared with a value; else none. */
export function impliedKey(way: EitherWay, alias: SQL, equal: ReadonlyMap<string, unknown>): SQL[] {
  const [one, other] = [equal.get(way.one), equal.get(way.other)];
  const areTexts = typeof one === "string" && typeof other === "string";
  return areTexts ? [hasKey(alias, way, one, other)] : [];
}

/** The plugin logs an invalid tag and then treats the table as untagged. */
export function makeEitherWayPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "EitherWayPlugin",
    description: "Finds rows of tables tagged @eitherWay by an unordered pair of values.",

    gather: {
      hooks: {
        async pgCodecs_PgCodec(info, { serviceName, pgCodec, pgClass }) {
          const tag = pgClass?.getTagsAndDescription().tags["eitherWay"];
          if (pgClass === undefined || tag === undefined) return;
          const { introspection } = await info.helpers.pgIntrospection.getService(serviceName);
          const eitherWay = eitherWayOf(pgClass, String(tag), introspection);
          if (eitherWay === undefined) {
            log(
              new Error(
                `@eitherWay of ${pgClass.relname} is ignored: it needs schema.function(column, column) with two text columns that are not null, not "${String(tag)}".`,
              ),
            );
            return;
          }
          pgCodec.extensions ??= {};
          pgCodec.extensions.eitherWay = eitherWay;
          for (const name of [eitherWay.one, eitherWay.other]) {
            const attribute = pgCodec.attributes?.[name];
            if (attribute) attribute.extensions = { ...attribute.extensions, eitherWay };
          }
        },
      },
    },

    schema: {
      hooks: {
        GraphQLInputObjectType_fields_field(field, build, { scope }) {
          if (scope.isPgConnectionFilterOperatorLogical !== true || scope.fieldName !== "or") {
            return field;
          }
          const { pgCodec: codec } = scope;
          const eitherWay = codec?.extensions?.eitherWay;
          const { apply } = field as Applied;
          if (!codec?.attributes || eitherWay === undefined || apply === undefined) return field;
          const nameOf = (attributeName: string): string =>
            build.inflection.attribute({ attributeName, codec: codec as never });
          const one = nameOf(eitherWay.one);
          const other = nameOf(eitherWay.other);
          const applied: Applied = {
            apply: (where, value, info) => {
              const values = unorderedPair(value, one, other);
              if (values === undefined) return apply(where, value, info) as unknown;
              where.where(hasUnorderedPair(where.alias, eitherWay, ...values));
              // The conditions inside `or` are already applied.
              return undefined;
            },
          };
          return { ...field, ...applied };
        },
      },
    },
  };
}
