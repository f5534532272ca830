// Finds locks and table rewrites that squawk does not know, or that depend on the existing schema.
import type { AlterTableStmt, Node, RangeVar } from "libpg-query";
import type { Violation } from "./rules.ts";
import { rangeName, type Standing } from "./standing.ts";

const REWRITING: Partial<Record<string, string>> = {
  AT_SetTableSpace: "it moves the table to another tablespace",
  AT_SetLogged: "it writes the whole table to the log",
  AT_SetUnLogged: "it rewrites the whole table",
  AT_SetAccessMethod: "it rewrites the whole table",
};

/** Finds statements that lock or write existing tables longer than necessary. */
export function findLocks(node: Node, before: Standing): Violation[] {
  const stands = (name: string): boolean => before.relations.has(name);
  if ("AlterTableStmt" in node) return findInAlter(node.AlterTableStmt, before);
  if ("LockStmt" in node) {
    return [{ rule: "lock-table", what: "it locks a table until the migration commits" }];
  }
  if ("VacuumStmt" in node && isFull(node.VacuumStmt.options)) {
    return [{ rule: "rewrites-table", what: "it rewrites whole tables" }];
  }
  if ("ClusterStmt" in node) {
    return [{ rule: "rewrites-table", what: "it rewrites a whole table" }];
  }
  if ("RefreshMatViewStmt" in node && node.RefreshMatViewStmt.concurrent !== true) {
    return [{ rule: "rewrites-table", what: "it blocks readers of the view during the refresh" }];
  }
  if ("TruncateStmt" in node) {
    const names = (node.TruncateStmt.relations ?? []).map((relation) =>
      "RangeVar" in relation ? rangeName(relation.RangeVar) : "",
    );
    return names.filter(stands).map((name) => ({
      rule: "whole-table-write",
      what: `it deletes all rows of ${name} and locks it until the migration commits`,
    }));
  }
  return [...new Set(writtenBy(node))].filter(stands).map((name) => ({
    rule: "whole-table-write",
    what: `it writes rows of ${name} in one transaction`,
  }));
}

/** The tables whose rows it updates or deletes, including in common table expressions. */
function writtenBy(node: Node): string[] {
  // The statements in a function or rule do not run yet.
  if ("CreateFunctionStmt" in node || "RuleStmt" in node) return [];
  const names: string[] = [];
  // The replacer of JSON.stringify visits every node.
  JSON.stringify(node, (key, value: { relation?: RangeVar }) => {
    if (["UpdateStmt", "DeleteStmt", "MergeStmt"].includes(key))
      names.push(rangeName(value.relation));
    return value;
  });
  return names;
}

function findInAlter({ relation, cmds = [] }: AlterTableStmt, before: Standing): Violation[] {
  const name = rangeName(relation);
  const standing = before.relations.get(name);
  if (standing === undefined) return [];
  return cmds.flatMap((command): Violation[] => {
    if (!("AlterTableCmd" in command)) return [];
    const { subtype = "", name: column = "" } = command.AlterTableCmd;
    const rewriting = REWRITING[subtype];
    if (rewriting !== undefined) return [{ rule: "rewrites-table", what: rewriting }];
    if (subtype !== "AT_SetNotNull") return [];
    const isChecked = [...standing.constraints.values()].some(
      (constraint) => constraint.validated && constraint.notNull === column,
    );
    if (isChecked) return [];
    return [
      {
        rule: "set-not-null",
        what: `it blocks readers of ${name} during a scan of all rows, because no validated check ensures that ${column} is not null`,
      },
    ];
  });
}

function isFull(options: Node[] = []): boolean {
  return options.some((option) => "DefElem" in option && option.DefElem.defname === "full");
}

/** CONCURRENTLY in a migration that is one transaction. */
export function findConcurrently(node: Node): Violation[] {
  const isConcurrent =
    ("IndexStmt" in node && node.IndexStmt.concurrent === true) ||
    ("DropStmt" in node && node.DropStmt.concurrent === true) ||
    ("ReindexStmt" in node &&
      (node.ReindexStmt.params ?? []).some(
        (param) => "DefElem" in param && param.DefElem.defname === "concurrently",
      ));
  return isConcurrent
    ? [
        {
          rule: "concurrently-in-transaction",
          what: "CONCURRENTLY cannot run in a transaction, but this migration is one",
        },
      ]
    : [];
}
