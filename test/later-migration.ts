// Adds a committed migration after the present ones, as the next release would.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { calculateHash } from "graphile-migrate/dist/hash.js";
import { join } from "node:path";

/** Writes to a copy of db/migrations/, and returns the file name. */
export async function commitLater(migrations: string, body: string): Promise<string> {
  const folder = join(migrations, "committed");
  const last = (await readdir(folder)).sort().at(-1)!;
  const [, previous = ""] = /^--! Hash: (.*)$/m.exec(await readFile(join(folder, last), "utf8"))!;
  const name = `${String(Number.parseInt(last, 10) + 1).padStart(6, "0")}-later.sql`;
  const text = `${body.trim()}\n`;
  const hash = calculateHash(text, previous);
  await writeFile(join(folder, name), `--! Previous: ${previous}\n--! Hash: ${hash}\n\n${text}`);
  return name;
}
