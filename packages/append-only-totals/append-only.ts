// Reads the smart tag @appendOnly, which declares that a table's rows are appended in the order of
// their ids.
//
// `@appendOnly schema.table` names a table with one row and a column `epoch`, a number that grows when
// existing rows change. Ids are never reused, and only the newest rows are ever removed. A row count up
// to an id therefore holds while the row with that id exists and the epoch is the same.
//
// `… counted by schema.function(column)` names a function that gives the number of rows with a value of
// this column, and for null that of all rows, without reading them. `… or by schema.function(one, other)`
// names a function of an array of two texts. It gives that value for the rows that have these texts in the
// two columns, in either order, and null where no value stands for exactly these rows.
import type { PgClass } from "postgraphile/graphile-build-pg/pg-introspection";
import { sql, type SQL } from "postgraphile/pg-sql2";

export interface AppendOnly {
  idColumn: string;
  epochTable: SQL;
  /** Undefined where no function gives a number of rows. */
  countedBy: CountedBy | undefined;
}

export interface CountedBy {
  name: SQL;
  column: string;
  /** The function that gives the column's value for two values in either order. */
  eitherWay: { name: SQL; columns: [string, string] } | undefined;
}

declare global {
  namespace DataplanPg {
    interface PgResourceExtensions {
      /** Undefined without the tag. */
      appendOnly?: AppendOnly;
    }
  }
}

const COUNTED_BY = /^(\w+)\.(\w+)\((\w+)\)(?:\s+or by\s+(\w+)\.(\w+)\((\w+), *(\w+)\))?$/;
const TAG = /^(\w+)\.(\w+)(?:\s+counted by\s+(.+))?$/;

const INTEGERS = ["int2", "int4", "int8"];

/** The primary key, if it is one integer column. */
function idColumnOf(table: PgClass): string | undefined {
  const primaryKey = table.getIndexes().find((index) => index.indisprimary);
  const [column, ...others] = primaryKey?.getKeys() ?? [];
  if (column == null || others.length > 0) return undefined;
  return INTEGERS.includes(column.getType()?.typname ?? "") ? column.attname : undefined;
}

/** Undefined if it is not in the tag's form. */
function countedByOf(text: string): CountedBy | undefined {
  const found = COUNTED_BY.exec(text);
  if (found === null) return undefined;
  const [, schema = "", name = "", column = "", ofBoth, nameOfBoth = "", one = "", other = ""] =
    found;
  const eitherWay: CountedBy["eitherWay"] =
    ofBoth === undefined
      ? undefined
      : { name: sql.identifier(ofBoth, nameOfBoth), columns: [one, other] };
  return { name: sql.identifier(schema, name), column, eitherWay };
}

/** The plugin logs an invalid tag and then treats the table as untagged. */
export function makeAppendOnlyPlugin(log: (error: unknown) => void): GraphileConfig.Plugin {
  return {
    name: "AppendOnlyPlugin",
    description: "Reads the smart tag @appendOnly.",

    gather: {
      hooks: {
        async pgTables_PgResourceOptions(info, { serviceName, pgClass, resourceOptions }) {
          const tag = pgClass.getTagsAndDescription().tags["appendOnly"];
          if (tag === undefined) return;
          const idColumn = idColumnOf(pgClass);
          const [, schema = "", name = "", counts] = TAG.exec(String(tag).trim()) ?? [];
          const countedBy = counts === undefined ? undefined : countedByOf(counts);
          const isUnread = counts !== undefined && countedBy === undefined;
          const table = await info.helpers.pgIntrospection.getClassByName(
            serviceName,
            schema,
            name,
          );
          const hasEpoch = table?.getAttribute({ name: "epoch" }) !== undefined;
          const isOfUsers = pgClass.relrowsecurity === true;
          if (idColumn === undefined || !hasEpoch || isUnread || isOfUsers) {
            log(
              new Error(
                `@appendOnly of ${pgClass.relname} is ignored: it needs a table without row level security, a primary key of one integer column, and schema.table with a column "epoch", perhaps followed by "counted by schema.function(column)" and "or by schema.function(one, other)", not "${String(tag)}".`,
              ),
            );
            return;
          }
          resourceOptions.extensions ??= {};
          resourceOptions.extensions.appendOnly = {
            idColumn,
            epochTable: sql.identifier(schema, name),
            countedBy,
          };
        },
      },
    },
  };
}
