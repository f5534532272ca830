// `npm run load -- DIR`: loads a folder of CSV files into the database.
import { parseArgs } from "node:util";
import { connect, type Client } from "../connect.ts";
import { errorText, missingSchema } from "../error-text.ts";
import { readFolder } from "../load/folder.ts";
import { LoadError } from "../load/load-error.ts";
import { loadProgressLine } from "../load/progress.ts";
import { TABLES } from "../load/rows.ts";
import { loadRows, type LoadSummary } from "../load/write.ts";
import { grouped } from "../progress-line.ts";
import { ownerUrl } from "../locate.ts";

const USAGE = `Usage: npm run load -- DIR

Loads tokens.csv, pairs.csv, offers.csv and trades.csv of the folder DIR, as many as there are:
all of it or, where anything is wrong, nothing. db/load/README.md describes the files.

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const SEE_HELP = "`npm run load -- --help` shows how it is used.";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

async function main(): Promise<number> {
  const request = readArguments();
  if ("exit" in request) return request.exit;
  try {
    console.log(summaryText(await load(request.folder)));
    return 0;
  } catch (error) {
    console.error(`Nothing was loaded: ${explain(error)}`);
    return EXIT_FAILED;
  }
}

function readArguments(): { folder: string } | { exit: number } {
  try {
    const { values, positionals } = parseArgs({
      options: { "no-head": { type: "boolean" }, help: { type: "boolean", short: "h" } },
      allowPositionals: true,
    });
    if (values.help) {
      console.log(USAGE);
      return { exit: 0 };
    }
    const [folder] = positionals;
    if (values["no-head"]) {
      console.error("There is no --no-head any more: the head is the last block that is written.");
    } else if (folder !== undefined && positionals.length === 1) {
      return { folder };
    } else {
      console.error(
        `One folder is loaded at a time, and ${positionals.length} are given. ${SEE_HELP}`,
      );
    }
  } catch (error) {
    console.error(`${(error as Error).message} ${SEE_HELP}`);
  }
  return { exit: EXIT_USAGE };
}

async function load(folder: string): Promise<LoadSummary> {
  const source = await readFolder(folder);
  const client = await connectAsWriter();
  const progress = loadProgressLine(process.stderr);
  try {
    return await loadRows(client, source, { onProgress: progress.hear });
  } finally {
    progress.clear();
    await client.end();
  }
}

async function connectAsWriter(): Promise<Client> {
  return connect(await ownerUrl(process.env), {
    role: "dex_writer",
    applicationName: "dex-market-data load",
  });
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
const explain = (error: unknown): string =>
  error instanceof LoadError ? error.message : (missingSchema(error) ?? errorText(error));

process.exitCode = await main();
