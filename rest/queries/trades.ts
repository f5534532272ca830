// The trades of one market up to the head.
import type { Database } from "../../db/connect.ts";
import type { Page, PairName } from "../params.ts";
import { isoTime, MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

/** A trade; where the market has none on this page, one row whose id is null. */
export interface TradeRow {
  key: string;
  /** At most 2^53 − 1. */
  id: string | null;
  /** Quote per base; "0" where the base amount is 0. */
  price: string;
  /** In base units. */
  volume: string;
  /** Block time, ISO 8601 UTC with milliseconds, truncated. */
  time: string;
}

/** The newest `limit` trades whose id is at most `fromId`, newest first; symbols in any case. */
export async function findTrades(
  db: Database,
  { base, quote }: PairName,
  { limit, fromId }: Page,
): Promise<Snapshot<TradeRow>> {
  return readSnapshot(db, {
    name: "rest_trades",
    text: `
      select
        ${MOMENT},
        pair.base || '/' || pair.quote as key,
        trade.id,
        trim_scale(coalesce(trade.price, 0))::text as price,
        trim_scale(trade.base_amt)::text as volume,
        ${isoTime("trade.time")} as time
      from dex_private.as_of
      left join dex_pair as pair
        on pair.base = upper($1)
        and pair.quote = upper($2)
      left join lateral (
        -- Compared with any (...) and ordered by market_id too, so that only the index on
        -- (market_id, id) serves: with a plain = the planner may walk back through the trades of
        -- all markets, the whole history for one that traded long ago or never.
        select *
        from dex_private.market_trade
        where market_trade.market_id = any (array[pair.id])
          and market_trade.id <= $3
        order by
          market_trade.market_id desc,
          market_trade.id desc
        limit $4
      ) as trade on true
      order by trade.id desc
    `,
    values: [base, quote, fromId, limit],
  });
}
