// Lints migrations: finds statements that would harm a service in use.
import type { Node } from "libpg-query";
import { findUndescribed } from "./described.ts";
import { findLongWait, waitAfter } from "./lock-timeout.ts";
import { findConcurrently, findLocks } from "./locks.ts";
import { findForbidden } from "./forbidden.ts";
import { findRights } from "./rights.ts";
import { readOverrules } from "./overrules.ts";
import { findTakenAway, type Readers } from "./published.ts";
import { safeWay, type Violation } from "./rules.ts";
import { askSquawk, mostExact, type SquawkWarning } from "./squawk.ts";
import { rangeName, Standing } from "./standing.ts";
import { readStatements, SqlSyntaxError, type Statement } from "./statements.ts";

export interface LintFinding {
  file: string;
  line: number;
  rule: string;
  what: string;
  /** The safe alternative. */
  instead: string;
}

export interface LintResult {
  findings: LintFinding[];
  /** Number of overruled findings. */
  overruled: number;
}

export interface MigrationText {
  file: string;
  text: string;
}

/** The schema after these migrations, without linting them. */
export async function standAfter(migrations: MigrationText[]): Promise<Standing> {
  const standing = new Standing();
  for (const { text } of migrations) {
    for (const { node } of await readStatements(text)) standing.apply(node);
  }
  return standing;
}

/** Lints one migration of one or more files, and applies it to `standing`, the schema before it. */
export async function lintMigration(
  files: MigrationText[],
  standing: Standing,
  readers: Readers,
): Promise<LintResult> {
  const text = files.map((file) => file.text).join("\n");
  const finding = ({ rule, what }: Violation, line: number): LintFinding => ({
    ...placeOf(files, line),
    rule,
    what,
    instead: safeWay(rule),
  });
  let statements: Statement[];
  try {
    statements = await readStatements(text);
  } catch (error) {
    if (!(error instanceof SqlSyntaxError)) throw error;
    return {
      findings: [finding({ rule: "syntax", what: error.message }, error.line)],
      overruled: 0,
    };
  }
  const inTransaction = !/^--! no-transaction\b/m.test(text);
  const before = standing.copy();
  for (const { node } of statements) standing.apply(node);
  const warnings = await askSquawk(text, inTransaction);
  const warningsOf = ({ start, end }: Statement): SquawkWarning[] =>
    warnings.filter(({ offset }) => offset >= start && offset <= end);

  const result: LintResult = { findings: [], overruled: 0 };
  let waitMs = Infinity;
  for (const [index, statement] of statements.entries()) {
    const { node, line } = statement;
    if (inTransaction) waitMs = waitAfter(node, waitMs);
    const found: Violation[] = [
      ...(isOnNew(node, before, standing) ? [] : mostExact(warningsOf(statement))),
      ...findLocks(node, before),
      ...findLongWait(node, before, waitMs),
      ...(inTransaction ? findConcurrently(node) : []),
      ...(inTransaction || index === 0
        ? []
        : [
            {
              rule: "one-statement" as const,
              what: "a migration without a transaction has more than one statement",
            },
          ]),
      ...findTakenAway(node, before, readers),
      ...findRights(node, standing),
      ...findForbidden(node, before),
      ...findUndescribed(node, before, standing),
      ...("DoStmt" in node
        ? [{ rule: "unseen" as const, what: "the linter cannot analyse a `do` block" }]
        : []),
    ];
    const { overrules, violations } = readOverrules(statement);
    const allowed = new Set(overrules.map(({ rule }) => rule));
    const refused = found.filter(({ rule }) => !allowed.has(rule));
    const needless = overrules.filter(({ rule }) => !found.some((one) => one.rule === rule));
    result.overruled += found.length - refused.length;
    result.findings.push(
      ...refused.map((violation) => finding(violation, line)),
      ...violations.map((violation) => finding(violation, violation.line)),
      ...needless.map((overrule) =>
        finding(
          {
            rule: "overrule",
            what: `it allows ${overrule.rule}, which the statement below does not need`,
          },
          overrule.line,
        ),
      ),
    );
  }
  return result;
}

/** Whether it indexes or alters a table that the migration creates, and that has no readers yet. */
function isOnNew(node: Node, before: Standing, after: Standing): boolean {
  const range =
    "IndexStmt" in node
      ? node.IndexStmt.relation
      : "AlterTableStmt" in node
        ? node.AlterTableStmt.relation
        : undefined;
  const name = rangeName(range);
  return after.relations.has(name) && !before.relations.has(name);
}

/** Maps a line of the joined files to a file and its line. */
function placeOf(files: MigrationText[], line: number): { file: string; line: number } {
  let left = line;
  for (const { file, text } of files) {
    const lines = text.split("\n").length;
    if (left <= lines) return { file, line: left };
    left -= lines;
  }
  return { file: files.at(-1)?.file ?? "", line: left };
}
