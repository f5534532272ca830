--! Previous: sha1:cfa86116fcbcfc876359e8332898c42d86e6a5bc
--! Hash: sha1:d2ad5a6d1a8acc75e955d54235e811e46e84abe0
--! Message: trades after the head

--! split: 1-current.sql
-- What is left of an offer as of the head follows from what its trades took, unless there are trades after
-- the head: whether there are any is asked once, and not of each offer of a book.
set local lock_timeout = '200ms';

create view dex_private.last_block as
select (
  select trade.block
  from public.dex_trade as trade
  order by trade.block desc
  limit 1
) as block;
comment on view dex_private.last_block is
  'The last block that any trade is of, whether or not the head has come to it; null where there is none.';

create or replace view dex_private.open_offer as
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  case offer.act when 'sell' then remaining.lot_amt else remaining.bid_amt end as base_amt,
  case offer.act when 'sell' then remaining.bid_amt else remaining.lot_amt end as quote_amt
from (
  select *
  from dex_private.standing_offer
  union all
  select *
  from dex_private.ended_offer
  where ended_offer.price is not null
) as offer
cross join dex_private.as_of
cross join lateral (
  -- What all its trades took, but for those after the head.
  select offer.lot_amt
    - coalesce(
      (
        select taken.lot_amt
        from dex_private.offer_taken as taken
        where taken.offer_id = offer.id
      ),
      0
    )
    + coalesce(
      (
        select sum(trade.lot_amt)
        from public.dex_trade as trade
        where trade.offer_id = offer.id
          and trade.block > as_of.max_block
          and as_of.max_block < (select last_block.block from dex_private.last_block)
      ),
      0
    )
    + coalesce(
      (
        select sum(trade.lot_amt)
        from public.dex_trade as trade
        where as_of.block is null
          and trade.offer_id = offer.id
          and trade.time > as_of.max_time
      ),
      0
    ) as lot_amt
  offset 0
) as untaken
cross join lateral (
  select
    untaken.lot_amt,
    dex_private.quotient(untaken.lot_amt * offer.bid_amt, offer.lot_amt) as bid_amt
  offset 0
) as remaining;
