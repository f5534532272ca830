// `npm run bench -- chain`: measures the indexer on a recorded chain: the backfill against its bare bound, and the time
// from a new block to the REST answer.
import { measureBackfill } from "./chain/index-speed.ts";
import { measureHead } from "./chain/head-delay.ts";
import { chainPage } from "./chain/chain-report.ts";
import { startNew } from "./data/server.ts";
import { log, publish, runOf, readOptions } from "./harness.ts";

const { out, ...numbers } = readOptions(
  "bench -- chain",
  "bench/results/chain",
  "Measures the indexer on a generated chain that a node serves from memory.",
  {
    events: ["events of the backfill", 100_000, 100],
    pools: ["pools that these are swaps of; of a MatchingMarket where it is 0", 0, 0],
    rounds: ["how often it is measured", 5, 1],
    "head-blocks": ["blocks at the head, one a second; 0 leaves them out", 90, 0],
  },
);
const headBlocks = numbers["head-blocks"];

const server = await startNew();
try {
  const run = await runOf("chain", server.url);
  log("Backfill");
  const backfill = await measureBackfill(server, numbers);
  if (headBlocks > 0) log("At the head");
  const head = headBlocks > 0 ? await measureHead(headBlocks, numbers.pools) : undefined;
  await publish(out, chainPage(run, backfill, head));
} finally {
  await server.stop();
}
