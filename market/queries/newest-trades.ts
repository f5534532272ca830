// The newest trades of all markets, and of tokens that are no registered pair.
import type { Database } from "../../db/connect.ts";
import { dealColumns, joinPair, type DealtTrade } from "./deals.ts";
import { FROM_AS_OF, readSnapshot, SELECT_MOMENT, type Snapshot } from "./snapshot.ts";

/** The newest first. */
export const findNewestTrades = (db: Database, limit: number): Promise<Snapshot<DealtTrade>> =>
  readSnapshot(db, {
    name: "page_newest_trades",
    text: `
      ${SELECT_MOMENT},
        trade.id::text as key,
        ${dealColumns("trade")},
        trade.maker,
        trade.taker
      ${FROM_AS_OF}
      left join lateral (
        select *
        from dex_trade as newest
        where newest.id < as_of.beyond
        order by newest.id desc
        limit $1
      ) as trade on true
      ${joinPair("trade")}
      order by trade.id desc`,
    values: [limit],
  });
