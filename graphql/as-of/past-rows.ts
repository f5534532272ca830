// Reads the smart tag @asOf, which names the function that gives the rows of a table as of a past block: an operation with
// the directive of that name reads it in place of the table.
//
// `@asOf schema.function` returns the rows of the table as of what the transaction's setting names, and the planner inlines it.
// A table without the tag is read as it is now; a view follows the setting itself.
import type { PgResource } from "postgraphile/@dataplan/pg";
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

const TAG = /^(\w+)\.(\w+)$/;

/** Whether the operation that is being planned has the directive. */
export function isPlannedAsOf(): boolean {
  const operation = plannedOperation();
  return operation !== undefined && isAsOf(operation);
}

/** Steps read `from` while an operation is planned. The directive is of the document, as the plan is. */
function readAsOf(resource: PgResource, rowsAsOf: SQL): void {
  const { from } = resource;
  Object.defineProperty(resource, "from", {
    configurable: true,
    enumerable: true,
    get: () => (isPlannedAsOf() ? rowsAsOf : from),
  });
}

/** The plugin logs an invalid tag and then treats the table as untagged. */
export function makeAsOfRowsPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "AsOfRowsPlugin",
    description: "Reads the rows of a past block in an operation with @asOf.",

    gather: {
      hooks: {
        pgTables_PgResourceOptions(_info, { pgClass, resourceOptions }) {
          const tag = pgClass.getTagsAndDescription().tags["asOf"];
          if (tag === undefined) return;
          const [, schema, name] = TAG.exec(String(tag).trim()) ?? [];
          if (schema === undefined || name === undefined) {
            log(
              new Error(
                `@asOf of ${pgClass.relname} is ignored: it needs schema.function, not "${String(tag)}".`,
              ),
            );
            return;
          }
          resourceOptions.extensions ??= {};
          resourceOptions.extensions.rowsAsOf = sql`${sql.identifier(schema, name)}()`;
        },
      },
    },

    schema: {
      hooks: {
        init(initialized, { input: { pgRegistry } }) {
          for (const resource of Object.values(pgRegistry.pgResources) as PgResource[]) {
            const { rowsAsOf } = resource.extensions ?? {};
            if (rowsAsOf !== undefined && !resource.parameters) readAsOf(resource, rowsAsOf);
          }
          return initialized;
        },
      },
    },
  };
}
