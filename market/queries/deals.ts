// Trades and offers of any market, as pages show them: the newest trades, and the trades and offers of an account.
import type { Database } from "../../db/connect.ts";
import type { KeyedRow } from "../records.ts";
import {
  figureOrNull,
  FROM_AS_OF,
  isoTime,
  readSnapshot,
  SELECT_MOMENT,
  type Snapshot,
} from "./snapshot.ts";

/** What trades and offers have in common. */
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
const dealColumns = (row: "trade" | "offer"): string => `
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
const joinPair = (row: "trade" | "offer"): string =>
  `left join dex_pair as pair on pair.id = ${row}.market_id`;

const SELECT_TRADES = `
      ${SELECT_MOMENT},
        trade.id::text as key,
        ${dealColumns("trade")},
        trade.maker,
        trade.taker
      ${FROM_AS_OF}`;

/** Of all markets, and of tokens that are no registered pair, the newest first. */
export const findNewestTrades = (db: Database, limit: number): Promise<Snapshot<DealtTrade>> =>
  readSnapshot(db, {
    name: "page_newest_trades",
    text: `${SELECT_TRADES}
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

interface TradesOfAccount {
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

/** As the maker or as the taker, the newest first. Each spelling and side is read for a page at most. */
export const findAccountTrades = (
  db: Database,
  { spellings, before, limit }: TradesOfAccount,
): Promise<Snapshot<DealtTrade>> =>
  readSnapshot(db, {
    name: "page_account_trades",
    text: `${SELECT_TRADES}
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

/** So many of an account's offers are read for one page, open or not: no index has the open ones. */
export const LOOKED_THROUGH = 1000;

/** The place of an offer among those of its maker. */
export interface OfferPlace {
  block: number;
  id: number;
}

export interface AccountOffer extends Deal {
  id: number;
  /** What remains of the lot. */
  left: string | null;
  /** The block of its cancellation; 0 where there was none. */
  killed: number;
  /** The first block after which it was not open; null while it is. */
  ended: number | null;
}

export interface OfferPage {
  offers: AccountOffer[];
  /** The older ones are before it; undefined where there is none. */
  older: OfferPlace | undefined;
}

interface OffersOfAccount {
  /** The address, in each letter case in which it may be recorded. */
  spellings: readonly string[];
  /** Whether they are open. */
  open: boolean;
  /** Only offers before it. */
  before: OfferPlace;
  limit: number;
}

interface OfferRow extends AccountOffer {
  isAsked: boolean;
  place: string;
}

/** The offers of an account that are open, or that have ended, the newest first. */
export async function findAccountOffers(
  db: Database,
  { spellings, open, before, limit }: OffersOfAccount,
): Promise<OfferPage> {
  const { rows } = await db.query<OfferRow>({
    name: "page_account_offers",
    text: `
      select
        offer.id::text as key,
        offer.id,
        ${dealColumns("offer")},
        offer.killed,
        offer.ended,
        ${figureOrNull("kept.lot_amt", "left")},
        (found.ended is null) = $4 as "isAsked",
        found.place
      from (
        select
          newest.*,
          row_number() over (order by newest.block desc, newest.id desc) as place
        from unnest($1::text[]) as spelling (address)
        cross join lateral (
          select
            offer.id,
            offer.block,
            offer.ended
          from dex_offer as offer
          where offer.maker = any (array[spelling.address])
            and (offer.block, offer.id) < ($2, $3)
          order by
            offer.maker desc,
            offer.block desc,
            offer.id desc
          limit ${LOOKED_THROUGH}
        ) as newest
        order by place
        limit ${LOOKED_THROUGH}
      ) as found
      join dex_offer as offer on offer.id = found.id
      left join dex_private.offer_left as kept on kept.offer_id = offer.id
      ${joinPair("offer")}
      -- The last one says where the next page begins.
      where (found.ended is null) = $4
        or found.place = ${LOOKED_THROUGH}
      order by found.place
      limit $5`,
    values: [spellings, before.block, before.id, open, limit + 2],
  });
  const asked = rows.filter(({ isAsked }) => isAsked);
  const offers = asked.slice(0, limit);
  const last = asked.length > limit ? offers.at(-1) : rows.find(isLastOfAll);
  return { offers, older: last && { block: last.block, id: last.id } };
}

const isLastOfAll = ({ place }: OfferRow): boolean => Number(place) === LOOKED_THROUGH;
