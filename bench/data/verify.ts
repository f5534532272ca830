// Compares the figures of a generated database with its trades and offers.
import type { Client } from "../../db/connect.ts";

/**
 * Computes the figures of three markets from trades and offers alone. Omits the book of the busiest market:
 * at ten million trades the remaining lots of its offers take minutes.
 */
const BRUTE_FORCE = `
  select
    pair.base || '/' || pair.quote as pair,
    day.vol,
    day.low,
    day.high,
    dex_private.quotient(day.quote_24h, day.vol) as vwap24h,
    dex_private.quotient(day.quote_12h, day.base_12h) as vwap12h,
    dex_private.quotient(day.quote_6h, day.base_6h) as vwap6h,
    dex_private.quotient(day.quote_1h, day.base_1h) as vwap1h,
    (
      select trade.price
      from dex_trade as trade
      where trade.market_id = any (array[pair.id])
      order by
        trade.market_id desc,
        trade.id desc
      limit 1
    ) as last,
    book.bid,
    book.ask
  from dex_pair as pair
  cross join dex_head as head
  cross join lateral (
    select
      sum(trade.base_amt) as vol,
      sum(trade.quote_amt) as quote_24h,
      sum(trade.base_amt) filter (where trade.time > head.time - interval '12 hours') as base_12h,
      sum(trade.quote_amt) filter (where trade.time > head.time - interval '12 hours') as quote_12h,
      sum(trade.base_amt) filter (where trade.time > head.time - interval '6 hours') as base_6h,
      sum(trade.quote_amt) filter (where trade.time > head.time - interval '6 hours') as quote_6h,
      sum(trade.base_amt) filter (where trade.time > head.time - interval '1 hour') as base_1h,
      sum(trade.quote_amt) filter (where trade.time > head.time - interval '1 hour') as quote_1h,
      min(trade.price) as low,
      max(trade.price) as high
    from (
      select
        dealt.time,
        dealt.price,
        dex_private.base_of(dealt.act, dealt.lot_amt, dealt.bid_amt) as base_amt,
        dex_private.quote_of(dealt.act, dealt.lot_amt, dealt.bid_amt) as quote_amt
      from dex_trade as dealt
      where dealt.market_id = pair.id
        and dealt.time > head.time - interval '24 hours'
    ) as trade
  ) as day
  cross join lateral (
    select
      max(offer.price) filter (where offer.act = 'buy') as bid,
      min(offer.price) filter (where offer.act = 'sell') as ask
    from dex_offer as offer
    where offer.market_id = pair.id
      and pair.market <> 'WETHDAI'
      and offer.killed = 0
      and offer.lot_amt > (
        select coalesce(sum(trade.lot_amt), 0)
        from dex_trade as trade
        where trade.offer_id = offer.id
      )
  ) as book
  where pair.market in ('WETHDAI', 'TKN02USDC', 'TKN37USDC')`;

const SHOWN = `
  select
    pair,
    vol,
    low,
    high,
    vwap24h,
    vwap12h,
    vwap6h,
    vwap1h,
    last,
    case when pair <> 'WETH/DAI' then bid end as bid,
    case when pair <> 'WETH/DAI' then ask end as ask
  from dex_private.head_figure`;

/** Throws if a figure of the database differs. */
export async function verify(client: Client): Promise<void> {
  const { rows } = await client.query<object>(`${BRUTE_FORCE} except ${SHOWN} limit 1`);
  if (rows.length === 0) return;
  throw new Error(`the generated database has wrong figures; expected ${JSON.stringify(rows[0])}`);
}
