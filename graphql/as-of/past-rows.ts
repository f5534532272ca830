// Reads the smart tag @asOf, which names the function that gives the rows of a table as of a past block: an operation with
// the directive of that name reads it in place of the table.
//
// `@asOf schema.function` returns the rows of the table as of what the transaction's setting names, and the planner inlines it.
// A table without the tag is read as it is now; a view follows the setting itself.
import type { OperationDefinitionNode } from "graphql";
import type { PgResource } from "postgraphile/@dataplan/pg";
import type { PgClass } from "postgraphile/graphile-build-pg/pg-introspection";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { plannedOperation } from "../grafast-internals.ts";
import { isAsOf } from "./directive.ts";

declare global {
  namespace DataplanPg {
    interface PgResourceExtensions {
      /** Undefined without the tag. */
      rowsAsOf?: SQL;
    }
  }
}

const rowsOf = new WeakMap<PgClass, SQL>();

const TAG = /^(\w+)\.(\w+)$/;

/** Whether the operation that is being planned has the directive. */
export function isPlannedAsOf(): boolean {
  const operation = plannedOperation();
  return operation !== undefined && isAsOf(operation);
}

/** Operations whose plan reads what may change while the block does not. A plan is kept as long as its operation. */
const readingNow = new WeakSet<OperationDefinitionNode>();

/** Whether an operation with the directive, which has been planned, reads what may change while its block does not. */
export const readsAsNow = (operation: OperationDefinitionNode): boolean =>
  readingNow.has(operation);

/** A start with other settings changes what a chain is indexed from, and a block without rows is kept for a while. */
const OF_NOW = new Set(["dex_current_digest_basis", "dex_block_at"]);

/** Symbols and names of `public` are as they are now too, but only a registration changes them, as in an answer of REST. */
function isOfNow({ extensions: { pg } = {} }: PgResource): boolean {
  return pg !== undefined && (pg.schemaName !== "public" || OF_NOW.has(pg.name));
}

/** Steps read `from` while an operation is planned. The directive is of the document, as the plan is. */
function readAsOf(resource: PgResource, rowsAsOf: SQL | undefined): void {
  const { from } = resource;
  const isNow = isOfNow(resource);
  Object.defineProperty(resource, "from", {
    configurable: true,
    enumerable: true,
    get: () => {
      const operation = plannedOperation();
      if (operation === undefined || !isAsOf(operation)) return from;
      if (isNow) readingNow.add(operation);
      return rowsAsOf ?? from;
    },
  });
}

/** The plugin logs an invalid tag and then treats the table as untagged. */
export function makeAsOfRowsPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "AsOfRowsPlugin",
    description: "Reads the rows of a past block in an operation with @asOf.",

    gather: {
      hooks: {
        pgIntrospection_introspection(_info, { introspection }) {
          for (const table of introspection.classes) {
            const tag = table.getTagsAndDescription().tags["asOf"];
            if (tag === undefined) continue;
            const [, schema = "", name = ""] = TAG.exec(String(tag).trim()) ?? [];
            const functions = introspection.getNamespace({ name: schema })?.getProcs({ name });
            const isServed = functions?.some(
              ({ pronargs, proretset, prorettype }) =>
                pronargs === 0 && proretset && prorettype === table.reltype,
            );
            if (isServed === true) rowsOf.set(table, sql`${sql.identifier(schema, name)}()`);
            else {
              log(
                new Error(
                  `@asOf of ${table.relname} is ignored: it needs a schema.function without arguments that returns rows of the table, not "${String(tag)}".`,
                ),
              );
            }
          }
        },
        pgTables_PgResourceOptions(_info, { pgClass, resourceOptions }) {
          const rowsAsOf = rowsOf.get(pgClass);
          if (rowsAsOf === undefined) return;
          resourceOptions.extensions = { ...resourceOptions.extensions, rowsAsOf };
        },
      },
    },

    schema: {
      hooks: {
        init(initialized, { input: { pgRegistry } }) {
          for (const resource of Object.values(pgRegistry.pgResources) as PgResource[]) {
            const { rowsAsOf } = resource.extensions ?? {};
            const rows = resource.parameters ? undefined : rowsAsOf;
            if (rows !== undefined || isOfNow(resource)) readAsOf(resource, rows);
          }
          return initialized;
        },
      },
    },
  };
}
