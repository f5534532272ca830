// Writes a few blocks a second, each with one trade in the busiest market.
import { createHash } from "node:crypto";
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
  let failure: unknown;
  let working: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    const next = made + 1;
    const tx = `0x${createHash("sha256")
      .update(`writer ${block + next}`)
      .digest("hex")}`;
    await client.query("select ingest.write_block($1, $2, trades => $3)", [
      block + next,
      new Date(time.getTime() + next * BLOCK_MS),
      JSON.stringify([{ ...trade, tx }]),
    ]);
    made = next;
  }

  const timer = setInterval(() => {
    working = working.then(write).catch((error: unknown) => {
      failure ??= error;
    });
  }, 1000 / BLOCKS_A_SECOND);

  return {
    /** Stops writing, takes the blocks back and vacuums. Resolves to the number of trades written. */
    async stop(): Promise<number> {
      clearInterval(timer);
      await working;
      try {
        if (failure !== undefined) throw failure as Error;
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
  if (start === undefined)
    throw new Error("the database has no head or no trade that can serve as a template");
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
