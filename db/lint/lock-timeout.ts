// Checks that statements with strong locks run under a short lock_timeout. While such a statement waits for
// its lock, all later readers and writers queue behind it, until the longest running query ends.
import type { AlterTableStmt, CreateStmt, DropStmt, Node, RangeVar } from "libpg-query";
import type { Violation } from "./rules.ts";
import { columnName, nameOf, rangeName, type Standing } from "./standing.ts";

/** Later readers and writers wait up to this long. */
const LONGEST_WAIT_MS = 5000;

const UNITS_MS: Partial<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The lock_timeout after a statement, in milliseconds. */
export function waitAfter(node: Node, waitMs: number): number {
  if (!("VariableSetStmt" in node)) return waitMs;
  const { kind, name, args, is_local } = node.VariableSetStmt;
  if (kind === "VAR_RESET_ALL") return Infinity;
  if (name !== "lock_timeout") return waitMs;
  return kind === "VAR_SET_VALUE" && is_local === true ? milliseconds(args?.[0]) : Infinity;
}

/** Zero in any unit means no timeout. */
function milliseconds(value: Node | undefined): number {
  if (value === undefined || !("A_Const" in value)) return Infinity;
  const { ival, sval } = value.A_Const;
  const text = sval?.sval ?? String(ival?.ival ?? 0);
  const [, number = "0", unit = "ms"] = /^\s*([\d.]+)\s*([a-z]+)?\s*$/.exec(text) ?? [];
  return Number(number) * (UNITS_MS[unit] ?? Infinity) || Infinity;
}

/** Finds locks on existing tables and views without a short lock_timeout. */
export function findLongWait(node: Node, before: Standing, waitMs: number): Violation[] {
  if (waitMs <= LONGEST_WAIT_MS) return [];
  const names = lockedBy(node).filter((name) => before.relations.has(name));
  const long = waitMs === Infinity ? "without limit" : `for up to ${waitMs / 1000} s`;
  return names.length === 0
    ? []
    : [
        {
          rule: "lock-timeout",
          what: `it waits for its lock on ${[...new Set(names)].join(" and ")} ${long}, and later readers and writers wait behind it`,
        },
      ];
}

/** The tables and views whose readers or writers it blocks. */
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

/** Commands whose lock blocks neither readers nor writers. */
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

/** The tables that a new table references, inherits from or is a partition of. */
function lockedByCreate({ inhRelations, tableElts = [] }: CreateStmt): string[] {
  return [...rangesOf(inhRelations), ...tableElts.flatMap(referredBy)];
}

/** The tables that the foreign keys of a column or a constraint reference. */
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
    // These are named by their table and their own name.
    case "OBJECT_TRIGGER":
    case "OBJECT_POLICY":
    case "OBJECT_RULE":
      return objects.map((object) => columnName(object)[0]);
    default:
      return [];
  }
}
