// Whether a statement gives up a lock that is not to be had at once. While it waits for one that keeps
// out readers or writers, all who come after it wait behind it, for as long as the longest query runs.
import type { AlterTableStmt, CreateStmt, DropStmt, Node, RangeVar } from "libpg-query";
import type { Violation } from "./rules.ts";
import { columnName, nameOf, rangeName, type Standing } from "./standing.ts";

/** Whoever comes after waits as long. */
const PATIENCE_MS = 5000;

const UNITS_MS: Partial<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** For how many milliseconds a lock is waited for after a statement, by `set local lock_timeout`. */
export function waitAfter(node: Node, waitMs: number): number {
  if (!("VariableSetStmt" in node)) return waitMs;
  const { kind, name, args, is_local } = node.VariableSetStmt;
  if (kind === "VAR_RESET_ALL") return Infinity;
  if (name !== "lock_timeout") return waitMs;
  return kind === "VAR_SET_VALUE" && is_local === true ? milliseconds(args?.[0]) : Infinity;
}

/** Zero, in whatever unit, is no bound. */
function milliseconds(value: Node | undefined): number {
  if (value === undefined || !("A_Const" in value)) return Infinity;
  const { ival, sval } = value.A_Const;
  const text = sval?.sval ?? String(ival?.ival ?? 0);
  const [, number = "0", unit = "ms"] = /^\s*([\d.]+)\s*([a-z]+)?\s*$/.exec(text) ?? [];
  return Number(number) * (UNITS_MS[unit] ?? Infinity) || Infinity;
}

/** What it waits for too long, of the tables and views that stood before. */
export function findLongWait(node: Node, before: Standing, waitMs: number): Violation[] {
  if (waitMs <= PATIENCE_MS) return [];
  const names = lockedBy(node).filter((name) => before.relations.has(name));
  const long = waitMs === Infinity ? "without end" : `for up to ${waitMs / 1000} s`;
  return names.length === 0
    ? []
    : [
        {
          rule: "lock-timeout",
          what: `it waits for its lock on ${[...new Set(names)].join(" and ")} ${long}, and whoever comes after waits behind it`,
        },
      ];
}

/** The tables and views that it keeps readers or writers out of. */
function lockedBy(node: Node): string[] {
  if ("AlterTableStmt" in node) return lockedByAlter(node.AlterTableStmt);
  if ("CreateStmt" in node) return lockedByCreate(node.CreateStmt);
  if ("DropStmt" in node) return lockedByDrop(node.DropStmt);
  if ("ViewStmt" in node) return [rangeName(node.ViewStmt.view)];
  if ("RenameStmt" in node) return namesOf(node.RenameStmt.relation);
  if ("AlterObjectSchemaStmt" in node) return namesOf(node.AlterObjectSchemaStmt.relation);
  if ("CreateTrigStmt" in node) return namesOf(node.CreateTrigStmt.relation);
  if ("RuleStmt" in node) return namesOf(node.RuleStmt.relation);
  if ("CreatePolicyStmt" in node) return namesOf(node.CreatePolicyStmt.table);
  if ("AlterPolicyStmt" in node) return namesOf(node.AlterPolicyStmt.table);
  if ("TruncateStmt" in node) return rangesOf(node.TruncateStmt.relations);
  if ("LockStmt" in node) {
    return node.LockStmt.nowait === true ? [] : rangesOf(node.LockStmt.relations);
  }
  if ("RefreshMatViewStmt" in node) {
    const { concurrent, relation } = node.RefreshMatViewStmt;
    return concurrent === true ? [] : namesOf(relation);
  }
  return [];
}

const namesOf = (range: RangeVar | undefined): string[] =>
  range === undefined ? [] : [rangeName(range)];

const rangesOf = (nodes: Node[] = []): string[] =>
  nodes.flatMap((node) => ("RangeVar" in node ? rangeName(node.RangeVar) : []));

/** By these alone, nobody is kept from reading or writing a table. */
const GENTLE = [
  ...["AT_ValidateConstraint", "AT_SetStatistics", "AT_SetOptions", "AT_ResetOptions"],
  ...["AT_SetRelOptions", "AT_ResetRelOptions", "AT_ClusterOn", "AT_DropCluster"],
];

function lockedByAlter({ relation, objtype, cmds = [] }: AlterTableStmt): string[] {
  const commands = cmds.flatMap((command) =>
    "AlterTableCmd" in command ? [command.AlterTableCmd] : [],
  );
  const isGentle = commands.every(({ subtype = "" }) => GENTLE.includes(subtype));
  if (objtype === "OBJECT_TABLE" && isGentle) return [];
  return [...namesOf(relation), ...commands.flatMap(({ def }) => referredBy(def))];
}

/** A new table is nobody's yet; those that it refers to, or is a part of, are locked. */
function lockedByCreate({ inhRelations, tableElts = [] }: CreateStmt): string[] {
  return [...rangesOf(inhRelations), ...tableElts.flatMap(referredBy)];
}

/** The tables that the foreign keys of a column or a constraint refer to. */
function referredBy(element: Node | undefined): string[] {
  if (element === undefined) return [];
  if ("ColumnDef" in element) return (element.ColumnDef.constraints ?? []).flatMap(referredBy);
  return "Constraint" in element ? namesOf(element.Constraint.pktable) : [];
}

function lockedByDrop({ objects = [], removeType }: DropStmt): string[] {
  switch (removeType) {
    case "OBJECT_TABLE":
    case "OBJECT_VIEW":
    case "OBJECT_MATVIEW":
      return objects.map(nameOf);
    // These are given by their table's name and their own.
    case "OBJECT_TRIGGER":
    case "OBJECT_POLICY":
    case "OBJECT_RULE":
      return objects.map((object) => columnName(object)[0]);
    default:
      return [];
  }
}
