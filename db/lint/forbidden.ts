// Finds statements that no migration needs, because they bypass what keeps the data correct.
import type { ColumnDef, Node } from "libpg-query";
import type { Violation } from "./rules.ts";
import { columnName, rangeName, stringOf, type Standing } from "./standing.ts";

const TRIGGERS_OFF = ["AT_DisableTrig", "AT_DisableTrigAll", "AT_DisableTrigUser"];

/** Forbidden column types, by PostgreSQL's internal names, with the reason. */
const BAD_TYPES: Partial<Record<string, string>> = {
  float4: "is rounded to 6 digits",
  float8: "is rounded to 15 digits",
  timestamp: "depends on the time zone",
};

export function findForbidden(node: Node, before: Standing): Violation[] {
  if ("TransactionStmt" in node) {
    return [
      {
        rule: "transaction",
        what: "it begins or ends a transaction, but the migration is one transaction",
      },
    ];
  }
  if ("CopyStmt" in node && node.CopyStmt.filename !== undefined) {
    return [{ rule: "server-file", what: "it runs a program or accesses a file on the server" }];
  }
  if ("VariableSetStmt" in node && node.VariableSetStmt.name === "session_replication_role") {
    return [{ rule: "trigger", what: "it disables triggers" }];
  }
  if ("DropStmt" in node && node.DropStmt.removeType === "OBJECT_TRIGGER") {
    return (node.DropStmt.objects ?? [])
      .map(columnName)
      .filter(([table]) => before.relations.has(table))
      .map(([table, name]) => ({ rule: "trigger", what: `it drops ${name} of ${table}` }));
  }
  if ("AlterTableStmt" in node) {
    const { relation, cmds = [] } = node.AlterTableStmt;
    return cmds.flatMap((command): Violation[] => {
      if (!("AlterTableCmd" in command)) return [];
      const { subtype = "", name, def } = command.AlterTableCmd;
      if (TRIGGERS_OFF.includes(subtype)) {
        return [{ rule: "trigger", what: `it disables triggers of ${rangeName(relation)}` }];
      }
      return def === undefined ? [] : inColumn(def, name);
    });
  }
  if ("CreateStmt" in node) {
    return (node.CreateStmt.tableElts ?? []).flatMap((element) => inColumn(element));
  }
  if ("CompositeTypeStmt" in node) {
    return (node.CompositeTypeStmt.coldeflist ?? []).flatMap((element) => inColumn(element));
  }
  return [];
}

/** `name` is the column of `alter column … type`, whose definition has no name. */
function inColumn(element: Node, name?: string): Violation[] {
  if (!("ColumnDef" in element)) return [];
  const { colname = name, typeName }: ColumnDef = element.ColumnDef;
  const bad = BAD_TYPES[stringOf(typeName?.names?.at(-1))];
  return bad === undefined
    ? []
    : [{ rule: "column-type", what: `${colname} has a type that ${bad}` }];
}
