// `npm run export`: writes a file of each kind for each day that is final, or checks such a folder.
import { abortOnSignals, readCommandLine, readInteger, refuse } from "../command-line.ts";
import { errorText } from "../error-text.ts";
import { checkFolder } from "../export/check-files.ts";
import { exportDays } from "../export/export-days.ts";
import type { ListedDay } from "../export/manifest.ts";
import { ownerUrl } from "../locate.ts";

const USAGE = `Usage: npm run export -- --dir DIR [--finality N]
       npm run export -- --check DIR

Writes blocks, trades, offers, their ends, states of pools and candles of a minute into DIR, as CSV and as Parquet, for
each UTC day that is final and not there yet, and lists them in DIR/manifest.json. An interrupted export goes on
where it was. docs/files.md describes the files.

  --dir DIR     the folder; it is made if it is missing
  --finality N  how many blocks the chain may take back, from 0 to 2147483647; default: FINALITY, else what an
                indexer or a mirror has recorded, else 64
  --check DIR   compare the files of DIR with its manifest, and compute the digest of each block from them; exits 1 where
                something differs, and writes nothing
  --help        show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs; it is only read.`;

const { values } = readCommandLine({
  usage: USAGE,
  options: {
    dir: { type: "string" },
    finality: { type: "string" },
    check: { type: "string" },
  },
});
if ((values.dir === undefined) === (values.check === undefined)) {
  refuse("Either --dir or --check is needed");
}
const given = values.finality ?? process.env["FINALITY"] ?? "";
const finality =
  given === "" ? undefined : readInteger("finality (or FINALITY)", given, 0, 2_147_483_647);
const signal = abortOnSignals();

try {
  process.exitCode =
    values.check === undefined ? await run(values.dir ?? "") : await check(values.check);
} catch (error) {
  const reason = signal.aborted ? "it was interrupted; the next one goes on" : errorText(error);
  // A write that fails, as on a full disk, does not name its file.
  const isWrite = error instanceof Error && "syscall" in error && error.syscall === "write";
  console.error(`export: ${isWrite ? `${values.dir}: ` : ""}${reason}`);
  process.exitCode = 1;
}

async function run(dir: string): Promise<number> {
  let count = 0;
  const manifest = await exportDays({
    url: await ownerUrl(process.env),
    dir,
    finality,
    prepare: process.env["PREPARE"] !== "off",
    signal,
    onDay: (day) => {
      count += 1;
      console.log(lineOf(day));
    },
  });
  const last = manifest?.days.at(-1);
  if (last === undefined) console.log("No day is final yet.");
  else
    console.log(
      `${count} ${count === 1 ? "day" : "days"} exported; ${last.day} is the last final one.`,
    );
  return 0;
}

function lineOf({ day, files, digest }: ListedDay): string {
  const rows = new Map(files.map((file) => [file.kind, file.rows]));
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const counted = ["blocks", "trades", "offers", "ends", "candles"].map(
    (kind) => `${rows.get(kind) ?? 0} ${kind}`,
  );
  return `${day}: ${counted.join(", ")}; ${bytes} bytes; digest ${digest}`;
}

async function check(dir: string): Promise<number> {
  const { files, bytes, problems } = await checkFolder(dir);
  for (const problem of problems) console.log(problem);
  console.log(
    problems.length === 0
      ? `${files} files of ${bytes} bytes are what the manifest says, and so are the digests of their blocks.`
      : `${problems.length} ${problems.length === 1 ? "problem" : "problems"}.`,
  );
  return problems.length === 0 ? 0 : 1;
}
