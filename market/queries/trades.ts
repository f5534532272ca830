// The trades of one market.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import { UnknownPair } from "../absent.ts";
import { decimal, isoMoment, type KeyedRow } from "../records.ts";
import {
  figure,
  figureOrNull,
  isoTime,
  readRowsOfPair,
  type PairName,
  type Snapshot,
} from "./snapshot.ts";

export const tradeRecord = z
  .object({
    id: z.int().min(1).describe("Identifies the trade; grows with recency, with gaps."),
    price: decimal.describe("In quote per base."),
    volume: decimal.describe("In base units."),
    time: isoMoment.describe("The time of its block, in ISO 8601 UTC with milliseconds."),
  })
  .meta({ id: "Trade" });

export type TradeRecord = z.infer<typeof tradeRecord>;

/** A page without trades is one row whose id is null. */
type TradeRow = KeyedRow & Omit<TradeRecord, "id"> & { id: string | null };

interface TradePage {
  limit: number;
  /** The greatest id; undefined for any. */
  fromId?: number | undefined;
}

const TRADE_COLUMNS = `${figure("trade.price", "price")},
        trim_scale(dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt))::text as volume,
        ${isoTime("trade.time")} as time`;

/** SQL of the trades of `pair` that is joined to it: the newest, of $4 at most, whose id is at most $3. */
const newestTradesOfPair = `(
        -- Compared with any (...) and ordered by market_id too, so that only the index on
        -- (market_id, id) serves: with a plain = the planner may walk back through the trades of
        -- all markets, the whole history for one that traded long ago or never.
        select *
        from dex_trade
        where dex_trade.market_id = any (array[pair.id])
          and dex_trade.id <= $3
          and dex_trade.id < as_of.beyond
        order by
          dex_trade.market_id desc,
          dex_trade.id desc
        limit $4
      ) as trade on true
      order by trade.id desc`;

/** The newest `limit` trades whose id is at most `fromId`, newest first. */
export const findTrades = (
  db: Database,
  pair: PairName,
  { limit, fromId = Number.MAX_SAFE_INTEGER }: TradePage,
): Promise<Snapshot<TradeRow>> =>
  readRowsOfPair(db, pair, {
    name: "rest_trades",
    columns: `
        trade.id,
        ${TRADE_COLUMNS}`,
    joined: newestTradesOfPair,
    values: [fromId, limit],
  });

/** The trades of the one pair, which may be none. Throws UnknownPair where there is no pair. */
export function tradeRecords(rows: TradeRow[]): TradeRecord[] {
  if (rows.length === 0) throw new UnknownPair();
  return rows
    .filter((row) => row.id !== null)
    .map(({ id, price, volume, time }) => ({ id: Number(id), price, volume, time }));
}

/** What the page of a market shows of its trades beside REST, as GraphQL has it. */
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

/** A trade of one of several markets. */
interface FollowedTrade extends KeyedRow, TradeRecord {
  block: number;
}

/** The first `limit` trades of markets whose id is greater than `after`, oldest first. */
export const findTradesAfter = async (
  db: Database,
  keys: readonly string[],
  { after, limit }: { after: number; limit: number },
): Promise<FollowedTrade[]> => {
  const { rows } = await db.query<Omit<FollowedTrade, "id"> & { id: string }>({
    name: "rest_trades_after",
    text: `
      select
        pair.base || '/' || pair.quote as key,
        trade.id,
        ${TRADE_COLUMNS},
        trade.block
      from dex_pair as pair
      cross join lateral (
        -- As in rest_trades: only the index on (market_id, id) serves.
        select *
        from dex_trade
        where dex_trade.market_id = any (array[pair.id])
          and dex_trade.id > $2
        order by
          dex_trade.market_id,
          dex_trade.id
        limit $3
      ) as trade
      where pair.base || '/' || pair.quote = any ($1)
      order by trade.id
      limit $3`,
    values: [keys, after, limit],
  });
  return rows.map((row) => ({ ...row, id: Number(row.id) }));
};

interface TradesFilter {
  /** An address, in each letter case in which it may be recorded. */
  taker?: readonly string[] | undefined;
  maker?: readonly string[] | undefined;
  /** BASE/QUOTE. */
  market?: string | undefined;
}

/** The column of each condition, and SQL of the values that it may have. The first that is given has an index with the id. */
const CONDITIONS = {
  taker: { column: "trade.taker", values: (given: string) => `select unnest(${given}::text[])` },
  maker: { column: "trade.maker", values: (given: string) => `select unnest(${given}::text[])` },
  market: {
    column: "trade.market_id",
    values: (given: string) =>
      `select pair.id from dex_pair as pair where pair.base || '/' || pair.quote = ${given}`,
  },
} as const;

const FILTERS = ["taker", "maker", "market"] as const;

/** The first `limit` trades whose id is greater than `after`, oldest first, also of what is no market. */
export async function findTradesBy(
  db: Database,
  filter: TradesFilter,
  { after, limit }: { after: number; limit: number },
): Promise<FollowedTrade[]> {
  const given = FILTERS.filter((name) => filter[name] !== undefined);
  const [sought, ...others] = given.map((name, n) => {
    const { column, values } = CONDITIONS[name];
    return { column, values: values(`$${n + 3}`) };
  });
  const conditions = others.map(({ column, values }) => `and ${column} in (${values})`);
  // Compared with any (...) and ordered by the column too, so that only the index on it and the id serves.
  if (sought !== undefined) conditions.unshift(`and ${sought.column} = any (array[sought.value])`);
  const { rows } = await db.query<Omit<FollowedTrade, "id"> & { id: string }>({
    name: `live_trades_${given.join("_")}`,
    text: `
      select
        '' as key,
        trade.id,
        ${TRADE_COLUMNS},
        trade.block
      from (${sought?.values ?? "select null"}) as sought (value)
      cross join lateral (
        select *
        from dex_trade as trade
        where trade.id > $1
        ${conditions.join("\n        ")}
        order by ${sought === undefined ? "" : `${sought.column}, `}trade.id
        limit $2
      ) as trade
      order by trade.id
      limit $2`,
    values: [after, limit, ...given.map((name) => filter[name])],
  });
  return rows.map((row) => ({ ...row, id: Number(row.id) }));
}
