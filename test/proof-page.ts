// Where the page of a proof goes, and what it says of the run.
import { writeFile } from "node:fs/promises";

/** The option `--out`, and its line in the help; `page` is the committed one. */
export const outTo = (page: string) => ({
  help: `  --out FILE     where the result goes, default ${page}`,
  option: { type: "string", default: page } as const,
});

/** "in 0.3 minutes", of the time since then. */
export const inMinutes = (began: number, now = Date.now()): string =>
  `in ${((now - began) / 60_000).toFixed(1)} minutes`;

export async function writePage(out: string, page: string): Promise<void> {
  await writeFile(out, page);
  console.log(page);
}
