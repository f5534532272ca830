// Limits orderBy of a table tagged @order to the orders that an index serves, so that no request sorts
// the whole table.
//
// An index on (market, block, id), with rows ordered by block and id, serves [MARKET] and, for each
// column that follows the order, [MARKET, BLOCK] or [MARKET, TIME]. A nullable text must be in the index
// as coalesce(column, ''), a nullable integer as coalesce(column, -1): see cursors.ts. Any other combination is an error.
import type { PgClass } from "postgraphile/graphile-build-pg/pg-introspection";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { readIncomparableTypes, type IncomparableTypes } from "./incomparable-types.ts";
import { readIndexes } from "./index-orders.ts";
import { primaryKeyOf, rowOrderOf, type RowOrder } from "./row-order.ts";

/** An order that clients may request. */
export interface ServedOrder {
  requested: string[];
  /** The columns of an index: rows sorted by them are also sorted by the requested columns. */
  columns: string[];
}

declare global {
  namespace DataplanPg {
    interface PgResourceExtensions {
      /** The columns of each index of the table that serves an order. */
      indexes?: string[][] | undefined;
      /** Of each that serves equalities alone: it has a nullable column as it is. */
      nullableIndexes?: string[][] | undefined;
      /** Undefined if every order is offered. */
      servedOrders?: ServedOrder[] | undefined;
      /** The columns that rows are sorted by behind those of an order. */
      rowOrder?: string[] | undefined;
    }
    interface PgCodecAttributeExtensions {
      /** True also if every order is offered. */
      isInServedOrder?: boolean;
      /** Whether a condition can compare its values. */
      hasEquality?: boolean;
      /**
       * Set if an index has the column as coalesce(column, nullKey). `plainIndexWith` are the columns that
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
export type OrderNames = ReadonlyMap<string, readonly ColumnOrder[]>;

interface Table {
  /** The columns of each index that serves an order. */
  indexes: string[][];
  nullableIndexes: string[][];
  /** Undefined without a valid tag. */
  order: RowOrder | undefined;
  served: ServedOrder[] | undefined;
  incomparable: IncomparableTypes;
}

const tables = new WeakMap<PgClass, Table>();

function servedOrders(
  primaryKey: string[],
  { columns, follows }: RowOrder,
  indexes: readonly string[][],
): ServedOrder[] {
  const leading = follows.filter(({ isGlobal }) => isGlobal);
  const within = follows.filter(({ isGlobal }) => !isGlobal);
  const ordered = new Set([...columns, ...follows.map(({ column }) => column)]);

  const served = new Map([[primaryKey.join(), { requested: primaryKey, columns: primaryKey }]]);
  for (const index of indexes) {
    const before = index.slice(0, -columns.length);
    if (index.slice(-columns.length).join() !== columns.join()) continue;
    if (before.some((column) => ordered.has(column))) continue;
    const offered = leading.flatMap(({ column }) => [
      [...before, column],
      ...(before.length > 0 ? [] : within.map((one) => [column, one.column])),
    ]);
    if (before.length > 0) offered.push(before);
    for (const requested of offered) served.set(requested.join(), { requested, columns: index });
  }
  return [...served].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** The served orders in the names of the orderBy enum: `[ID], [TIME, IDX]`. */
export function servedOrderList(served: readonly ServedOrder[], names: OrderNames): string {
  const nameOf = new Map<string, string>();
  for (const [name, [first]] of names) {
    if (first?.direction !== "ASC" || name === "PRIMARY_KEY_ASC") continue;
    nameOf.set(first.column, name.replace(/_ASC$/, ""));
  }
  return served
    .filter(({ requested }) => requested.every((column) => nameOf.has(column)))
    .map(({ requested }) => `[${requested.map((column) => nameOf.get(column)).join(", ")}]`)
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
 * Offers every column whose type has an equality in `condition` and `filter`, because PostGraphile hides columns without an
 * index (https://github.com/graphile/crystal/issues/1332).
 * The plugin logs an invalid tag and then treats the table as untagged.
 */
export function makeServedOrdersPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "ServedOrdersPlugin",
    description: "Offers the orders that an index serves, and filters on every column.",

    gather: {
      hooks: {
        // This hook runs before PostGraphile reads any table.
        async pgIntrospection_introspection(info, { introspection, serviceName }) {
          const { pgServices = [] } = info.resolvedPreset;
          const pgService = pgServices.find(({ name }) => name === serviceName);
          if (pgService === undefined) return;
          const indexesOf = await readIndexes(pgService);
          const incomparable = await readIncomparableTypes(pgService);
          for (const table of introspection.classes) {
            const { ordered: indexes = [], nullable: nullableIndexes = [] } =
              indexesOf.get(table._id) ?? {};
            const tag = table.getTagsAndDescription().tags["order"];
            const order =
              tag === undefined ? undefined : rowOrderOf(table, String(tag), introspection);
            if (tag !== undefined && order === undefined) {
              log(
                new Error(
                  `@order of ${table.relname} is ignored: its columns must include the primary key, and the columns after "follows" have the form column or column by schema.function; none may be nullable, not "${String(tag)}".`,
                ),
              );
            }
            const served = order && servedOrders(primaryKeyOf(table), order, indexes);
            tables.set(table, { indexes, nullableIndexes, order, served, incomparable });
          }
        },
        pgTables_PgResourceOptions(_info, { pgClass, resourceOptions }) {
          const {
            indexes,
            nullableIndexes,
            served: servedOrders,
            order,
          } = tables.get(pgClass) ?? {};
          const rowOrder = order?.columns;
          resourceOptions.extensions = {
            ...resourceOptions.extensions,
            ...{ indexes, nullableIndexes, servedOrders, rowOrder },
          };
        },
        pgCodecs_attribute(_info, { pgAttribute, attribute }) {
          const table = pgAttribute.getClass();
          const { order, indexes = [], served, incomparable } = (table && tables.get(table)) ?? {};
          const { attname: name, atttypid: type } = pgAttribute;
          const extensions = (attribute.extensions ??= {});
          extensions.isIndexed = true;
          extensions.isInServedOrder =
            served?.some(({ requested }) => requested.includes(name)) ??
            incomparable?.unordered.has(type) !== true;
          extensions.hasEquality = incomparable?.unequal.has(type) !== true;
          if (table === undefined || order === undefined) return;
          if (!pgAttribute.attnotnull && indexes.some((index) => index[0] === name)) {
            const keys = table.getIndexes().map((index) => index.getKeys());
            const plainIndexWith = keys.flatMap(([one, other]) =>
              one?.attname === name && other != null ? [other.attname] : [],
            );
            extensions.coalesced = { plainIndexWith };
          }
          const [by = ""] = order.columns;
          const first = order.follows.find((followed) => followed.column === name)?.first;
          if (first !== undefined) extensions.ordered = { by, first };
          const { soughtBy = "" } = table.getTagsAndDescription().tags;
          const [, schema, sought] = /^(\w+)\.(\w+)$/.exec(String(soughtBy)) ?? [];
          if (schema !== undefined && sought !== undefined) {
            extensions.soughtBy = sql.identifier(schema, sought);
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
              const { isInServedOrder, hasEquality } = extensions ?? {};
              return [
                behavior,
                ...(isInServedOrder === false ? (["-orderBy"] as const) : []),
                ...(hasEquality === false ? (["-filterBy"] as const) : []),
              ];
            },
          },
        },
      },
    },
  };
}
