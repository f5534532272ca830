// Measures a backfill by the indexer, and by its bare bound, in turns on the same recorded node.
import { runIndexer } from "../../chain/indexer.ts";
import { connect } from "../../db/connect.ts";
import { copyBare } from "./bare-index.ts";
import { copyDatabase, makeDatabase, type BenchServer } from "../data/server.ts";
import { log } from "../harness.ts";
import { startNodeProcess, type NodeProcess } from "./node-process.ts";

export interface Backfill {
  events: number;
  pools: number;
  blocks: number;
  logs: number;
  rounds: number;
  /** Events a second of each round. */
  rates: Record<"indexer" | "bare", number[]>;
}

/** MatchingMarket had fewer on most days. */
const EVENTS_A_BLOCK = 5;
/** Empty blocks behind the last generated one, so that it is final for the node. */
const FINAL_BLOCKS = 100;
const TEMPLATE = "bench_chain";

export async function measureBackfill(
  server: BenchServer,
  { events, pools, rounds }: Pick<Backfill, "events" | "pools" | "rounds">,
): Promise<Backfill> {
  const blocks = Math.ceil(events / EVENTS_A_BLOCK);
  const node = await startNodeProcess({ events, blocks, pools, head: blocks + FINAL_BLOCKS });
  try {
    await makeDatabase(server, TEMPLATE);
    const rates: Backfill["rates"] = { indexer: [], bare: [] };
    const turns = { indexer: index, bare: copyBare };
    // The first round is not counted: the programs become faster while they run.
    for (let round = 0; round <= rounds; round += 1) {
      const order = ["indexer", "bare"] as const;
      for (const turn of round % 2 === 0 ? order : order.toReversed()) {
        const url = await copyDatabase(server, TEMPLATE, "bench_chain_turn");
        const rate = events / (await turns[turn](url, node));
        await expectRows(url, node, turn === "bare" ? "bare" : "dex");
        if (round > 0) rates[turn].push(rate);
        log(`  round ${round}: ${turn} ${rate.toFixed(0)} events/s`);
      }
    }
    return { events, pools, blocks, logs: node.counts.logs, rounds, rates };
  } finally {
    await node.stop();
  }
}

/** Seconds from the start of the indexer until the last generated block is committed. */
async function index(databaseUrl: string, node: NodeProcess): Promise<number> {
  const stopping = new AbortController();
  const began = performance.now();
  let seconds = NaN;
  await runIndexer({
    databaseUrl,
    rpcUrls: [node.url],
    exchange: node.exchange,
    decoder: node.decoder,
    taker: "event",
    // Like the bound, it asks as fast as it can.
    requestsPerSecond: 100_000,
    fromBlock: node.firstBlock,
    signal: stopping.signal,
    onEvent: (event) => {
      if (event.event === "failure") throw new Error(event.reason);
      if (event.event !== "written" || event.indexed < node.lastBlock) return;
      seconds = (performance.now() - began) / 1000;
      stopping.abort();
    },
  });
  return seconds;
}

/** Throws where the tables do not have what the node has counted. */
async function expectRows(url: string, { counts }: NodeProcess, tables: "bare" | "dex") {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ makes: number; takes: number }>(
      `select
        (select count(*) from ${tables}_offer)::integer as makes,
        (select count(*) from ${tables}_trade)::integer as takes`,
    );
    const { makes = NaN, takes = NaN } = rows[0] ?? {};
    if (makes === counts.makes && takes === counts.takes) return;
    throw new Error(`${makes} offers and ${takes} trades, of ${counts.makes} and ${counts.takes}`);
  } finally {
    await client.end();
  }
}
