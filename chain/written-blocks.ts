// What the database has of the chain: blocks, and the offers that are open.
import type { Client } from "../db/connect.ts";
import { checksumAddress } from "../db/load/checksum.ts";
import { smallestUnits } from "./block-rows.ts";
import { LARGEST_BLOCK, type OfferFact } from "./exchange-facts.ts";
import type { OpenOffer } from "./offers-left.ts";

/** A block that the database has. */
export interface Recorded {
  number: number;
  /** Null where the source of the block had none. */
  hash: string | null;
  /** Seconds since 1970. */
  time: number;
}

/** The last block, up to this number; undefined without one. */
export async function lastBlock(
  client: Client,
  upTo = LARGEST_BLOCK,
): Promise<Recorded | undefined> {
  const { rows } = await client.query<Recorded>(
    `select number, hash, extract(epoch from time)::float8 as time
    from dex_block
    where number <= $1
    order by number desc
    limit 1`,
    [upTo],
  );
  return rows[0];
}

/** The newest offer or trade, by its transaction; undefined without one. */
export async function newestRow(client: Client) {
  const { rows } = await client.query<{ block: number; tx: string; hash: string | null }>(
    `select newest.block, newest.tx, block.hash
    from (
      (select block, tx from dex_trade order by id desc limit 1)
      union all
      (select block, tx from dex_offer order by block desc, id desc limit 1)
    ) as newest
    join dex_block as block on block.number = newest.block
    order by newest.block desc
    limit 1`,
  );
  return rows[0];
}

/** A contract with offers: the first one keeps its ids. */
export interface Book {
  exchange: string;
  keepsIds: boolean;
}

/** The offers that have something left, by the contract's own ids. */
export async function openOffers(
  client: Client,
  { exchange, keepsIds }: Book,
): Promise<OpenOffer[]> {
  const { rows } = await client.query<{
    id: number;
    block: number;
    lot_gem: string;
    lot_amt: string;
    lot_decimals: number | null;
    bid_gem: string;
    bid_amt: string;
    bid_decimals: number | null;
  }>(
    `select
      coalesce(split_part(offer.ref, ':', 1)::float8, offer.id) as id,
      offer.block,
      offer.lot_gem,
      trim_scale(kept.lot_amt)::text as lot_amt,
      lot.decimals as lot_decimals,
      offer.bid_gem,
      trim_scale(offer.bid_amt - coalesce(taken.bid_amt, 0))::text as bid_amt,
      bid.decimals as bid_decimals
    from dex_offer as offer
    join dex_private.offer_left as kept on kept.offer_id = offer.id
    left join dex_token as lot on lot.address = offer.lot_gem
    left join dex_token as bid on bid.address = offer.bid_gem
    left join lateral (
      select sum(trade.bid_amt) as bid_amt
      from dex_trade as trade
      where trade.offer_id = offer.id
    ) as taken on true
    where offer.killed = 0
      and not offer.filled
      and ($1::text is null and offer.ref is null or offer.ref is not null and lower(offer.venue) = lower($1))`,
    [keepsIds ? null : exchange],
  );
  return rows.map(({ id, block, ...row }) => ({
    id,
    block,
    lotAmt: smallestUnits(row.lot_amt, row.lot_gem, row.lot_decimals),
    bidAmt: smallestUnits(row.bid_amt, row.bid_gem, row.bid_decimals),
  }));
}

/** The block of each of these offers that the database has, by the contract's own ids. */
export async function blocksOf(
  client: Client,
  { exchange, keepsIds }: Book,
  offers: readonly number[],
): Promise<Map<number, number>> {
  const { rows } = await client.query<{ id: number; block: number }>(
    keepsIds
      ? "select id, block from dex_offer where id = any($1)"
      : "select ref::float8 as id, block from dex_offer where ref = any($1::text[]) and lower(venue) = lower($2)",
    keepsIds ? [offers] : [offers.map(String), exchange],
  );
  return new Map(rows.map(({ id, block }) => [id, block]));
}

/**
 * The first row of each two tokens each way round, the oldest one first, unless it is labelled as of their market, in the
 * blocks from this one on.
 */
export async function pairsSince(client: Client, block: number): Promise<OfferFact[]> {
  const { rows } = await client.query<{ lotGem: string; bidGem: string; block: number }>(
    `select lot_gem as "lotGem", bid_gem as "bidGem", min(block) as block
    from (
      select lot_gem, bid_gem, block
      from dex_trade
      where id >= dex_private.first_trade_of($1)
        and market_id is null
      union all
      select lot_gem, bid_gem, block
      from dex_offer
      where block >= $1
        and market_id is null
      union all
      select gem0, gem1, block
      from dex_pool
      where block >= $1
    ) as given
    group by lot_gem, bid_gem
    order by block`,
    [block],
  );
  return rows.map((row) => ({
    ...{ kind: "offer", id: 0, maker: "", venue: "", hash: "", tx: "", idx: 0, time: 0 },
    ...{ lotAmt: 0n, bidAmt: 0n, block: row.block },
    ...{ lotGem: checksumAddress(row.lotGem), bidGem: checksumAddress(row.bidGem) },
  }));
}
