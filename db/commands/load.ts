// `npm run load -- DIR`: loads a folder of CSV files into the database.
import { readCommandLine, refuse } from "../command-line.ts";
import { connect } from "../connect.ts";
import { errorText, missingSchema } from "../error-text.ts";
import { readFolder } from "../load/folder.ts";
import { LoadError } from "../load/load-error.ts";
import { loadProgressLine } from "../load/load-progress.ts";
import { TABLES } from "../load/checked-rows.ts";
import { loadRows, type LoadSummary } from "../load/write-rows.ts";
import { grouped } from "../progress-line.ts";
import { ownerUrl } from "../locate.ts";

const USAGE = `Usage: npm run load -- DIR

Loads tokens.csv, pairs.csv, offers.csv and trades.csv of the folder DIR, as many as there are:
all of it or, where anything is wrong, nothing. db/load/README.md describes the files.

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { positionals } = readCommandLine({ usage: USAGE, options: {}, max: 1 });
const [folder = refuse("DIR is missing")] = positionals;

try {
  console.log(summaryText(await load(folder)));
} catch (error) {
  console.error(`Nothing was loaded: ${explain(error)}`);
  process.exitCode = 1;
}

async function load(folder: string): Promise<LoadSummary> {
  const source = await readFolder(folder);
  const client = await connect(await ownerUrl(process.env), {
    role: "dex_writer",
    applicationName: "dex-market-data load",
  });
  const progress = loadProgressLine(process.stderr);
  try {
    return await loadRows(client, source, { onProgress: progress.report });
  } finally {
    progress.clear();
    await client.end();
  }
}

function summaryText(summary: LoadSummary): string {
  const counts = TABLES.flatMap((name) => {
    const table = summary[name];
    if (table === undefined) return [];
    const { added, changed, unchanged } = table;
    return `${name}: ${grouped(added)} added, ${grouped(changed)} changed, ${grouped(unchanged)} as they were`;
  });
  const head =
    summary.head === undefined
      ? "The head is where it was."
      : `The head is now block ${summary.head.block} of ${summary.head.time.toISOString()}.`;
  return [...counts, head].join("\n");
}

/** One line; for what is likely, with what to do. */
function explain(error: unknown): string {
  return error instanceof LoadError ? error.message : (missingSchema(error) ?? errorText(error));
}
