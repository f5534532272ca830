// `npm run bench:chain`: measures the indexer on a recorded chain: the backfill against its bare bound and against
// Ponder, and the time from a new block to the REST answer. Results go to results/chain/, or to --out.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine, refuse } from "../db/command-line.ts";
import { measureBackfill } from "./chain/backfill.ts";
import { isPonderInstalled, measureBesidePonder } from "./chain/beside-ponder.ts";
import { Databases } from "./chain/databases.ts";
import { measureHead } from "./chain/head.ts";
import { chainReport, goalsOf } from "./chain/report.ts";
import type { ChainResults } from "./chain/results.ts";
import { describeMachine } from "./report/machine.ts";
import { startNew } from "./write/server.ts";

const { values } = readCommandLine({
  usage: `Usage: npm run bench:chain -- [options]

Measures the indexer on a generated chain that a node serves from memory.

  --events N         events of the backfill, from 100; default 100000
  --rounds N         how often it is measured, default 5
  --ponder-events N  events of the comparison with Ponder, 0 leaves it out; default 10000
  --ponder-rounds N  how often that is measured, default 3
  --head-blocks N    blocks at the head, one a second, 0 leaves them out; default 90
  --out DIR          where the results go, default bench/results/chain
  --help             show this

Ponder is a package of its own: \`npm ci --prefix bench/chain/ponder\` installs it.`,
  options: {
    events: { type: "string", default: "100000" },
    rounds: { type: "string", default: "5" },
    "ponder-events": { type: "string", default: "10000" },
    "ponder-rounds": { type: "string", default: "3" },
    "head-blocks": { type: "string", default: "90" },
    out: { type: "string", default: fileURLToPath(new URL("results/chain", import.meta.url)) },
  },
});
const [events, rounds, ponderEvents, ponderRounds, headBlocks] = [
  ...[values.events, values.rounds, values["ponder-events"], values["ponder-rounds"]],
  values["head-blocks"],
].map(Number) as [number, number, number, number, number];
if (!(events >= 100 && (ponderEvents === 0 || ponderEvents >= 100))) {
  refuse("--events is a number from 100, --ponder-events 0 or a number from 100");
}
if (!(rounds >= 1 && ponderRounds >= 1 && headBlocks >= 0)) {
  refuse("--rounds and --ponder-rounds are numbers from 1, --head-blocks one from 0");
}
if (ponderEvents > 0 && !(await isPonderInstalled())) {
  refuse(
    "Ponder is not installed: run `npm ci --prefix bench/chain/ponder`, or leave it out by --ponder-events 0",
  );
}

/** Of the generated chain; MatchingMarket had fewer on most days. */
const EVENTS_A_BLOCK = 5;

const log = (line: string): void => console.log(line);
const sizeOf = (count: number, times: number) => ({
  ...{ events: count, blocks: Math.ceil(count / EVENTS_A_BLOCK), rounds: times },
});
const server = await startNew(undefined);
let results: ChainResults;
try {
  const machine = await describeMachine(server.url);
  const databases = await Databases.open(server);
  log("Backfill");
  const backfill = await measureBackfill(databases, sizeOf(events, rounds), log);
  if (ponderEvents > 0) log("Beside Ponder");
  const ponder =
    ponderEvents > 0
      ? await measureBesidePonder(databases, sizeOf(ponderEvents, ponderRounds), log)
      : undefined;
  if (headBlocks > 0) log("At the head");
  const head = headBlocks > 0 ? await measureHead(headBlocks, log) : undefined;
  const given = process.argv.slice(2);
  const out = given.indexOf("--out");
  const shown = out < 0 ? given : given.toSpliced(out, 2);
  results = {
    at: new Date().toISOString(),
    command: ["npm run bench:chain", ...(shown.length > 0 ? ["--", ...shown] : [])].join(" "),
    ...{ machine, backfill, ponder, head },
  };
} finally {
  await server.stop();
}
await mkdir(values.out, { recursive: true });
await writeFile(join(values.out, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
await writeFile(join(values.out, "README.md"), chainReport(results));
for (const { name, value, isReached } of goalsOf(results)) {
  log(`${name}: ${value}${isReached ? "" : "  MISSED"}`);
}
log(`See ${values.out}`);
