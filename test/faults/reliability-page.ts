// docs/reliability.md, of which each measurement writes its own section.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { formatted } from "../formatted.ts";

const PAGE = fileURLToPath(new URL("../../docs/reliability.md", import.meta.url));

/** Replaces what stands between the marks of this section. */
export async function writeSection(
  name: "cluster" | "faults" | "fuzz" | "soak",
  markdown: string,
): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${PAGE} has no ${begin}`);
  const written = `${before}${begin}\n\n${markdown}\n\n${end}${after}`;
  await writeFile(PAGE, await formatted(written, "markdown"));
}
