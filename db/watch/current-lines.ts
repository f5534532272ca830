// Maps the lines of the current migration to lines of its files: graphile-migrate runs those of `current/` as one text, and
// gives the position of an error in that text.
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import {
  getCurrentMigrationLocation,
  readCurrentMigration,
} from "graphile-migrate/dist/current.js";
import { MIGRATIONS_FOLDER } from "../committed.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** A line of the text that graphile-migrate runs. */
export interface CurrentLine {
  text: string;
  /** The line's origin; undefined for a line that graphile-migrate adds. */
  from?: { file: string; line: number };
}

/** graphile-migrate names the file of the lines that follow, without its headers and the blank lines at its ends. */
const SPLIT = /^--! split: (.*)$/;
const WITHIN = /^(?!--! [A-Z]).*\S/;

/** All lines of the current migration, exactly as graphile-migrate runs them. */
export async function currentLines(): Promise<CurrentLine[]> {
  const settings = { migrationsFolder: MIGRATIONS_FOLDER } as never;
  const location = await getCurrentMigrationLocation(settings);
  const lines: CurrentLine[] = [];
  let path = location.isFile ? location.path : "";
  let line = 0;
  for (const text of (await readCurrentMigration(settings, location)).split("\n")) {
    const name = location.isFile ? undefined : SPLIT.exec(text)?.[1];
    line += 1;
    if (name !== undefined) {
      path = join(location.path, name);
      const own = (await readFile(path, "utf8")).split("\n");
      line = own.findIndex((one) => WITHIN.test(one));
    }
    const isOfFile = name === undefined && path !== "";
    lines.push({ text, ...(isOfFile && { from: { file: relative(REPOSITORY, path), line } }) });
  }
  return lines;
}
