// What squawk, a linter of migrations, says of one: which locks it takes and what it rewrites.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { text as textOf } from "node:stream/consumers";
import { isSquawkRule, type Rule } from "./rules.ts";

export interface SquawkWarning {
  rule: Rule;
  what: string;
  /** Where, in bytes. */
  offset: number;
}

interface Reported {
  rule_name: string;
  message: string;
  line: number;
  column: number;
}

/** Its package tells where the program for this machine is. */
const { getBinaryPath } = createRequire(import.meta.url)("squawk-cli/js/index.js") as {
  getBinaryPath: () => string;
};

/** The oldest PostgreSQL that the service runs on. */
const OLDEST_POSTGRES = "15.0";

/** It says of a key or a foreign key too that it is a constraint. */
const MORE_EXACT: Rule[] = [
  "adding-foreign-key-constraint",
  "disallowed-unique-constraint",
  "adding-serial-primary-key-field",
];

/** Its warnings of the rules that we share, in the order of the text. */
export async function askSquawk(text: string, inTransaction: boolean): Promise<SquawkWarning[]> {
  const reported = JSON.parse(
    // Its own comments would overrule without a reason.
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

/** Of what is said of one statement, what does not say again what another says more exactly. */
export function mostExact(warnings: SquawkWarning[]): SquawkWarning[] {
  if (!warnings.some(({ rule }) => MORE_EXACT.includes(rule))) return warnings;
  return warnings.filter(({ rule }) => rule !== "constraint-missing-not-valid");
}

async function runSquawk(text: string, inTransaction: boolean): Promise<string> {
  const child = spawn(
    getBinaryPath(),
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
  if (!stdout.startsWith("[")) throw new Error(`squawk does not run: ${stderr || stdout}`);
  return stdout;
}
