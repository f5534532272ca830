// Limits orderBy of a table tagged @order to the orders that an index serves, so that no request sorts
// the whole table.
//
// An index on (market, block, id), with rows ordered by block and id, serves [MARKET] and, for each
// column that follows the order, [MARKET, BLOCK] or [MARKET, TIME]. A nullable text must be in the index
// as coalesce(column, ''): see cursors.ts. Any other combination is an error.
import type { PgClass } from "pg-introspection";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { readIndexOrders } from "./index-orders.ts";
import { rowOrderOf, type RowOrder } from "./row-order.ts";

/** An order that clients may request. */
export interface ServedOrder {
  requested: string[];
  /** The columns of an index: rows sorted by them are also sorted by the requested columns. */
  columns: string[];
}

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace DataplanPg {
    interface PgResourceExtensions {
      /** Undefined if every order is offered. */
      servedOrders?: ServedOrder[];
    }
    interface PgCodecAttributeExtensions {
      /** True also if every order is offered. */
      isInServedOrder?: boolean;
      /**
       * Set if an index has the column as coalesce(column, ''). `plainIndexWith` are the columns that
       * follow the column itself in other indexes.
       */
      coalesced?: { plainIndexWith: string[] };
      /** The function of the tag @soughtBy, which hides a value from the planner's statistics. */
      soughtBy?: SQL;
      /** The first column of the rows' order, and the function for its smallest value: see row-order.ts. */
      ordered?: { by: string; first: SQL };
    }
  }
}

interface ColumnOrder {
  column: string;
  direction: "ASC" | "DESC";
}

/** The columns and directions of each value of an orderBy enum. */
type OrderNames = ReadonlyMap<string, readonly ColumnOrder[]>;

interface Tagged {
  order: RowOrder;
  /** The columns of each index that serves an order. */
  indexes: string[][];
}

const taggedTables = new WeakMap<PgClass, Tagged>();

