// Reads rows between two values, whichever of two columns holds which, by one key of both ways.
//
// The smart tag `@eitherWay schema.key(one, other)` says of a table that this function gives one number
// for two values of these columns whatever their order, and that indexes begin with it. A filter that
// asks for both orders in an `or` then looks for the number: the index gives the rows in the order
// that they are asked in, where of the two conditions PostgreSQL would read and sort all rows.
import type { PgClass, PgNamespace } from "pg-introspection";
import { sqlValueWithCodec, TYPES, type PgCondition } from "postgraphile/@dataplan/pg";
import type { GrafastInputFieldConfig } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";

/** Two columns of text that are never null, and what gives the key of their values. */
interface EitherWay {
  key: SQL;
  one: string;
  other: string;
}

/** What the types of a hook leave out: how the field changes the statement. */
type Applied = Pick<GrafastInputFieldConfig<PgCondition, unknown>, "apply">;

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace DataplanPg {
    interface PgCodecExtensions {
      /** How the table's rows are found by two values in either order; absent where nothing is said. */
      eitherWay?: EitherWay;
    }
    interface PgCodecAttributeExtensions {
      /** The same, of each of the two columns. */
      eitherWay?: EitherWay;
    }
  }
}

const TAG = /^(\w+)\.(\w+)\((\w+), *(\w+)\)$/;

/** What the tag says, or undefined where it cannot be followed. */
function eitherWayOf(
  table: PgClass,
  tag: string,
  namespaceNamed: (name: string) => PgNamespace | undefined,
): EitherWay | undefined {
  const [, schema = "", name = "", one = "", other = ""] = TAG.exec(tag.trim()) ?? [];
  const isFunction = namespaceNamed(schema)?.getProcs({ name })?.length === 1;
  const isText = (name: string): boolean => {
    const column = table.getAttribute({ name });
    return column?.attnotnull === true && column.getType()?.typname === "text";
  };
  if (!isFunction || !isText(one) || !isText(other)) return undefined;
  return { key: sql.identifier(schema, name), one, other };
}

/** The two values of `or: [{one: {equalTo: a}, other: {equalTo: b}}, {…b…, …a…}]`; undefined of any other. */
function bothWays(value: unknown, one: string, other: string): [string, string] | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [[a, b], [c, d]] = (value as unknown[]).map((way) => [
    equalTo(way, one),
    equalTo(way, other),
  ]) as [[unknown, unknown], [unknown, unknown]];
  if (typeof a !== "string" || typeof b !== "string") return undefined;
  return a === d && b === c ? [a, b] : undefined;
}

/** What a field is to be equal to, where the filter asks for that of two fields and for no more. */
function equalTo(filter: unknown, field: string): unknown {
  if (!isRecord(filter) || Object.keys(filter).length !== 2) return undefined;
  const asked = filter[field];
  return isRecord(asked) && Object.keys(asked).length === 1 ? asked["equalTo"] : undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const valueOf = (text: string): SQL => sqlValueWithCodec(text, TYPES.text);

const columnsOf = (alias: SQL, way: EitherWay): [SQL, SQL] => [
  sql`${alias}.${sql.identifier(way.one)}`,
  sql`${alias}.${sql.identifier(way.other)}`,
];

/** Holds of rows that have the key of the two values. */
function hasKey(alias: SQL, way: EitherWay, a: string, b: string): SQL {
  const [one, other] = columnsOf(alias, way);
  return sql`${way.key}(${one}, ${other}) = ${way.key}(${valueOf(a)}, ${valueOf(b)})`;
}

/** Holds of rows that have the two values, each in one of the columns. */
function holdsEitherWay(alias: SQL, way: EitherWay, a: string, b: string): SQL {
  const [one, other] = columnsOf(alias, way);
  // In a case the planner looks for no other index, and takes half of what has the key to be meant.
  return sql`(
    ${hasKey(alias, way, a, b)}
    and case
      when ${one} = ${valueOf(a)} then ${other} = ${valueOf(b)}
      else ${one} = ${valueOf(b)} and ${other} = ${valueOf(a)}
    end
  )`;
}

/** The key of both values, where both columns are to be equal to one. */
export function keyOfBoth(way: EitherWay, alias: SQL, equal: ReadonlyMap<string, unknown>): SQL[] {
  const [one, other] = [equal.get(way.one), equal.get(way.other)];
  const areTexts = typeof one === "string" && typeof other === "string";
  return areTexts ? [hasKey(alias, way, one, other)] : [];
}

/** Makes the plugin; it logs a tag that it cannot follow, and leaves that table as untagged. */
export function makeEitherWayPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "EitherWayPlugin",
    version: "1.0.0",
    description: "Finds the rows of tables tagged @eitherWay by two values in either order.",

    gather: {
      hooks: {
        async pgCodecs_PgCodec(info, { serviceName, pgCodec, pgClass }) {
          const tag = pgClass?.getTagsAndDescription().tags["eitherWay"];
          if (pgClass === undefined || tag === undefined) return;
          const { introspection } = await info.helpers.pgIntrospection.getService(serviceName);
          const eitherWay = eitherWayOf(pgClass, String(tag), (name) =>
            introspection.getNamespace({ name }),
          );
          if (eitherWay === undefined) {
            log(
              new Error(
                `@eitherWay of ${pgClass.relname} is left aside: it needs a function and two columns of text that cannot be null, named as schema.function(column, column), not "${String(tag)}".`,
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
              const values = bothWays(value, one, other);
              if (values === undefined) return apply(where, value, info) as unknown;
              where.where(holdsEitherWay(where.alias, eitherWay, ...values));
              // There is nothing within that is still to be applied.
              return undefined;
            },
          };
          return { ...field, ...applied };
        },
      },
    },
  };
}
