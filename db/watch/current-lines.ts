// The current migration, the next change: which line of which file each of its lines is.
//
// graphile-migrate runs the files of `current/` as one text, and says of an error where in that text
// it is. Whoever wrote them wants to know where in the files.
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { MIGRATIONS_FOLDER } from "../committed.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** A line of the text that is run. */
export interface CurrentLine {
  text: string;
  /** Where it was written; absent for what graphile-migrate adds. */
  from?: { file: string; line: number };
}

/** Every line of the current migration, in the order and number in which it is run. */
export async function currentLines(folder = MIGRATIONS_FOLDER): Promise<CurrentLine[]> {
  const current = join(folder, "current");
  const names = await readdir(current).catch(() => undefined);
  if (names === undefined) return linesOf(join(folder, "current.sql"));
  const files = names
    .filter((name) => /^\d+.*\.sql$/.test(name))
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  const headers: CurrentLine[] = [];
  const body: CurrentLine[] = [];
  for (const name of files) {
    const lines = await linesOf(join(current, name));
    const isHeader = ({ text }: CurrentLine): boolean => /^--! [A-Z]/.test(text);
    const end = lines.findIndex((line) => !isHeader(line));
    headers.push(...lines.slice(0, end));
    if (body.length > 0) body.push({ text: "" });
    body.push({ text: `--! split: ${name}` }, ...withoutBlankEnds(lines.slice(end)));
  }
  return headers.length > 0 ? [...headers, { text: "" }, ...body] : body;
}

async function linesOf(path: string): Promise<CurrentLine[]> {
  const file = relative(REPOSITORY, path);
  const lines = (await readFile(path, "utf8")).split("\n");
  return lines.map((text, n) => ({ text, from: { file, line: n + 1 } }));
}

function withoutBlankEnds(lines: CurrentLine[]): CurrentLine[] {
  const isWritten = ({ text }: CurrentLine): boolean => text.trim() !== "";
  return lines.slice(lines.findIndex(isWritten), lines.findLastIndex(isWritten) + 1);
}
