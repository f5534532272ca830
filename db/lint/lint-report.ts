// Formats the result of linting for a terminal.
import type { LintResult } from "./lint-migrations.ts";

export function reportLines({
  linted,
  findings,
  overruled,
}: LintResult & { linted: string[] }): string[] {
  const count = findings.length === 0 ? "Nothing" : findings.length;
  return [
    `Linted ${linted.join(", ")}.`,
    ...findings.flatMap(({ file, line, rule, what, instead }) => [
      "",
      `${file}:${line} ${rule}`,
      `  ${what}.`,
      `  → ${instead.charAt(0).toUpperCase()}${instead.slice(1)}`,
    ]),
    "",
    `${count} refused${overruled === 0 ? "" : `, ${overruled} overruled`}.`,
  ];
}
