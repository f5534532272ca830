// Writes the baseline, which is the one migration before the first release, from the files of db/schema/.
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { readCommandLine } from "../db/command-line.ts";
import { readSchema } from "../db/schema.ts";

readCommandLine({
  usage: `Usage: npm run generate -- baseline

Writes db/migrations/committed/000001-baseline.sql from the files of db/schema/.

  --help  show this`,
  options: {},
});

const body = `${(await readSchema()).trim()}\n`;
// As graphile-migrate makes it, of the first migration.
const hash = createHash("sha1").update(body).digest("hex");
await writeFile(
  new URL("../db/migrations/committed/000001-baseline.sql", import.meta.url),
  `--! Previous: -\n--! Hash: sha1:${hash}\n--! Message: baseline\n\n${body}`,
);
