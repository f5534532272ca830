// Says what came of the faults, and writes it into docs/reliability.md where WRITE_RELIABILITY is set.
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { total } from "./load.ts";
import { recordedOutcomes, type Outcome } from "./outcomes.ts";
import { writeSection } from "./reliability-page.ts";

const grouped = (n: number): string => Math.round(n).toLocaleString("en");

function row({ fault, counts, ready, recoveredMs }: Outcome): string {
  const cells = [
    fault,
    grouped(counts.asked),
    grouped(counts.right),
    grouped(counts.unavailable),
    grouped(counts.unanswered),
    grouped(counts.wrong.length),
    grouped(counts.other.length),
    grouped(counts.slowestMs),
    ready,
    recoveredMs === undefined ? "" : grouped(recoveredMs),
  ];
  return `| ${cells.join(" | ")} |`;
}

export default async function publishCounts(): Promise<void> {
  const outcomes = await recordedOutcomes();
  const all = { fault: "all", counts: total(outcomes.map(({ counts }) => counts)), ready: "" };
  const section = [
    `On ${new Date().toISOString().slice(0, 10)} with Node ${process.version}:`,
    "",
    "| fault | asked | right | 503 | unanswered | wrong | other | slowest, ms | `/ready` meanwhile | recovered after, ms |",
    "| --- | --: | --: | --: | --: | --: | --: | --: | --- | --: |",
    ...outcomes.map(row),
    row(all),
  ].join("\n");
  console.log(`\n${section}\n`);
  if (process.env["WRITE_RELIABILITY"] !== undefined) await writeSection("faults", section);
  await rm(dirname(process.env["FAULTS_OUTCOMES"] ?? ""), { recursive: true, force: true });
}
