// The trades of one market with the taker's side and both amounts, and those of a range of blocks, as the listing formats have
// them.
import { z } from "zod";
import type { Database } from "../../db/connect.ts";
import { UnknownPair } from "../absent.ts";
import type { KeyedRow } from "../records.ts";
import {
  figureOrNull,
  FROM_AS_OF,
  readRowsOfPair,
  readSnapshot,
  SELECT_MOMENT,
  type PairName,
  type Snapshot,
} from "./snapshot.ts";

/** The taker's: who buys takes an offer that sells. */
export const SIDES = ["buy", "sell"] as const;
export const side = z.enum(SIDES);
export type Side = z.infer<typeof side>;

/** More than any of them has on a day; one answer has no more. */
export const MAX_TRADES = 20_000;

/** No trades are one row whose id is null. */
interface ListedTradeRow extends KeyedRow {
  id: string | null;
  price: string;
  base: string;
  quote: string;
  /** Milliseconds since the Unix epoch, truncated. */
  ms: string;
  side: Side;
}

interface ListedTrade extends Omit<ListedTradeRow, "key" | "id" | "ms"> {
  id: number;
  ms: number;
}

interface TradesAsked {
  /** The last 24 hours up to the head, or whole Unix seconds, both included. */
  window: "day" | { from: number | undefined; to: number | undefined };
  /** Undefined for both. */
  side?: Side | undefined;
  limit: number;
}

const SECONDS = {
  from: "case when $5::bigint is null then '-infinity' else to_timestamp($5::bigint) end",
  // A block may be within the last second.
  before: "case when $6::bigint is null then 'infinity' else to_timestamp($6::bigint + 1) end",
};
const DAY = {
  from: "as_of.time - interval '24 hours' + interval '1 microsecond'",
  before: "as_of.time + interval '1 microsecond'",
};

/** The newest of them that have a price, newest first. */
export function findListedTrades(
  db: Database,
  pair: PairName,
  { window, side: asked, limit }: TradesAsked,
): Promise<Snapshot<ListedTradeRow>> {
  const { from, before } = window === "day" ? DAY : SECONDS;
  // The maker's side is the other one.
  const act = asked === undefined ? null : asked === "buy" ? "sell" : "buy";
  return readRowsOfPair(db, pair, {
    name: window === "day" ? "rest_trades_of_the_day" : "rest_trades_between",
    columns: `
        trade.id,
        ${figureOrNull("trade.price", "price")},
        ${figureOrNull("dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt)", "base")},
        ${figureOrNull("dex_private.quote_of(trade.act, trade.lot_amt, trade.bid_amt)", "quote")},
        floor(extract(epoch from trade.time) * 1000)::text as ms,
        case trade.act when 'sell' then 'buy' else 'sell' end as side`,
    joined: `(
        -- As in rest_trades: only the index on (market_id, id) serves.
        select *
        from dex_trade
        where dex_trade.market_id = any (array[pair.id])
          and dex_trade.id >= dex_private.first_trade_from(${from})
          and dex_trade.id < dex_private.first_trade_from(${before})
          and dex_trade.id < as_of.beyond
          and dex_trade.price is not null
          and dex_trade.act = coalesce($3, dex_trade.act)
        order by
          dex_trade.market_id desc,
          dex_trade.id desc
        limit $4
      ) as trade on true
      order by trade.id desc`,
    values: [act, limit, ...(window === "day" ? [] : [window.from ?? null, window.to ?? null])],
  });
}

/** The trades of the one pair, which may be none. Throws UnknownPair where there is no pair. */
export function listedTrades(rows: ListedTradeRow[]): ListedTrade[] {
  if (rows.length === 0) throw new UnknownPair();
  return rows
    .filter((row) => row.id !== null)
    .map(({ id, ms, price, base, quote, side }) => ({
      ...{ id: Number(id), ms: Number(ms) },
      ...{ price, base, quote, side },
    }));
}

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
