// Lints migrations: finds statements that would harm a service in use.
import { isNoTransactionDefined } from "graphile-migrate/dist/header.js";
import { parseMigrationText } from "graphile-migrate/dist/migration.js";
import { scanSync, type Node, type RangeVar } from "libpg-query";
import { findMisplaced, findNotAllowed } from "./allowed.ts";
import { findChanges } from "./catalog-changes.ts";
import { rangeName } from "./functions.ts";
import { findLocks, findTriggersRun } from "./locks.ts";
import { findMade } from "./made.ts";
import { keptBy, type Readers } from "./readers.ts";
import { findRights } from "./rights.ts";
import { isSquawkRule, safeWay, isRule, type Rule, type Violation } from "./rules.ts";
import type { LintShadow, Sdl } from "./lint-shadow.ts";
import { askSquawk, exactest, type SquawkWarning } from "./squawk.ts";
import { readStatements, SqlSyntaxError, type Statement } from "./statements.ts";
import { findTakenAway, merged } from "./taken-away.ts";
import { findUnnamed } from "./unnamed.ts";

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

/** Where a migration is linted. */
export interface LintOptions {
  /** With the migrations before it. */
  shadow: LintShadow;
  readers: Readers;
  /** What GraphQL's clients lose between two schemas. */
  lostBetween?: (before: string, after: string) => string[];
  /** Whether the shadow keeps the migration, for the next one. */
  keep?: boolean;
}

/** Rules of squawk that say of a scan or a rewrite what the shadow shows too. */
const SAYS_SCAN: Rule[] = [
  ...(["changing-column-type", "adding-field-with-default", "adding-required-field"] as const),
  ...(["adding-foreign-key-constraint", "constraint-missing-not-valid"] as const),
  ...(["disallowed-unique-constraint", "adding-serial-primary-key-field"] as const),
  ...(["require-concurrent-index-creation", "require-concurrent-reindex"] as const),
];

/** Rules that name what a migration takes from clients, so that what GraphQL loses by it needs no second overrule. */
const TAKES_AWAY: Rule[] = ["published", "changing-column-type", "ban-drop-not-null", "tags"];

/** Statements that leave the catalog as it is. */
const OF_ROWS = ["VariableSetStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"];

/** Lints one migration of one or more files. */
export async function lintMigration(
  files: MigrationText[],
  options: LintOptions,
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
  if (statements.length === 0) return { findings: [], overruled: 0 };
  const found = await findAll(statements, text, options);

  const result: LintResult = { findings: [], overruled: 0 };
  for (const [index, statement] of statements.entries()) {
    const { overrules, violations } = readOverrules(statement);
    const all = found[index] ?? [];
    const refused = all.filter(({ rule }) => !overrules.some((one) => one.rule === rule));
    const needless = overrules.filter(({ rule }) => !all.some((one) => one.rule === rule));
    result.overruled += all.length - refused.length;
    result.findings.push(
      ...refused.map((violation) => finding(violation, statement.line)),
      ...violations.map((violation) => finding(violation, violation.line)),
      ...needless.map(({ rule, line }) => {
        const what = `it allows ${rule}, which the statement below does not need`;
        return finding({ rule: "overrule", what }, line);
      }),
    );
  }
  return result;
}

/** The violations of each statement. */
async function findAll(
  statements: Statement[],
  text: string,
  { shadow, readers, lostBetween = () => [], keep = false }: LintOptions,
): Promise<Violation[][]> {
  // As graphile-migrate reads it: the first line below the headers alone may say so.
  const inTransaction = !isNoTransactionDefined(parseMigrationText("", text, false).body);
  const { catalog, functions: before, excess: stood, sdl: shown } = await shadow.before();
  const functions = before.copy();
  for (const { node } of statements) functions.learn(node);
  const warnings = await askSquawk(text, inTransaction);
  const warningsOf = ({ start, end }: Statement): SquawkWarning[] =>
    exactest(warnings.filter(({ offset }) => offset >= start && offset <= end));
  const existing = new Set([...catalog.values()].map(({ name }) => name));
  const isOnNew = statements.map(({ node }) => {
    const name = rangeName(targetOf(node));
    if ("RenameStmt" in node && existing.has(name)) {
      existing.add(
        rangeName({ ...node.RenameStmt.relation, relname: node.RenameStmt.newname ?? "" }),
      );
    }
    if ("AlterObjectSchemaStmt" in node && existing.has(name)) {
      const { relation, newschema = "" } = node.AlterObjectSchemaStmt;
      existing.add(rangeName({ ...relation, schemaname: newschema }));
    }
    return ("IndexStmt" in node || "AlterTableStmt" in node) && !existing.has(name);
  });

  const notAllowed = statements.map(({ node, text: own }, index) => [
    ...findNotAllowed(node, own, functions),
    ...findMisplaced(node, index, inTransaction),
  ]);
  const found = statements.map((statement, index): Violation[] => [
    ...(isOnNew[index] === true ? [] : warningsOf(statement)),
    ...(notAllowed[index] ?? []),
    ...findUnnamed(statement.node),
  ]);
  const isAllowed = statements.every((statement, index) => {
    const rules = readOverrules(statement).overrules.map(({ rule }) => rule);
    return notAllowed[index]?.every(({ rule }) => rules.includes(rule));
  });
  if (!isAllowed) return found.map(unique);

  // What is not allowed and overruled is never run.
  const tried = statements.map(({ node, text: own }, index) => ({
    sql: notAllowed[index]?.length === 0 && !isTimeout(node) ? inOneTransaction(own) : undefined,
    changesCatalog: !OF_ROWS.some((kind) => kind in node),
  }));
  const { effects, excess, sdl } = await shadow.apply(tried, keep);
  const changes = findChanges(
    catalog,
    effects.map((effect) => effect.catalog),
  );
  const hasFailed = effects.some(({ error }) => error !== undefined);
  const kept = keptBy(catalog);
  for (const [index, effect] of effects.entries()) {
    const node = statements[index]?.node;
    if (node === undefined) continue;
    if (inTransaction) found[index]?.push(...findLocks(node, effect, { stood: catalog, kept }));
    if (found[index]?.some(({ rule }) => rule === "whole-table-write") === true) continue;
    found[index]?.push(...findTriggersRun(node, catalog, effect.catalog));
  }
  const rights = findRights(
    changes,
    excess.filter((right) => !stood.includes(right)),
  );
  const placed = [...findTakenAway(changes, readers), ...findMade(changes), ...rights].filter(
    // Comments and grants may follow the statement that fails.
    ({ rule }) => !hasFailed || !["comment", "grant"].includes(rule),
  );
  for (const { at, ...violation } of merged(placed)) found[at]?.push(violation);
  if (!hasFailed) {
    const isNamed = placed.some(({ rule }) => TAKES_AWAY.includes(rule));
    const last = tried.findLastIndex(({ changesCatalog }) => changesCatalog);
    found[last]?.push(...inGraphql(shown, sdl, isNamed ? () => [] : lostBetween));
  }
  for (const [index, { error }] of effects.entries()) {
    if (error !== undefined && found[index]?.length === 0) {
      found[index].push({ rule: "apply", what: `PostgreSQL refuses it: ${error}` });
    }
  }
  return found.map(unique);
}

