// `npm run load -- DIR`: loads a folder of CSV files into the database.
import { join } from "node:path";
import { abortOnSignals, readCommandLine, readInteger, refuse } from "../command-line.ts";
import { connect } from "../connect.ts";
import { dataDirOf } from "../embedded/connection-file.ts";
import { errorText, missingSchema } from "../error-text.ts";
import { isUnreachable } from "../failure.ts";
import { readFolder } from "../load/folder.ts";
import { CommitUnanswered, LoadError } from "../load/load-error.ts";
import { loadProgressLine } from "../load/load-progress.ts";
import { TABLES } from "../load/checked-rows.ts";
import { loadRows, type LoadSummary } from "../load/write-rows.ts";
import { loadFiles } from "../mirror/load-files.ts";
import { OriginUnavailable } from "../mirror/mirror-error.ts";
import { grouped } from "../progress-line.ts";
import { ownerUrl } from "../locate.ts";

const USAGE = `Usage: npm run load -- DIR
       npm run load -- URL [options]

Loads tokens.csv, pairs.csv, offers.csv and trades.csv of the folder DIR, as many as there are:
all of it or, where anything is wrong, nothing. db/load/README.md describes the files.

Of a URL, such as https://other.example/v2/files/, it loads the days that are missing here, each whole and checked by its
digest, or not at all. docs/mirror.md describes that.

  --dir DIR          where files are until their day is written; default: mirror in DATA_DIR
  --max-day-bytes N  how many bytes the files of a day may have, compressed or not, from 1 to 9007199254740991;
                     default 17179869184
  --help             show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { positionals, values } = readCommandLine({
  usage: USAGE,
  options: { dir: { type: "string" }, "max-day-bytes": { type: "string" } },
  max: 1,
});
const [source = refuse("DIR is missing")] = positionals;
const isUrl = /^https?:/i.test(source);
if (!isUrl && Object.keys(values).length > 0) refuse("--dir and --max-day-bytes are for a URL");
const maxDayBytes = readInteger(
  "max-day-bytes",
  values["max-day-bytes"] ?? "17179869184",
  1,
  Number.MAX_SAFE_INTEGER,
);

let summary: LoadSummary | undefined;
try {
  if (isUrl) await loadFrom(source);
  else summary = await load(source);
} catch (error) {
  console.error(
    isUrl
      ? `load: ${explain(error).replace(/\.$/, "")}${goesOn(error) ? ". Days that were loaded stay; the same command goes on after them" : ""}`
      : failureText(error),
  );
  process.exitCode = 1;
}
// Not where a failure would count as one of the load, which is committed.
if (summary !== undefined) console.log(summaryText(summary));

async function loadFrom(url: string): Promise<void> {
  await using client = await connect(await ownerUrl(process.env), {
    role: "dex_writer",
    applicationName: "dex-market-data load",
  });
  const { days, last } = await loadFiles({
    ...{ client, url, maxDayBytes, signal: abortOnSignals() },
    dir: values.dir ?? join(dataDirOf(process.env["DATA_DIR"]), "mirror"),
    onDay: ({ day, files, digest }) => {
      const { blocks, trades, offers } = files;
      console.log(
        `${day}: ${blocks.rows} blocks, ${trades.rows} trades, ${offers.rows} offers; digest ${digest}`,
      );
    },
  });
  console.log(
    last === undefined
      ? "The origin has no day with rows yet."
      : `${days} ${days === 1 ? "day" : "days"} loaded; ${last.day} is the last one of the origin.`,
  );
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
    await client.end().catch(() => undefined);
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

/** Not where it would be refused again. */
function goesOn(error: unknown): boolean {
  const { name, syscall } = error as NodeJS.ErrnoException;
  const isStopped = name === "AbortError" || syscall === "write";
  return isStopped || error instanceof OriginUnavailable || isUnreachable(error);
}

function failureText(error: unknown): string {
  if (!(error instanceof CommitUnanswered)) return `Nothing was loaded: ${explain(error)}`;
  return `The connection was lost at the commit, and whether all or nothing was loaded is unknown: ${error.message}. The same command again loads what is missing`;
}

/** One line; for what is likely, with what to do. */
function explain(error: unknown): string {
  return error instanceof LoadError ? error.message : (missingSchema(error) ?? errorText(error));
}
