--! Previous: sha1:437a02eb045bf43b4874c0f8b17558714bc59d48
--! Hash: sha1:a43418b7380d125996ac1602ff5fa7621a093411
--! Message: kept figures

--! split: 1-current.sql
-- The kept figures of all markets are joined at once, rather than found for each market by two looks into
-- an index.
set local lock_timeout = '200ms';

create or replace view dex_private.market_figure as
select
  pair.id,
  pair.base,
  pair.quote,
  pair.base || '/' || pair.quote as pair,
  pair.active,
  day.base_24h as vol,
  day.low,
  day.high,
  dex_private.quotient(day.quote_24h, day.base_24h) as vwap24h,
  dex_private.quotient(day.quote_12h, day.base_12h) as vwap12h,
  dex_private.quotient(day.quote_6h, day.base_6h) as vwap6h,
  dex_private.quotient(day.quote_1h, day.base_1h) as vwap1h,
  coalesce(newest.price, (
    -- Compared with any (...) and ordered by market_id too: with a plain = the planner may walk back
    -- through the trades of all markets, the whole history for one that never traded.
    select trade.price
    from dex_private.market_trade as trade
    where trade.market_id = any (array[pair.id])
      and trade.price is not null
    order by
      trade.market_id desc,
      trade.block desc,
      trade.idx desc,
      trade.id desc
    limit 1
  )) as last,
  -- The best of the offers that nothing has ended, and of those that something ended after the head.
  greatest(
    (
      select offer.price
      from public.dex_offer as offer
      where offer.market_id = any (array[pair.id])
        and offer.act = 'buy'
        and offer.killed = 0
        and not offer.filled
        and offer.price is not null
        and offer.block <= as_of.max_block
        and offer.time <= as_of.max_time
      order by
        offer.market_id desc,
        offer.act desc,
        offer.price desc
      limit 1
    ),
    case
      when as_of.block is null or as_of.block < (select last_end.block from dex_private.last_end)
        then dex_private.best_ended(pair.id, 'buy')
    end
  ) as bid,
  least(
    (
      select offer.price
      from public.dex_offer as offer
      where offer.market_id = any (array[pair.id])
        and offer.act = 'sell'
        and offer.killed = 0
        and not offer.filled
        and offer.price is not null
        and offer.block <= as_of.max_block
        and offer.time <= as_of.max_time
      order by
        offer.market_id,
        offer.act,
        offer.price
      limit 1
    ),
    case
      when as_of.block is null or as_of.block < (select last_end.block from dex_private.last_end)
        then dex_private.best_ended(pair.id, 'sell')
    end
  ) as ask,
  day.quote_24h as quote_vol,
  day.trades_24h as trades,
  coalesce(newest.time, (
    select trade.time
    from dex_private.market_trade as trade
    where trade.market_id = any (array[pair.id])
      and trade.price is not null
    order by
      trade.market_id desc,
      trade.block desc,
      trade.idx desc,
      trade.id desc
    limit 1
  )) as last_time,
  (
    -- By time, as the window it stands before: by block, a day would have to be walked through.
    select trade.price
    from dex_private.market_trade as trade
    where trade.market_id = any (array[pair.id])
      and trade.price is not null
      and trade.time <= as_of.time - interval '24 hours'
    order by
      trade.market_id desc,
      trade.time desc,
      trade.block desc,
      trade.idx desc,
      trade.id desc
    limit 1
  ) as open
from public.dex_pair as pair
cross join dex_private.as_of
-- Where the newest trade of a market is after the head, its last is looked up.
left join dex_private.newest_trade as newest
  on newest.market_id = pair.id
  and newest.block <= as_of.max_block
  and newest.time <= as_of.max_time
left join dex_private.head_figure as kept on kept.market_id = pair.id
-- `offset 0` has the windows computed for no market but those that are missing.
left join lateral (
  select figure.*
  from dex_private.compute_figure(pair.id) as figure
  where kept.market_id is null
  offset 0
) as computed on true
cross join lateral (
  select
    coalesce(kept.base_24h, computed.base_24h) as base_24h,
    coalesce(kept.quote_24h, computed.quote_24h) as quote_24h,
    coalesce(kept.base_12h, computed.base_12h) as base_12h,
    coalesce(kept.quote_12h, computed.quote_12h) as quote_12h,
    coalesce(kept.base_6h, computed.base_6h) as base_6h,
    coalesce(kept.quote_6h, computed.quote_6h) as quote_6h,
    coalesce(kept.base_1h, computed.base_1h) as base_1h,
    coalesce(kept.quote_1h, computed.quote_1h) as quote_1h,
    coalesce(kept.low, computed.low) as low,
    coalesce(kept.high, computed.high) as high,
    coalesce(kept.trades_24h, computed.trades_24h) as trades_24h
) as day;
