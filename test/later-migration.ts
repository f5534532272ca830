// A committed migration after all that there are, as the next release brings it.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { calculateHash } from "graphile-migrate/dist/hash.js";
import { join } from "node:path";

/** Writes it to a copy of db/migrations/, and resolves to its file name. */
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
