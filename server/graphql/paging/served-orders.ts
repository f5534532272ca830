// Orders that an index serves: a table tagged @order is never sorted whole for a client.
//
// Such a table offers, in its orderBy, what its indexes hold before the columns of its order: those
// alone, and with each column whose order it is as well. A text that can be null is in an order by
// coalesce(column, ''), as an index must have it too: see cursors.ts. Any other combination is an error.
import type { PgClass } from "pg-introspection";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { readIndexOrders } from "./index-orders.ts";
import { rowOrderOf, type RowOrder } from "./row-order.ts";

/** An order that clients may ask for. */
export interface ServedOrder {
  asked: string[];
  /** What an index holds: rows in the order of these are in the one asked for. */
  columns: string[];
}

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace DataplanPg {
    interface PgResourceExtensions {
      /** The orders that an index serves; absent where any order is offered. */
      servedOrders?: ServedOrder[];
    }
    interface PgCodecAttributeExtensions {
      /** Whether the column is in an order that an index serves; true where any order is offered. */
      isInServedOrder?: boolean;
      /** Of a text that an index has '' in place of null of: the columns beside which another has it itself. */
      known?: { beside: string[] };
      /** What a value is given through for the planner to look for it in an index; see @soughtBy. */
      soughtBy?: SQL;
      /** The first column of the rows' order, and what tells its first value for a value of this one. */
      ordered?: { by: string; first: SQL };
    }
  }
}

interface ColumnOrder {
  column: string;
  direction: "ASC" | "DESC";
}

/** What an orderBy asks for: its columns and directions, or undefined for an unknown value. */
type OrderNames = ReadonlyMap<string, readonly ColumnOrder[]>;

/** What is known of a tagged table. */
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
  const leading = follows.filter(({ isOfAll }) => isOfAll);
  const within = follows.filter(({ isOfAll }) => !isOfAll);
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
      ].map((asked) => ({ asked, columns: index })),
    )
    .filter(({ asked }) => asked.length > 0);
  const byText = new Map(
    [{ asked: primaryKey, columns: primaryKey }, ...served].map((one) => [one.asked.join(), one]),
  );
  return [...byText.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** The orders that an index serves, as a client names them: `[ID], [TIME, IDX]`. */
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
    .filter(({ asked }) => asked.every((column) => offered.has(column)))
    .map(({ asked }) => `[${asked.map(nameOf).join(", ")}]`)
    .join(", ");
}

/**
 * What is wrong with an orderBy of this resource, as a message for the client that lists what is
 * accepted; undefined when nothing is. `asked` are names of its enum.
 */
export function orderProblem(
  resource: PgResource,
  names: OrderNames,
  asked: readonly string[],
): string | undefined {
  const served = resource.extensions?.servedOrders;
  if (served === undefined) return undefined;
  const columns = asked.flatMap((name) => names.get(name) ?? []);
  if (columns.length === 0) return undefined;
  const oneDirection = columns.every(({ direction }) => direction === columns[0]?.direction);
  const wanted = columns.map(({ column }) => column).join();
  if (oneDirection && served.some(({ asked }) => asked.join() === wanted)) return undefined;

  const problem = oneDirection
    ? "would sort the whole set"
    : "mixes ascending and descending, and would sort the whole set";
  const list = servedOrderList(served, names);
  return `Argument "orderBy": [${asked.join(", ")}] ${problem}. Served by an index are ${list}, all of one list _ASC or all _DESC.`;
}

/** The columns and directions behind each name of a resource's orderBy enum; hidden columns have none. */
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
 * Every column filters, indexed or not (PostGraphile's own rule would hide those without an index);
 * on a table tagged @order only the columns of a served order are in its orderBy. The plugin logs a tag
 * that it cannot follow, and leaves that table as untagged.
 */
export function makeServedOrdersPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "ServedOrdersPlugin",
    version: "1.0.0",
    description: "Offers the orders that an index serves, and filters by every column.",

    gather: {
      hooks: {
        // Before PostGraphile looks at any table.
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
                  `@order of ${table.relname} is left aside: it needs columns that cannot be null, the primary key among them, and follows such, each alone or as column by schema.function, not "${tag}".`,
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
          attribute.extensions.isInServedOrder = servedOrders(table, tagged).some(({ asked }) =>
            asked.includes(name),
          );
          if (!pgAttribute.attnotnull && indexes.some((index) => index[0] === name)) {
            const keys = table.getIndexes().map((index) => index.getKeys());
            const beside = keys.flatMap(([one, other]) =>
              one?.attname === name && other != null ? [other.attname] : [],
            );
            attribute.extensions.known = { beside };
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
