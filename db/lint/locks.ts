// The locks and rewritings that squawk does not know of, or cannot tell without what stands already.
import type { AlterTableStmt, Node, RangeVar } from "libpg-query";
import type { Violation } from "./rules.ts";
import { rangeName, type Standing } from "./standing.ts";

const REWRITING: Partial<Record<string, string>> = {
  AT_SetTableSpace: "it moves the table to another tablespace",
  AT_SetLogged: "it writes the whole table to the log",
  AT_SetUnLogged: "it writes the whole table anew",
  AT_SetAccessMethod: "it writes the whole table anew",
};

/** What a statement locks or writes for longer than it needs to, of the tables that stood before. */
export function findLocks(node: Node, before: Standing): Violation[] {
  const stands = (name: string): boolean => before.relations.has(name);
  if ("AlterTableStmt" in node) return findInAlter(node.AlterTableStmt, before);
  if ("LockStmt" in node) {
    return [{ rule: "lock-table", what: "it holds a table's lock until the migration commits" }];
  }
  if ("VacuumStmt" in node && isFull(node.VacuumStmt.options)) {
    return [{ rule: "rewrites-table", what: "it writes whole tables anew" }];
  }
  if ("ClusterStmt" in node) {
    return [{ rule: "rewrites-table", what: "it writes a whole table anew" }];
  }
  if ("RefreshMatViewStmt" in node && node.RefreshMatViewStmt.concurrent !== true) {
    return [{ rule: "rewrites-table", what: "nobody can read the view while it is refreshed" }];
  }
  if ("TruncateStmt" in node) {
    const names = (node.TruncateStmt.relations ?? []).map((relation) =>
      "RangeVar" in relation ? rangeName(relation.RangeVar) : "",
    );
    return names.filter(stands).map((name) => ({
      rule: "whole-table-write",
      what: `it takes all rows of ${name} away, and its lock until the migration commits`,
    }));
  }
  return [...new Set(writtenBy(node))].filter(stands).map((name) => ({
    rule: "whole-table-write",
    what: `it writes rows of ${name} in one transaction`,
  }));
}

/** The tables of which it changes or deletes rows, also within a common table expression. */
function writtenBy(node: Node): string[] {
  // What is only made writes nothing yet.
  if ("CreateFunctionStmt" in node || "RuleStmt" in node) return [];
  const names: string[] = [];
  // Plain data, so that all of it is looked through.
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
        what: `nobody can read ${name} while all its rows are looked at, since no validated check says that ${column} is not null`,
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
          what: "CONCURRENTLY cannot be part of a transaction, and this migration is one",
        },
      ]
    : [];
}
