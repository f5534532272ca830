// Reads the smart tag @appendOnly, by which whoever evolves the schema says of a table that its rows
// are appended in the order of their ids.
//
// `@appendOnly schema.table` names a table of one row with a column epoch, a number that grows when rows
// that stand are changed. No id is given twice, and what is taken back are the newest rows. What is known
// of the rows up to an id then stays true as long as its row is there, in the same epoch.
import type { PgClass } from "pg-introspection";
import { sql, type SQL } from "postgraphile/pg-sql2";

export interface AppendOnly {
  /** The column by which rows are newer or older. */
  idColumn: string;
  /** The table that holds the epoch. */
  epochTable: SQL;
}

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace DataplanPg {
    interface PgResourceExtensions {
      /** How the table is appended to; absent where nothing is said. */
      appendOnly?: AppendOnly;
    }
  }
}

const INTEGERS = ["int2", "int4", "int8"];

/** The one integer column of the table's primary key, or undefined where it has none. */
function idColumnOf(table: PgClass): string | undefined {
  const primaryKey = table.getIndexes().find((index) => index.indisprimary);
  const [column, ...others] = primaryKey?.getKeys() ?? [];
  if (column == null || others.length > 0) return undefined;
  return INTEGERS.includes(column.getType()?.typname ?? "") ? column.attname : undefined;
}

/** Makes the plugin; it logs a tag that it cannot follow, and leaves that table as untagged. */
export function makeAppendOnlyPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "AppendOnlyPlugin",
    version: "1.0.0",
    description: "Knows of the tables tagged @appendOnly how they are appended to.",

    gather: {
      hooks: {
        async pgTables_PgResourceOptions(info, { serviceName, pgClass, resourceOptions }) {
          const tag = pgClass.getTagsAndDescription().tags["appendOnly"];
          if (tag === undefined) return;
          const idColumn = idColumnOf(pgClass);
          const [schema = "", name = "", ...rest] = String(tag).trim().split(".");
          const epochs =
            rest.length > 0
              ? undefined
              : await info.helpers.pgIntrospection.getClassByName(serviceName, schema, name);
          const epoch = epochs?.getAttribute({ name: "epoch" });
          if (idColumn === undefined || epoch === undefined) {
            log(
              new Error(
                `@appendOnly of ${pgClass.relname} is left aside: it needs a primary key of one integer column, and a table named as schema.table with a column "epoch", not "${String(tag)}".`,
              ),
            );
            return;
          }
          resourceOptions.extensions ??= {};
          resourceOptions.extensions.appendOnly = {
            idColumn,
            epochTable: sql.identifier(schema, name),
          };
        },
      },
    },
  };
}
