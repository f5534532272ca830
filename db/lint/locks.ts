// Finds statements that hold up readers and writers, by the locks, scans and rewrites that the shadow shows.
import type { Node, RangeVar } from "libpg-query";
import { entriesOf, rangeName } from "./functions.ts";
import type { Violation } from "./rules.ts";
import { BLOCKING, type Catalog, type Effects } from "./effects.ts";

/** Later readers and writers wait up to this long. */
const LONGEST_WAIT_MS = 5000;

/** Statements that read and write rows: how they read a table depends on its size. */
const OF_DATA = [
  "SelectStmt",
  "InsertStmt",
  "UpdateStmt",
  "DeleteStmt",
  "MergeStmt",
  "CreateTableAsStmt",
  "RefreshMatViewStmt",
];

const READING = ["AccessShareLock"];

/** What one statement does to what stood before; `kept` are the tables of the functions of ingest. */
export function findLocks(
  node: Node,
  effects: Effects,
  { stood, kept }: { stood: Catalog; kept: ReadonlySet<string> },
): Violation[] {
  const { locked, waitMs, scanned, rewritten } = effects;
  const [kind = ""] = Object.keys(node);
  const namesOf = (modes: string[]): string[] => [
    ...new Set(locked.filter(({ mode }) => modes.includes(mode)).map(({ name }) => name)),
  ];
  const found: Violation[] = [];

  const waitedFor = namesOf(BLOCKING);
  if (waitedFor.length > 0 && (waitMs === 0 || waitMs > LONGEST_WAIT_MS)) {
    const long = waitMs === 0 ? "without limit" : `for up to ${waitMs / 1000} s`;
    found.push({
      rule: "lock-timeout",
      what: `it waits for its lock on ${waitedFor.join(" and ")} ${long}, and later readers and writers wait behind it`,
    });
  }
  if (kind === "TruncateStmt") {
    found.push(
      ...waitedFor.map((name): Violation => ({
        rule: "whole-table-write",
        what: `it deletes all rows of ${name} and locks it until the migration commits`,
      })),
    );
    return found;
  }
  // The statements in a function do not run yet.
  const written = kind === "CreateFunctionStmt" ? [] : namesOf(["RowExclusiveLock"]);
  const target = "InsertStmt" in node ? node.InsertStmt.relation : undefined;
  const isInsert =
    target !== undefined && written.every((name) => name.endsWith(`.${target.relname}`));
  const ofIngest = written.filter((name) => kept.has(name));
  if (written.length > 0 && !isInsert) {
    found.push({
      rule: "whole-table-write",
      what: `it writes rows of ${written.join(" and ")} in one transaction`,
    });
  } else if (ofIngest.length > 0) {
    found.push({
      rule: "ingest",
      what: `it adds rows to ${ofIngest.join(" and ")}, which only the functions of ingest write`,
    });
  }
  for (const name of rewritten) {
    found.push({ rule: "rewrites-table", what: `it rewrites all of ${name}` });
  }
  if (kind === "VacuumStmt" && effects.holds) {
    const what =
      "it reads rows of tables while others wait for a lock that an earlier statement took";
    found.push({ rule: "held-lock", what });
  }
  const isBlocked = namesOf([...BLOCKING, "ShareLock"]).length > 0 || effects.holds;
  if (OF_DATA.includes(kind)) {
    const read = effects.holds ? [...new Set([...namesIn(node, stood), ...namesOf(READING)])] : [];
    if (read.length > 0) {
      const what = `it reads ${read.join(" and ")} while others wait for a lock that an earlier statement took`;
      found.push({ rule: "held-lock", what });
    }
    return found;
  }
  if (!isBlocked) return found;
  for (const name of scanned.filter((one) => !rewritten.includes(one))) {
    found.push(
      setsNotNull(node)
        ? {
            rule: "set-not-null",
            what: `it blocks readers of ${name} during a scan of all rows, because no validated check ensures that the column is not null`,
          }
        : { rule: "scans-table", what: `it reads all rows of ${name} while others wait` },
    );
  }
  return found;
}

/** The tables and views that stood before and that the statement names. */
function namesIn(node: Node, stood: Catalog): string[] {
  return entriesOf(node).flatMap(([key, value]: [string, RangeVar]) => {
    const name = rangeName(value);
    const kinds = ["table", "view", "materialized view"];
    return key === "RangeVar" && kinds.some((kind) => stood.has(`${kind} ${name}`)) ? name : [];
  });
}

/** Trigger functions that run when a statement writes rows of the migration's own tables. */
export function findTriggersRun(node: Node, before: Catalog, now: Catalog): Violation[] {
  const targets = entriesOf(node).flatMap(([key, value]: [string, { relation?: RangeVar }]) =>
    /^(Insert|Update|Delete|Merge)Stmt$/.test(key) ? rangeName(value.relation) : [],
  );
  if (targets.length === 0 || "CreateFunctionStmt" in node) return [];
  const run = [...now].filter(([key, { kind, partOf }]) => {
    // A partition's trigger runs also when its table is written.
    const isPartition = now.get(`table ${partOf}`)?.facts["partition bound"] != null;
    return (
      kind === "trigger" && (!before.has(key) || isPartition || targets.includes(partOf ?? ""))
    );
  });
  return run.map(([, { name }]) => ({
    rule: "function",
    what: `it may run the trigger ${name}, which the linter does not follow: write the rows before the trigger is created`,
  }));
}

function setsNotNull(node: Node): boolean {
  const commands = "AlterTableStmt" in node ? (node.AlterTableStmt.cmds ?? []) : [];
  return commands.some(
    (command) => "AlterTableCmd" in command && command.AlterTableCmd.subtype === "AT_SetNotNull",
  );
}