/** What the migration does to GraphQL. */
function inGraphql(
  before: Sdl,
  after: Sdl,
  lostBetween: (before: string, after: string) => string[],
): Violation[] {
  if (after.problem !== undefined && after.problem !== before.problem) {
    return [{ rule: "graphql", what: `the GraphQL schema cannot be made: ${after.problem}` }];
  }
  if (before.text === undefined || after.text === undefined) return [];
  const [first, ...more] = lostBetween(before.text, after.text);
  if (first === undefined) return [];
  const also = more.length === 0 ? "" : `; and ${more.length} more`;
  return [{ rule: "graphql", what: `GraphQL clients lose something: ${first}${also}` }];
}

/** Without what squawk says already. */
function unique(violations: Violation[]): Violation[] {
  const isSaid = violations.some(({ rule }) => SAYS_SCAN.includes(rule));
  return violations.filter(
    ({ rule, what }, index) =>
      !(isSaid && ["rewrites-table", "scans-table"].includes(rule)) &&
      violations.findIndex(
        (one) => one.rule === rule && (one.what === what || isSquawkRule(rule)),
      ) === index,
  );
}

/** The statement without CONCURRENTLY, which makes the same. */
function inOneTransaction(text: string): string {
  const token = scanSync(text).tokens.find(
    ({ text: word, keywordKind }) => keywordKind > 0 && /^concurrently$/i.test(word),
  );
  const bytes = Buffer.from(text);
  return token === undefined
    ? text
    : Buffer.concat([bytes.subarray(0, token.start), bytes.subarray(token.end)]).toString();
}

/** Its limit is the linter's. */
function isTimeout(node: Node): boolean {
  return "VariableSetStmt" in node && node.VariableSetStmt.name === "statement_timeout";
}

function targetOf(node: Node): RangeVar | undefined {
  if ("IndexStmt" in node) return node.IndexStmt.relation;
  if ("AlterTableStmt" in node) return node.AlterTableStmt.relation;
  if ("RenameStmt" in node) return node.RenameStmt.relation;
  return "AlterObjectSchemaStmt" in node ? node.AlterObjectSchemaStmt.relation : undefined;
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

interface Overrule {
  rule: Rule;
  line: number;
}

/** The overrules above a statement, and violations for malformed ones. */
function readOverrules({ comments }: Statement): {
  overrules: Overrule[];
  violations: (Violation & { line: number })[];
} {
  const overrules: Overrule[] = [];
  const violations: (Violation & { line: number })[] = [];
  for (const { text, line } of comments) {
    const refuse = (what: string): void => void violations.push({ rule: "overrule", what, line });
    if (text.includes("squawk-ignore")) refuse("squawk's own comments have no reason");
    const asked = /^--\s*db:lint\b\s*(.*)$/.exec(text)?.[1];
    if (asked === undefined) continue;
    const [, rule = "", reason = ""] = /^allow\s+([\w-]+)\s*:?\s*(.*)$/.exec(asked) ?? [];
    if (rule === "") refuse("it names no rule to allow");
    else if (!isRule(rule)) refuse(`there is no rule ${rule}`);
    else if (reason === "") refuse(`it allows ${rule} without a reason`);
    else overrules.push({ rule, line });
  }
  return { overrules, violations };
}
