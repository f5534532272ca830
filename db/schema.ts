// Reads the present schema from its files, one per table, function or view.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("./schema/", import.meta.url));

/** The SQL of all files in the order of schema/schema.sql; the baseline consists of the same SQL. */
export async function readSchema(): Promise<string> {
  const order = await readFile(`${FOLDER}schema.sql`, "utf8");
  const files = [...order.matchAll(/^\\ir (\S+)$/gm)].map(([, file = ""]) => file);
  const texts = await Promise.all(files.map((file) => readFile(`${FOLDER}${file}`, "utf8")));
  return texts.join("\n");
}
