// What the events are that name an order alone: by what is left of the order, its trades, its cancellation, or a new offer.
import type { Client } from "../db/connect.ts";
import { smallestUnits } from "./block-rows.ts";
import { LARGEST_BLOCK } from "./exchange-facts.ts";
import type { BlockFact, Fact, LeftOffer, UpdateFact } from "./exchange-facts.ts";
import { Contradiction } from "./offers-left.ts";

/**
 * The facts with those of updates in their place, by what the database has up to this block. Updates of orders that are not
 * recorded are left out. Throws a `Contradiction` where an update does not follow what is left of its order.
 */
export async function withUpdates(
  client: Client,
  facts: readonly BlockFact[],
  upTo = LARGEST_BLOCK,
): Promise<Fact[]> {
  const updates = facts.filter((fact) => fact.kind === "update");
  if (updates.length === 0) return facts.filter((fact) => fact.kind !== "update");
  const left = await offersLeft(client, updates, upTo);
  const take = (fact: Fact): void => {
    if (fact.kind === "offer" && fact.ref !== undefined) {
      const { block, ref, maker, lotGem, lotAmt, bidGem, bidAmt } = fact;
      const whole = { lotAmt, bidAmt };
      const offer = { block, ref, maker, lotGem, lotAmt, bidGem, bidAmt, whole };
      left.set(nameOf(fact.venue, fact.id), offer);
      return;
    }
    if (fact.kind !== "trade" && fact.kind !== "cancellation") return;
    const offer = left.get(nameOf(fact.venue, fact.offerId));
    if (offer === undefined) return;
    offer.lotAmt -= fact.lotAmt;
    offer.bidAmt = fact.kind === "trade" ? offer.bidAmt - fact.bidAmt : 0n;
  };
  return facts.flatMap((fact) => {
    if (fact.kind !== "update") {
      take(fact);
      return [fact];
    }
    const { venue, time, taker, offerId, block } = fact;
    const offer = left.get(nameOf(venue, offerId));
    if (offer === undefined) return [];
    const parts = fact.factsOf(offer);
    if (parts === undefined) {
      throw new Contradiction(
        `an event of order ${offerId} in block ${block} does not follow what is left of it, ${offer.lotAmt} for ${offer.bidAmt}`,
        offer.block,
      );
    }
    return parts.map((part) => {
      const own: Fact = { ...part, venue, time };
      const given = own.kind === "trade" && taker !== undefined ? { ...own, taker } : own;
      take(given);
      return given;
    });
  });
}

const nameOf = (venue: string, id: number | null): string => `${venue} ${id}`;

/** What is left of the last order with each id, by contract and id. */
async function offersLeft(
  client: Client,
  updates: readonly UpdateFact[],
  upTo: number,
): Promise<Map<string, LeftOffer>> {
  const { rows } = await client.query<
    Record<"name" | "ref" | "maker" | "lot_gem" | "bid_gem", string> & {
      block: number;
      whole: [string, string];
      taken: [string, string];
      lot_decimals: number | null;
      bid_decimals: number | null;
      is_over: boolean;
    }
  >(
    `select
      given.venue || ' ' || given.id as name,
      offer.ref,
      offer.block,
      offer.maker,
      offer.lot_gem,
      offer.bid_gem,
      array[trim_scale(offer.lot_amt)::text, trim_scale(offer.bid_amt)::text] as whole,
      array[trim_scale(taken.lot_amt)::text, trim_scale(taken.bid_amt)::text] as taken,
      lot.decimals as lot_decimals,
      bid.decimals as bid_decimals,
      offer.killed between 1 and $3 as is_over
    from (
      select distinct *
      from unnest($1::text[], $2::text[]) as listed (venue, id)
    ) as given
    cross join lateral (
      select recorded.*
      from dex_private.offer_ref as known
      join dex_offer as recorded on recorded.id = known.offer_id
      where known.venue = lower(given.venue)
        and split_part(known.ref, ':', 1) = given.id
        and recorded.block <= $3
      order by known.offer_id desc
      limit 1
    ) as offer
    left join dex_token as lot on lot.address = offer.lot_gem
    left join dex_token as bid on bid.address = offer.bid_gem
    cross join lateral (
      select
        coalesce(sum(trade.lot_amt), 0) as lot_amt,
        coalesce(sum(trade.bid_amt), 0) as bid_amt
      from dex_trade as trade
      where trade.offer_id = offer.id
        and trade.block <= $3
    ) as taken`,
    [updates.map(({ venue }) => venue), updates.map(({ offerId }) => String(offerId)), upTo],
  );
  const left = new Map<string, LeftOffer>();
  for (const { name, ref, block, maker, lot_gem, bid_gem, whole, taken, is_over, ...row } of rows) {
    const lotOf = (amount: string): bigint => smallestUnits(amount, lot_gem, row.lot_decimals);
    const bidOf = (amount: string): bigint => smallestUnits(amount, bid_gem, row.bid_decimals);
    const made = { lotAmt: lotOf(whole[0]), bidAmt: bidOf(whole[1]) };
    left.set(name, {
      ...{ ref, block, maker, lotGem: lot_gem, bidGem: bid_gem, whole: made },
      lotAmt: is_over ? 0n : made.lotAmt - lotOf(taken[0]),
      bidAmt: is_over ? 0n : made.bidAmt - bidOf(taken[1]),
    });
  }
  return left;
}
