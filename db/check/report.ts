// A check's result, for whoever reads it in a terminal.
import type { CheckResult } from "./check.ts";
import type { Finding } from "./finding.ts";

/** The result as lines: what was compared, each finding with what to do, and how many there are. */
export function reportLines(shownUrl: string, result: CheckResult): string[] {
  const { compared, exposed, migrations, findings, additions, notes, skipped } = result;
  return [
    `Checked ${shownUrl}: ${migrations.applied} of ${migrations.committed} migrations.`,
    `Compared: the schemas ${listed(compared)}. Looked for comments in: ${listed(exposed)}.`,
    "Looked at no data: `npm run db:verify` does.",
    ...notes.map((note) => `Note: ${note}.`),
    ...additions.map((object) => `Not compared, since its comment says @addition: ${object}.`),
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

function listed(names: string[]): string {
  return names.join(", ");
}
