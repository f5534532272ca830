// Maps the lines of the current migration to lines of its files.
//
// graphile-migrate runs the files of `current/` as one text, and gives the position of an error in that
// text; the author needs the file and the line.
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { MIGRATIONS_FOLDER } from "../committed.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** A line of the text that graphile-migrate runs. */
export interface CurrentLine {
  text: string;
  /** The line's origin; undefined for a line that graphile-migrate adds. */
  from?: { file: string; line: number };
}

/** All lines of the current migration, exactly as graphile-migrate runs them. */
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
