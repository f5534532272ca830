// What the page of a market shows of its trades beside REST: the maker's side, both amounts, the accounts and the transaction.
import type { Database } from "../../db/connect.ts";
import type { KeyedRow } from "../records.ts";
import { figureOrNull, readRowsOfPair, type PairName } from "./snapshot.ts";
import { newestTradesOfPair } from "./trades.ts";

/** As GraphQL has them. */
export interface TradeDetails {
  id: string;
  act: "buy" | "sell";
  lotAmt: string;
  bidAmt: string;
  maker: string;
  taker: string;
  tx: string;
}

type DetailsRow = KeyedRow & Omit<TradeDetails, "id"> & { id: string | null };

/** Of the newest `limit` trades, newest first. */
export async function findTradeDetails(
  db: Database,
  pair: PairName,
  limit: number,
): Promise<TradeDetails[]> {
  const { rows } = await readRowsOfPair<DetailsRow>(db, pair, {
    name: "page_trades",
    columns: `
        trade.id,
        trade.act,
        ${figureOrNull("trade.lot_amt", "lotAmt")},
        ${figureOrNull("trade.bid_amt", "bidAmt")},
        trade.maker,
        trade.taker,
        trade.tx`,
    joined: newestTradesOfPair,
    values: [Number.MAX_SAFE_INTEGER, limit],
  });
  return rows.flatMap(({ id, act, lotAmt, bidAmt, maker, taker, tx }) =>
    id === null ? [] : [{ id, act, lotAmt, bidAmt, maker, taker, tx }],
  );
}
