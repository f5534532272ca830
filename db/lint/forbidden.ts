// Statements that no migration has a use for: they go round what keeps the data right.
import type { ColumnDef, Node } from "libpg-query";
import type { Violation } from "./rules.ts";
import { columnName, rangeName, stringOf, type Standing } from "./standing.ts";

const TRIGGERS_OFF = ["AT_DisableTrig", "AT_DisableTrigAll", "AT_DisableTrigUser"];

/** The types of which no column is, by PostgreSQL's names, and what is wrong with each. */
const BAD_TYPES: Partial<Record<string, string>> = {
  float4: "is rounded to 6 digits",
  float8: "is rounded to 15 digits",
  timestamp: "means another moment in each time zone",
};

export function findForbidden(node: Node, before: Standing): Violation[] {
  if ("TransactionStmt" in node) {
    return [
      {
        rule: "transaction",
        what: "it ends or begins a transaction, which the migration is one of",
      },
    ];
  }
  if ("CopyStmt" in node && node.CopyStmt.filename !== undefined) {
    return [{ rule: "server-file", what: "it runs a program, or reaches files, on the server" }];
  }
  if ("VariableSetStmt" in node && node.VariableSetStmt.name === "session_replication_role") {
    return [{ rule: "trigger", what: "it turns triggers off" }];
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
        return [{ rule: "trigger", what: `it turns triggers of ${rangeName(relation)} off` }];
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

/** `name` is given where an existing column becomes of another type. */
function inColumn(element: Node, name?: string): Violation[] {
  if (!("ColumnDef" in element)) return [];
  const { colname = name, typeName }: ColumnDef = element.ColumnDef;
  const bad = BAD_TYPES[stringOf(typeName?.names?.at(-1))];
  return bad === undefined
    ? []
    : [{ rule: "column-type", what: `${colname}, by its type, ${bad}` }];
}
