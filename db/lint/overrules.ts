// Reads the comments by which a migration overrules a rule.
import { isRule, type Rule, type Violation } from "./rules.ts";
import type { Statement } from "./statements.ts";

export interface Overrule {
  rule: Rule;
  line: number;
}

/** The overrules above a statement, and violations for malformed ones. */
export function readOverrules({ comments }: Statement): {
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
