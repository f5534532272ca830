// What came of each fault, kept between the files of the suite for what it publishes.
import { appendFile, readFile } from "node:fs/promises";
import type { Counts } from "./load.ts";

export interface Outcome {
  fault: string;
  counts: Counts;
  /** What /ready said meanwhile. */
  ready: string;
  /** From the fault's end to the first /ready of 200, in milliseconds. */
  recoveredMs?: number;
}

/** The file is named by whoever begins the run. */
const file = (): string => process.env["FAULTS_OUTCOMES"] ?? "/dev/null";

export const recordOutcome = (outcome: Outcome): Promise<void> =>
  appendFile(file(), `${JSON.stringify(outcome)}\n`);

export async function recordedOutcomes(): Promise<Outcome[]> {
  const lines = (await readFile(file(), "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Outcome);
}
