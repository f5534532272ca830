// Formats the result of a check for a terminal.
import type { CheckResult } from "./check.ts";
import type { Finding } from "./finding.ts";

/** The result as lines: scope, each finding with its remedy, and the number of findings. */
export function reportLines(shownUrl: string, result: CheckResult): string[] {
  const { compared, exposed, migrations, findings, additions, notes, skipped } = result;
  return [
    `Checked ${shownUrl}: ${migrations.applied} of ${migrations.committed} migrations.`,
    `Compared the schemas ${compared.join(", ")}. Checked comments in ${exposed.join(", ")}.`,
    "Did not check data: `npm run db:verify` does.",
    ...notes.map((note) => `Note: ${note}.`),
    ...additions.map((object) => `Not compared, because its comment has @addition: ${object}.`),
    ...skipped.map((what) => `Not checked: ${what}.`),
    ...findings.flatMap(findingLines),
    "",
    findings.length === 0
      ? "Nothing found."
      : `${findings.length} ${findings.length === 1 ? "finding" : "findings"}.`,
  ];
}

function findingLines({ check, object, problem, remedy }: Finding): string[] {
  return ["", `${check}: ${object}`, `  ${problem}.`, `  → ${remedy}`];
}
