// Measures a backfill by the indexer, and by its bare bound, in turns on the same recorded node.
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { runIndexer } from "../../chain/indexer.ts";
import { connect } from "../../db/connect.ts";
import { copyBare, makeBareTables } from "./bare-index.ts";
import { copyDatabase, makeDatabase, type BenchServer } from "../data/server.ts";
import { log } from "../harness.ts";
import { startNodeProcess, type NodeProcess } from "./node-process.ts";

export interface Backfill {
  events: number;
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
  events: number,
  rounds: number,
): Promise<Backfill> {
  const blocks = Math.ceil(events / EVENTS_A_BLOCK);
  const node = await startNodeProcess({ events, blocks, head: blocks + FINAL_BLOCKS });
  try {
    await makeDatabase(server, TEMPLATE);
    const rates: Backfill["rates"] = { indexer: [], bare: [] };
    const turns = {
      async indexer(url: string) {
        const seconds = await index(url, node);
        await expectRows(url, node, { offer: "dex_offer", trade: "dex_trade" });
        return seconds;
      },
      async bare(url: string) {
        await makeBareTables(url);
        const seconds = await copyBare(url, node);
        await expectRows(url, node, { offer: "bare_offer", trade: "bare_trade" });
        return seconds;
      },
    };
    // The first round is not counted: the programs become faster while they run.
    for (let round = 0; round <= rounds; round += 1) {
      const order = ["indexer", "bare"] as const;
      for (const turn of round % 2 === 0 ? order : order.toReversed()) {
        const url = await copyDatabase(server, TEMPLATE, "bench_chain_turn");
        const rate = events / (await turns[turn](url));
        if (round > 0) rates[turn].push(rate);
        log(`  round ${round}: ${turn} ${rate.toFixed(0)} events/s`);
      }
    }
    return { events, blocks, logs: node.counts.logs, rounds, rates };
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
    decoder: matchingMarket,
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

/** Throws where a table does not have what the node has counted. */
async function expectRows(
  url: string,
  { counts }: NodeProcess,
  tables: { offer: string; trade: string },
): Promise<void> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ makes: number; takes: number }>(
      `select
        (select count(*) from ${tables.offer})::integer as makes,
        (select count(*) from ${tables.trade})::integer as takes`,
    );
    const [found] = rows;
    if (found?.makes === counts.makes && found.takes === counts.takes) return;
    throw new Error(
      `${found?.makes ?? 0} offers and ${found?.takes ?? 0} trades, of ${counts.makes} and ${counts.takes}`,
    );
  } finally {
    await client.end();
  }
}
