// Orders that an index serves: a table tagged @indexedOrder is never sorted whole for a client.
//
// Such a table offers, in its orderBy, what its indexes end in: the asked columns, then the primary
// key, which PostGraphile appends. A text that can be null is in an order by coalesce(column, ''), as an
// index must have it too: see cursors.ts. Each @indexedOrder tag adds one more order, of which a test has
// shown that an index leaves only a few rows to sort. Any other combination is an error.
import type { PgClass } from "pg-introspection";
import type { PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { readIndexOrders } from "./index-orders.ts";

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace DataplanPg {
    interface PgResourceExtensions {
      /** The orders that an index serves, each a list of columns; absent where any order is offered. */
      servedOrders?: string[][];
    }
  }
}

interface ColumnOrder {
  column: string;
  direction: "ASC" | "DESC";
}

/** What an orderBy asks for: its columns and directions, or undefined for an unknown value. */
type OrderNames = ReadonlyMap<string, readonly ColumnOrder[]>;

/** The columns of each index of a table that serves an order; absent for a table that is not tagged. */
const indexOrders = new WeakMap<PgClass, string[][]>();

const indexedOrderOf = (table: PgClass): unknown =>
  table.getTagsAndDescription().tags["indexedOrder"];

/** The orders that this table's indexes serve, or undefined where the table is not tagged. */
function servedOrders(table: PgClass | undefined): string[][] | undefined {
  const indexed = table && indexOrders.get(table);
  if (table === undefined || indexed === undefined) return undefined;
  const primary = table.getIndexes().find((index) => index.indisprimary);
  const primaryKey = (primary?.getKeys() ?? []).map((key) => key?.attname ?? "");
  const byIndex = indexed
    .filter((columns) => endsWith(columns, primaryKey))
    .map((columns) => columns.slice(0, -primaryKey.length));
  const byTag = [indexedOrderOf(table)]
    .flat()
    .filter((value) => typeof value === "string")
    .map((value) => value.split(",").map((column) => column.trim()));
  return unique([primaryKey, ...byTag, ...byIndex.filter((columns) => columns.length > 0)]);
}

const endsWith = (columns: string[], end: string[]): boolean =>
  end.length > 0 && columns.slice(-end.length).join() === end.join();

function unique(orders: string[][]): string[][] {
  const byText = new Map(orders.map((order) => [order.join(), order]));
  return [...byText.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, order]) => order);
}

/** The orders that an index serves, as a client names them: `[ID], [TIME, IDX]`. */
export function servedOrderList(served: readonly string[][], names: OrderNames): string {
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
    .filter((order) => order.every((column) => offered.has(column)))
    .map((order) => `[${order.map(nameOf).join(", ")}]`)
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
  if (oneDirection && served.some((order) => order.join() === wanted)) return undefined;

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
 * on a table tagged @indexedOrder only the columns of a served order are in its orderBy.
 */
export const ServedOrdersPlugin: GraphileConfig.Plugin = {
  name: "ServedOrdersPlugin",
  version: "1.0.0",
  description: "Offers the orders that an index serves, and filters by every column.",

  gather: {
    hooks: {
      // Before PostGraphile looks at any table.
      async pgIntrospection_introspection(info, { introspection, serviceName }) {
        const tagged = introspection.classes.filter((table) => indexedOrderOf(table) !== undefined);
        const pgService = info.resolvedPreset.pgServices?.find(({ name }) => name === serviceName);
        if (tagged.length === 0 || pgService === undefined) return;
        const orders = await readIndexOrders(pgService);
        for (const table of tagged) indexOrders.set(table, orders.get(table._id) ?? []);
      },
      pgTables_PgResourceOptions(_info, { pgClass, resourceOptions }) {
        const orders = servedOrders(pgClass);
        if (orders === undefined) return;
        resourceOptions.extensions ??= {};
        resourceOptions.extensions.servedOrders = orders;
      },
      pgCodecs_attribute(_info, { pgAttribute, attribute }) {
        const orders = servedOrders(pgAttribute.getClass());
        attribute.extensions ??= {};
        attribute.extensions.isIndexed = true;
        attribute.extensions.isInServedOrder =
          orders?.some((order) => order.includes(pgAttribute.attname)) ?? true;
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

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace DataplanPg {
    interface PgCodecAttributeExtensions {
      /** Whether the column is in an order that an index serves; true where any order is offered. */
      isInServedOrder?: boolean;
    }
  }
}
