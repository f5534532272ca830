// `npm run bench -- migration`: measures readers and a writer while a schema change runs.
import { makeData } from "./data/make.ts";
import { copyDatabase, openServer, withAdmin } from "./data/server.ts";
import { log, publish, runOf, readOptions } from "./harness.ts";
import { migrateUnderLoad } from "./migration/measure-migration.ts";
import { migrationPage } from "./migration/migration-report.ts";

const { trades, seconds, out } = readOptions(
  "bench -- migration",
  "bench/results/migration",
  "Measures readers and a writer while the worked example of db/examples/day changes a table beside a service.",
  {
    trades: ["how many trades, a multiple of 20", 1_000_000, 20_000],
    seconds: ["seconds of measurement before and after the change", 20, 1],
  },
);
/** A copy, so that other measurements can use the unchanged database. */
const COPY = "bench_migration";

const server = await openServer();
try {
  await makeData(server, trades);
  const url = await copyDatabase(server, `bench_${trades}`, COPY);
  const run = await runOf("migration", url);
  const course = await migrateUnderLoad(url, seconds);
  await publish(out, migrationPage(course, run, { trades, seconds }));
  log(`A service started afterwards answers ${course.served}`);
} finally {
  await withAdmin(server, (admin) => admin.query(`drop database if exists ${COPY} with (force)`));
  await server.stop();
}
