// The schema as it stands, from its files: one for each table, function and view, in the order in which
// schema/schema.sql names them.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("./schema/", import.meta.url));

/** The SQL of all files, one after the other, as the baseline has it. */
export async function readSchema(): Promise<string> {
  const order = await readFile(`${FOLDER}schema.sql`, "utf8");
  const files = [...order.matchAll(/^\\ir (\S+)$/gm)].map(([, file = ""]) => file);
  const texts = await Promise.all(files.map((file) => readFile(`${FOLDER}${file}`, "utf8")));
  return texts.join("\n");
}
