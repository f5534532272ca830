// Runs squawk, a linter of migrations, which finds dangerous locks and table rewrites.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { text as textOf } from "node:stream/consumers";
import { isSquawkRule, type Rule } from "./rules.ts";

export interface SquawkWarning {
  rule: Rule;
  what: string;
  /** Byte offset in the text. */
  offset: number;
}

interface Reported {
  rule_name: string;
  message: string;
  line: number;
  column: number;
}

/** squawk's package locates the binary for this platform. */
function squawkPath(): string {
  const require = createRequire(new URL("../../tools/squawk/package.json", import.meta.url));
  let squawk;
  try {
    squawk = require("squawk-cli/js/index.js") as { getBinaryPath: () => string };
  } catch (error) {
    throw new Error("squawk is not installed: `npm run db:lint` installs it", {
      cause: error,
    });
  }
  return squawk.getBinaryPath();
}

/** The oldest supported PostgreSQL. */
const OLDEST_POSTGRES = "15.0";

/** For these rules squawk also reports the general rule for constraints. */
const MORE_EXACT: Rule[] = [
  "adding-foreign-key-constraint",
  "disallowed-unique-constraint",
  "adding-serial-primary-key-field",
];

/** squawk's warnings of the rules in rules.ts, in text order. */
export async function askSquawk(text: string, inTransaction: boolean): Promise<SquawkWarning[]> {
  const reported = JSON.parse(
    // Disables squawk's own ignore comments, which need no reason.
    await runSquawk(text.replaceAll("squawk-ignore", "squawk_ignore"), inTransaction),
  ) as Reported[];
  const lines = text.split("\n");
  return reported.flatMap(({ rule_name, message, line, column }): SquawkWarning[] => {
    if (!isSquawkRule(rule_name)) return [];
    const before = lines.slice(0, line).map((one) => `${one}\n`);
    const offset = Buffer.byteLength(before.join("")) + column;
    return [{ rule: rule_name, what: message.replace(/\.$/, ""), offset }];
  });
}

/** Removes general warnings of a statement for which there is a more exact one. */
export function exactest(warnings: SquawkWarning[]): SquawkWarning[] {
  if (!warnings.some(({ rule }) => MORE_EXACT.includes(rule))) return warnings;
  return warnings.filter(({ rule }) => rule !== "constraint-missing-not-valid");
}

async function runSquawk(text: string, inTransaction: boolean): Promise<string> {
  const child = spawn(
    squawkPath(),
    [
      ...[
        "--reporter",
        "json",
        "--pg-version",
        OLDEST_POSTGRES,
        "--stdin-filepath",
        "migration.sql",
      ],
      ...(inTransaction ? ["--assume-in-transaction"] : []),
    ],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  child.stdin.end(text);
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  if (!stdout.startsWith("[")) throw new Error(`squawk failed: ${stderr || stdout}`);
  return stdout;
}
