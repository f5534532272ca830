// Writes a few blocks a second, each with one trade in the busiest market.
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Client } from "../../db/connect.ts";
import { BUSIEST } from "../data/constant-exchange.ts";

const BLOCKS_A_SECOND = 5;
/** Time between two blocks, the same as in the history. */
const BLOCK_MS = 5000;

/** Writes like an indexer, block by block as dex_writer. */
export async function startWriter(url: string) {
  const client = await connect(url, { role: "dex_writer", applicationName: "bench writer" });
  const { block, time, trade } = await findStart(client);
  let made = 0;
  let isStopping = false;
  async function work(): Promise<void> {
    for (; !isStopping; made += 1) {
      const number = block + made + 1;
      const tx = `0x${hash("sha256", `writer ${number}`)}`;
      await client.query("select ingest.write_block($1, $2, trades => $3)", [
        ...[number, new Date(time.getTime() + (number - block) * BLOCK_MS)],
        JSON.stringify([{ ...trade, tx }]),
      ]);
      await sleep(1000 / BLOCKS_A_SECOND);
    }
  }
  const working = work();
  // `stop` reports it.
  working.catch(() => undefined);

  return {
    /** Stops writing, takes the blocks back and vacuums. Resolves to the number of trades written. */
    async stop(): Promise<number> {
      isStopping = true;
      try {
        await working;
        await client.query("select ingest.take_back($1)", [block]);
      } finally {
        await client.end();
      }
      await vacuum(url);
      return made;
    },
  };
}

/** The head, and a trade that serves as a template. */
async function findStart(client: Client) {
  const { rows } = await client.query<{ block: number; time: Date; trade: object }>(
    `select
      head.block,
      head.time,
      json_build_object(
        'offer_id', 2000000000,
        'pair', trade.pair,
        'maker', trade.maker,
        'taker', trade.taker,
        'lot_gem', trade.lot_gem,
        'lot_amt', trade.lot_amt::text,
        'bid_gem', trade.bid_gem,
        'bid_amt', trade.bid_amt::text
      ) as trade
    from dex_head as head
    cross join lateral (
      select *
      from dex_trade
      where market = $1
      order by id desc
      limit 1
    ) as trade`,
    [BUSIEST.market],
  );
  const [start] = rows;
  if (start === undefined) throw new Error("the database has no head or no trade to copy");
  return start;
}

// The writer is much faster than a chain and leaves more dead rows than autovacuum removes in time; the next
// measurement would have to skip them.
async function vacuum(url: string): Promise<void> {
  const owner = await connect(url, { role: "dex_owner" });
  try {
    await owner.query("vacuum (full, analyze) dex_private.market_figure, dex_private.write_state");
  } finally {
    await owner.end();
  }
}
