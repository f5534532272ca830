// What trades and offers have in common where they are shown: the market, the price, and what moves for what.
import type { KeyedRow } from "../records.ts";
import { figureOrNull, isoTime } from "./snapshot.ts";

export interface Deal extends KeyedRow {
  time: string;
  block: number;
  /** Null where the two tokens are no registered pair, like `quote` and `act`. */
  base: string | null;
  quote: string | null;
  /** Of the maker. */
  act: "buy" | "sell" | null;
  price: string | null;
  lotAmt: string;
  /** Null where it is not known, like `bidTkn`. */
  lotTkn: string | null;
  lotGem: string;
  bidAmt: string;
  bidTkn: string | null;
  bidGem: string;
  tx: string;
}

/** The key is the trade's id. */
export interface DealtTrade extends Deal {
  maker: string;
  taker: string;
}

/** SQL of the columns of a row of dex_trade or dex_offer, beside the key. */
export const dealColumns = (row: "trade" | "offer"): string => `
        ${isoTime(`${row}.time`)} as time,
        ${row}.block,
        pair.base,
        pair.quote,
        ${row}.act,
        ${figureOrNull(`${row}.price`, "price")},
        ${figureOrNull(`${row}.lot_amt`, "lotAmt")},
        ${row}.lot_tkn as "lotTkn",
        ${row}.lot_gem as "lotGem",
        ${figureOrNull(`${row}.bid_amt`, "bidAmt")},
        ${row}.bid_tkn as "bidTkn",
        ${row}.bid_gem as "bidGem",
        ${row}.tx`;

/** SQL that gives the symbols of its market. */
export const joinPair = (row: "trade" | "offer"): string =>
  `left join dex_pair as pair on pair.id = ${row}.market_id`;
