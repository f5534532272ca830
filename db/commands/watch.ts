// npm run db:watch: applies the current migration to the database at every save.
import { readCommandLine } from "../command-line.ts";
import { ownerUrl } from "../locate.ts";
import { watchCurrent } from "../watch/watch-migration.ts";

const USAGE = `Usage: npm run db:watch [-- --once]

Applies the committed migrations that the database lacks, then db/migrations/current at every save.

  --once  apply it once and end
  --help  show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { values } = readCommandLine({
  usage: USAGE,
  options: { once: { type: "boolean", default: false } },
});

try {
  const url = await ownerUrl(process.env);
  const isApplied = await watchCurrent({ url, once: values.once, print: console.log });
  process.exitCode = isApplied ? 0 : 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
