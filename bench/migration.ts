// `npm run bench:migration`: measures how a schema change of a large table affects readers and writers.
// `-- --trades 5000000 --seconds 30`; results go to results/migration/, or to --out.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine, refuse } from "../db/command-line.ts";
import { connect, urlForDatabase } from "../db/connect.ts";
import { isPossibleSize, makeData } from "./data/make.ts";
import { openServer } from "./data/server.ts";
import { migrateUnderLoad } from "./migration/measure.ts";
import { migrationReport } from "./migration/report.ts";
import { describeMachine } from "./report/machine.ts";

const DATABASE = "bench_migration";

const { values } = readCommandLine({
  usage: `Usage: npm run bench:migration -- [options]

Changes a large table while it is read and written to, and measures what readers and writers notice.

  --trades N   how many trades, a multiple of 1000 from 100000; default 1000000
  --seconds S  how long each step is measured, default 20
  --out DIR    where the results go, default bench/results/migration
  --help       show this`,
  options: {
    trades: { type: "string", default: "1000000" },
    seconds: { type: "string", default: "20" },
    out: {
      type: "string",
      default: fileURLToPath(new URL("results/migration", import.meta.url)),
    },
  },
});
const trades = Number(values.trades);
const seconds = Number(values.seconds);
if (!isPossibleSize(trades)) refuse("--trades is a multiple of 1000 from 100000");
if (!(seconds > 0)) refuse("--seconds is a number above 0");

const log = (line: string): void => console.log(line);
const server = await openServer(process.env, log);
try {
  const made = await makeData(server, trades, log);
  const url = await freshCopy(made);
  const machine = await describeMachine(url);
  log("A migration under load");
  const course = await migrateUnderLoad(url, { seconds, log });
  const command = `npm run bench:migration -- --trades ${trades} --seconds ${seconds}`;
  const at = new Date().toISOString();
  await mkdir(values.out, { recursive: true });
  await writeFile(
    join(values.out, "README.md"),
    migrationReport(course, { at, command, machine, seconds }),
  );
  log(`A service started afterwards answers ${course.served}`);
  log(`See ${values.out}`);
} finally {
  await dropCopy();
  await server.stop();
}

/** A copy, so that other measurements can use the unchanged database. */
async function freshCopy(made: string): Promise<string> {
  await dropCopy();
  const admin = await connect(server.url);
  try {
    const name = admin.escapeIdentifier(new URL(made).pathname.slice(1));
    await admin.query(`create database ${DATABASE} template ${name} strategy file_copy`);
  } finally {
    await admin.end();
  }
  return urlForDatabase(made, DATABASE);
}

async function dropCopy(): Promise<void> {
  const admin = await connect(server.url);
  try {
    await admin.query(`drop database if exists ${DATABASE} with (force)`);
  } finally {
    await admin.end();
  }
}
