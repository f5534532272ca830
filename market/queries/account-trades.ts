// The trades of an account, as the maker or as the taker.
import type { Database } from "../../db/connect.ts";
import { dealColumns, joinPair, type DealtTrade } from "./deals.ts";
import { FROM_AS_OF, readSnapshot, SELECT_MOMENT, type Snapshot } from "./snapshot.ts";

interface Asked {
  /** The address, in each letter case in which it may be recorded. */
  spellings: readonly string[];
  /** Only trades with a smaller id. */
  before: number;
  limit: number;
}

// Compared with any (...) and ordered by the column too, so that only the index on it and the id serves.
const newestAs = (column: "maker" | "taker"): string => `
        select newest.id
        from unnest($1::text[]) as spelling (address)
        cross join lateral (
          select trade.id
          from dex_trade as trade
          where trade.${column} = any (array[spelling.address])
            and trade.id < $2
            and trade.id < as_of.beyond
          order by
            trade.${column} desc,
            trade.id desc
          limit $3
        ) as newest`;

/** The newest first. Each spelling and side is read for a page at most. */
export const findAccountTrades = (
  db: Database,
  { spellings, before, limit }: Asked,
): Promise<Snapshot<DealtTrade>> =>
  readSnapshot(db, {
    name: "page_account_trades",
    text: `
      ${SELECT_MOMENT},
        trade.id::text as key,
        ${dealColumns("trade")},
        trade.maker,
        trade.taker
      ${FROM_AS_OF}
      left join lateral (${newestAs("maker")}
        union
        ${newestAs("taker")}
        order by id desc
        limit $3
      ) as found on true
      left join dex_trade as trade on trade.id = found.id
      ${joinPair("trade")}
      order by found.id desc`,
    values: [spellings, before, limit],
  });