function servedOrders(table: PgClass, { order, indexes }: Tagged): ServedOrder[] {
  const { columns, follows } = order;
  const primary = table.getIndexes().find((index) => index.indisprimary);
  const primaryKey = (primary?.getKeys() ?? []).map((key) => key?.attname ?? "");
  const leading = follows.filter(({ isGlobal }) => isGlobal);
  const within = follows.filter(({ isGlobal }) => !isGlobal);
  const ordered = new Set([...columns, ...follows.map(({ column }) => column)]);

  const served = indexes
    .filter((index) => index.slice(-columns.length).join() === columns.join())
    .map((index) => ({ index, before: index.slice(0, -columns.length) }))
    .filter(({ before }) => !before.some((column) => ordered.has(column)))
    .flatMap(({ index, before }) =>
      [
        before,
        ...leading.flatMap(({ column }) => [
          [...before, column],
          ...(before.length > 0 ? [] : within.map((one) => [column, one.column])),
        ]),
      ].map((requested) => ({ requested, columns: index })),
    )
    .filter(({ requested }) => requested.length > 0);
  const byText = new Map(
    [{ requested: primaryKey, columns: primaryKey }, ...served].map((one) => [
      one.requested.join(),
      one,
    ]),
  );
  return [...byText.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** The served orders in the names of the orderBy enum: `[ID], [TIME, IDX]`. */
export function servedOrderList(served: readonly ServedOrder[], names: OrderNames): string {
  const nameOf = (column: string): string => {
    const entry = [...names].find(
      ([name, [first, second]]) =>
        name !== "PRIMARY_KEY_ASC" &&
        first?.column === column &&
        first.direction === "ASC" &&
        second === undefined,
    );
    return (entry?.[0] ?? column).replace(/_ASC$/, "");
  };
  const offered = new Set([...names.values()].flat().map(({ column }) => column));
  return served
    .filter(({ requested }) => requested.every((column) => offered.has(column)))
    .map(({ requested }) => `[${requested.map(nameOf).join(", ")}]`)
    .join(", ");
}

/** The client's error message for an orderBy that no index serves; undefined if one does. */
export function orderProblem(
  resource: PgResource,
  names: OrderNames,
  orderBy: readonly string[],
): string | undefined {
  const served = resource.extensions?.servedOrders;
  if (served === undefined) return undefined;
  const columns = orderBy.flatMap((name) => names.get(name) ?? []);
  if (columns.length === 0) return undefined;
  const oneDirection = columns.every(({ direction }) => direction === columns[0]?.direction);
  const text = columns.map(({ column }) => column).join();
  if (oneDirection && served.some(({ requested }) => requested.join() === text)) return undefined;

  const problem = oneDirection
    ? "would sort the whole set"
    : "mixes ascending and descending, and would sort the whole set";
  const list = servedOrderList(served, names);
  return `Argument "orderBy": [${orderBy.join(", ")}] ${problem}. Served by an index are ${list}, all of one list _ASC or all _DESC.`;
}

/** The columns and directions of each value of a resource's orderBy enum, without hidden columns. */
export function orderNames(build: GraphileBuild.Build, resource: PgResource): OrderNames {
  const codec = resource.codec as PgCodecWithAttributes;
  const names = new Map<string, readonly ColumnOrder[]>();
  for (const direction of ["ASC", "DESC"] as const) {
    for (const column of Object.keys(codec.attributes)) {
      if (!build.behavior.pgCodecAttributeMatches([codec, column], "attribute:orderBy")) continue;
      const name = build.inflection.orderByAttributeEnum({
        codec,
        attributeName: column,
        variant: direction === "ASC" ? "asc" : "desc",
      });
      names.set(name, [{ column, direction }]);
    }
    const primaryKey = resource.uniques.find(({ isPrimary }) => isPrimary)?.attributes ?? [];
    names.set(
      `PRIMARY_KEY_${direction}`,
      primaryKey.map((column) => ({ column, direction })),
    );
  }
  return names;
}

/**
 * Offers every column in `condition` and `filter`, because PostGraphile hides columns without an index.
 * The plugin logs an invalid tag and then treats the table as untagged.
 */
export function makeServedOrdersPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "ServedOrdersPlugin",
    version: "1.0.0",
    description: "Offers the orders that an index serves, and filters on every column.",

    gather: {
      hooks: {
        // This hook runs before PostGraphile reads any table.
        async pgIntrospection_introspection(info, { introspection, serviceName }) {
          const tags = introspection.classes.flatMap((table) => {
            const tag = table.getTagsAndDescription().tags["order"];
            return tag === undefined ? [] : [{ table, tag: String(tag) }];
          });
          const pgService = info.resolvedPreset.pgServices?.find(
            ({ name }) => name === serviceName,
          );
          if (tags.length === 0 || pgService === undefined) return;
          const indexes = await readIndexOrders(pgService);
          for (const { table, tag } of tags) {
            const order = rowOrderOf(table, tag, introspection);
            if (order === undefined) {
              log(
                new Error(
                  `@order of ${table.relname} is ignored: its columns must include the primary key, and the columns after "follows" have the form column or column by schema.function; none may be nullable, not "${tag}".`,
                ),
              );
              continue;
            }
            taggedTables.set(table, { order, indexes: indexes.get(table._id) ?? [] });
          }
        },
        pgTables_PgResourceOptions(_info, { pgClass, resourceOptions }) {
          const tagged = taggedTables.get(pgClass);
          if (tagged === undefined) return;
          resourceOptions.extensions ??= {};
          resourceOptions.extensions.servedOrders = servedOrders(pgClass, tagged);
        },
        pgCodecs_attribute(_info, { pgAttribute, attribute }) {
          const table = pgAttribute.getClass();
          const tagged = table && taggedTables.get(table);
          attribute.extensions ??= {};
          attribute.extensions.isIndexed = true;
          attribute.extensions.isInServedOrder = true;
          if (table === undefined || tagged === undefined) return;
          const { order, indexes } = tagged;
          const { attname: name } = pgAttribute;
          const [by = ""] = order.columns;
          const first = order.follows.find((followed) => followed.column === name)?.first;
          attribute.extensions.isInServedOrder = servedOrders(table, tagged).some(({ requested }) =>
            requested.includes(name),
          );
          if (!pgAttribute.attnotnull && indexes.some((index) => index[0] === name)) {
            const keys = table.getIndexes().map((index) => index.getKeys());
            const plainIndexWith = keys.flatMap(([one, other]) =>
              one?.attname === name && other != null ? [other.attname] : [],
            );
            attribute.extensions.coalesced = { plainIndexWith };
          }
          if (first !== undefined) attribute.extensions.ordered = { by, first };
          const { soughtBy = "" } = table.getTagsAndDescription().tags;
          const [, schema, sought] = /^(\w+)\.(\w+)$/.exec(String(soughtBy)) ?? [];
          if (schema !== undefined && sought !== undefined) {
            attribute.extensions.soughtBy = sql.identifier(schema, sought);
          }
        },
      },
    },

    schema: {
      entityBehavior: {
        pgCodecAttribute: {
          inferred: {
            after: ["inferred"],
            provides: ["postInferred"],
            callback(behavior, [codec, attributeName]) {
              const { extensions } = codec.attributes[attributeName] ?? {};
              return extensions?.isInServedOrder === false ? [behavior, "-orderBy"] : [behavior];
            },
          },
        },
      },
    },
  };
}
