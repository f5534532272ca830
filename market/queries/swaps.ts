// The trades of a range of blocks, of all markets.
import type { Database } from "../../db/connect.ts";
import type { KeyedRow } from "../records.ts";
import {
  FROM_AS_OF,
  figureOrNull,
  readSnapshot,
  SELECT_MOMENT,
  type Snapshot,
} from "./snapshot.ts";

/** The key is the trade's id. */
export interface SwapRow extends KeyedRow {
  block: number;
  seconds: string;
  tx: string;
  /** The place of the transaction among those of the block that have trades, from 0. */
  txPlace: string;
  /** The log index within the block. */
  idx: number;
  taker: string;
  baseGem: string;
  quoteGem: string;
  /** Of the maker. */
  act: "buy" | "sell";
  base: string;
  quote: string;
  /** Quote per base, 50 fractional digits at most. */
  price: string;
}

/** Of registered markets, with amounts and a price above 0; oldest first. Both blocks are included. */
export const findSwaps = (
  db: Database,
  fromBlock: number,
  toBlock: number,
): Promise<Snapshot<SwapRow>> =>
  readSnapshot(db, {
    name: "rest_swaps",
    text: `
      ${SELECT_MOMENT},
        swap.id as key,
        swap.block,
        floor(extract(epoch from swap.time))::text as seconds,
        swap.tx,
        swap.place - 1 as "txPlace",
        swap.idx,
        swap.taker,
        swap.base_gem as "baseGem",
        swap.quote_gem as "quoteGem",
        swap.act,
        ${figureOrNull("swap.base_amt", "base")},
        ${figureOrNull("swap.quote_amt", "quote")},
        ${figureOrNull("swap.price50", "price")}
      ${FROM_AS_OF}
      left join lateral (
        select
          placed.*,
          pair.base_gem,
          pair.quote_gem,
          dex_private.base_of(placed.act, placed.lot_amt, placed.bid_amt) as base_amt,
          dex_private.quote_of(placed.act, placed.lot_amt, placed.bid_amt) as quote_amt
        from (
          select
            began.*,
            dense_rank() over (partition by began.block order by began.first_idx) as place
          from (
            select
              trade.*,
              dex_trade_price50(trade) as price50,
              min(trade.idx) over (partition by trade.block, trade.tx) as first_idx
            from dex_trade as trade
            where trade.id >= dex_private.first_trade_of($1)
              and trade.id < dex_private.first_trade_of($2 + 1)
              and trade.id < as_of.beyond
          ) as began
        ) as placed
        join dex_pair as pair on pair.id = placed.market_id
      ) as swap on swap.price50 > 0
      order by swap.id`,
    values: [fromBlock, toBlock],
  });
