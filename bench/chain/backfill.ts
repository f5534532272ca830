// Measures a backfill by the indexer, and by its bare bound, in turns on the same recorded node.
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { runIndexer } from "../../chain/indexer.ts";
import { connect } from "../../db/connect.ts";
import { copyBare, makeBareTables } from "./bare.ts";
import type { Databases } from "./databases.ts";
import { FINAL_BLOCKS, startNodeProcess, type NodeProcess } from "./node-process.ts";
import type { Backfill, ChainSize } from "./results.ts";

export async function measureBackfill(
  databases: Databases,
  { events, blocks, rounds }: ChainSize,
  log: (line: string) => void,
): Promise<Backfill> {
  const node = await startNodeProcess({ events, blocks, head: blocks + FINAL_BLOCKS });
  try {
    const rates: Backfill["rates"] = { indexer: [], bare: [] };
    const turns = {
      indexer: () =>
        databases.with(async (url) => {
          const seconds = await index(url, node);
          await expectRows(url, node, { offer: "dex_offer", trade: "dex_trade" });
          return seconds;
        }),
      bare: () =>
        databases.with(async (url) => {
          await makeBareTables(url);
          const seconds = await copyBare(url, node);
          await expectRows(url, node, { offer: "bare_offer", trade: "bare_trade" });
          return seconds;
        }),
    };
    // The first round is not counted: the programs become faster while they run.
    for (let round = 0; round <= rounds; round += 1) {
      const order =
        round % 2 === 0 ? (["indexer", "bare"] as const) : (["bare", "indexer"] as const);
      for (const turn of order) {
        const rate = events / (await turns[turn]());
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
export async function expectRows(
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
