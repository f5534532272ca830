// Begins the counts of a run of the faults.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export default async function beginCounts(): Promise<void> {
  const file = join(await mkdtemp(join(tmpdir(), "dex-outcomes-")), "outcomes.jsonl");
  await writeFile(file, "");
  process.env["FAULTS_OUTCOMES"] = file;
}
