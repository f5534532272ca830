// A writer at work: a few trades a second in the busiest market, each with its block and the head.
import { connect } from "../../db/connect.ts";
import { BUSIEST } from "../data/registry.ts";

const TRADES_A_SECOND = 5;

export interface Writer {
  /** Ends the writing, takes its blocks back and vacuums behind them: how many trades it made. */
  stop(): Promise<number>;
}

/** Writes as any indexer would, by plain SQL as dex_writer. */
export async function startWriter(url: string): Promise<Writer> {
  const client = await connect(url, { role: "dex_writer", applicationName: "bench writer" });
  const { rows } = await client.query<{ block: number; time: string }>(
    "select block, time::text from dex_head",
  );
  const [head] = rows;
  if (head === undefined) throw new Error("the database has no head");
  let made = 0;
  let failure: unknown;
  let working: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    await client.query("begin");
    await client.query(
      `insert into dex_trade (
        offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx
      )
      select
        2000000000,
        trade.pair,
        trade.maker,
        trade.taker,
        trade.lot_gem,
        trade.lot_amt,
        trade.bid_gem,
        trade.bid_amt,
        head.block + 1,
        head.time + interval '5 seconds',
        '0x' || encode(sha256(int8send(head.block + 3000000000000)), 'hex'),
        0
      from dex_head as head
      cross join lateral (
        select *
        from dex_trade
        where market = $1
        order by market desc, id desc
        limit 1
      ) as trade`,
      [BUSIEST.market],
    );
    await client.query("update dex_head set block = block + 1, time = time + interval '5 seconds'");
    await client.query("commit");
    made += 1;
  }

  const timer = setInterval(() => {
    working = working.then(write).catch((error: unknown) => {
      failure ??= error;
    });
  }, 1000 / TRADES_A_SECOND);

  return {
    async stop() {
      clearInterval(timer);
      await working;
      try {
        if (failure !== undefined) throw failure as Error;
        await client.query("select dex_private.take_back($1, $2)", [head.block, head.time]);
      } finally {
        await client.end();
      }
      await vacuum(url);
      return made;
    },
  };
}

// Blocks that came sixty times as fast as a chain's have left more behind than autovacuum takes away
// within its minute, and what is measured next would read through it.
async function vacuum(url: string): Promise<void> {
  const owner = await connect(url, { role: "dex_owner" });
  try {
    await owner.query("vacuum (full, analyze) dex_private.head_figure");
  } finally {
    await owner.end();
  }
}
