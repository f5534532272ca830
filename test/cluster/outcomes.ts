// What came of each event in the cluster, kept for the table that is published.
import { appendFile, readFile } from "node:fs/promises";
import type { WriterTally } from "./block-writer.ts";
import type { Counts } from "./clients.ts";
import type { SteadyTally } from "../market/live/steady-followers.ts";

export interface Outcome {
  event: string;
  clients: Counts;
  followers: SteadyTally;
  writer: WriterTally;
  /** From the event's end until all services are in use, in milliseconds. */
  recoveredMs: number;
}

/** Milliseconds of a commit, the median. */
export interface CommitCost {
  waiting: number;
  notWaiting: number;
}

interface Recorded {
  outcome?: Outcome;
  cost?: CommitCost;
}

/** The file is named by test/faults/begin-counts.ts. */
const file = (): string => process.env["FAULTS_OUTCOMES"] ?? "/dev/null";

export const record = (recorded: Recorded): Promise<void> =>
  appendFile(file(), `${JSON.stringify(recorded)}\n`);

export async function readRecorded(): Promise<Recorded[]> {
  const lines = (await readFile(file(), "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Recorded);
}
