// Reads what an indexer wrote, without what may differ between two that read the same chain: ids of trades.
import type { Pool } from "../../db/connect.ts";

type Row = Record<string, unknown>;

export interface IndexedRows {
  offers: Row[];
  /** In the order of their ids. */
  trades: Row[];
  cancellations: Row[];
  /** Those with rows: of the others some are deleted. */
  blocks: Row[];
  /** Those that rows or pairs refer to. */
  tokens: Row[];
  pairs: Row[];
}

/** The rows, and the last block, all of one moment; -1 where there is no block. */
export async function indexedRows(database: Pool): Promise<IndexedRows & { head: number }> {
  const client = await database.connect();
  const rows = async (sql: string): Promise<Row[]> => (await client.query<Row>(sql)).rows;
  try {
    await client.query("begin isolation level repeatable read read only");
    const [last] = await rows("select coalesce(max(number), -1) as head from dex_block");
    return {
      head: Number(last!["head"]),
      offers: await rows("select * from dex_offer order by id"),
      trades: await rows("select * from dex_trade order by id"),
      cancellations: await rows(
        "select block, offer_id from dex_private.cancellation order by offer_id",
      ),
      blocks: await rows(
        // Equal digests: the same facts, whether they were read one by one or in a range.
        `select number, hash, time, encode(digest, 'hex') as digest
        from dex_block
        where number in (
          select block from dex_offer
          union all select block from dex_trade
          union all select block from dex_private.cancellation
          union all select block from dex_pool_state
        )
        order by number`,
      ),
      tokens: await rows(
        `select address, symbol, name, decimals
        from dex_token
        where address in (
          select lot_gem from dex_offer
          union all select bid_gem from dex_offer
          union all select lot_gem from dex_trade
          union all select bid_gem from dex_trade
          union all select base_gem from dex_pair
          union all select quote_gem from dex_pair
        )
        order by address`,
      ),
      pairs: await rows(
        "select base_gem, quote_gem, base, quote, active from dex_pair order by base_gem, quote_gem",
      ),
    };
  } finally {
    await client.query("rollback");
    client.release();
  }
}

/** Without what two indexers of one chain may number otherwise. */
export function comparable({ offers, trades, ...others }: IndexedRows): IndexedRows {
  return {
    ...others,
    offers: offers.map((row) => without(row, ["market_id"])),
    trades: trades.map((row) => without(row, ["id", "market_id"])),
  };
}

/** What the rows were when the head was this block, but for what the registration of a market sets. */
export function upTo(head: number, { offers, trades, cancellations, blocks }: IndexedRows) {
  const isUpTo = ({ block, number }: Row): boolean => Number(block ?? number) <= head;
  const labels = ["market", "market_id", "act", "price"];
  return {
    // Trades and cancellations tell these, which change after the offer is made.
    offers: offers
      .filter(isUpTo)
      .map((row) => without(row, [...labels, "killed", "filled", "ended"])),
    trades: trades.filter(isUpTo).map((row) => without(row, [...labels, "id"])),
    cancellations: cancellations.filter(isUpTo),
    blocks: blocks.filter(isUpTo),
  };
}

const without = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));
