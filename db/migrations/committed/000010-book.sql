--! Previous: sha1:54785a0cd4cd4587d7a03c2423acba28373cf1bd
--! Hash: sha1:94d4470b48c67e690ec9a69731c22a587e75b5b4
--! Message: book

-- The book of a market by levels of price, and what is left of the offers in each.

create or replace view dex_private.ended_offer as
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  offer.lot_amt,
  offer.bid_amt
from public.dex_offer as offer
cross join dex_private.as_of
where offer.killed > 0
  and not offer.closed
  and offer.spent_block is null
  and offer.killed > as_of.max_block
  and offer.block <= as_of.max_block
union all
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  offer.lot_amt,
  offer.bid_amt
from public.dex_offer as offer
cross join dex_private.as_of
where offer.spent_block is not null
  and not offer.closed
  and offer.spent_block > as_of.max_block
  and (offer.killed = 0 or offer.killed > as_of.max_block)
  and offer.block <= as_of.max_block
union all
-- By the clock, where no head is declared.
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  offer.lot_amt,
  offer.bid_amt
from public.dex_offer as offer
cross join dex_private.as_of
where offer.spent_block is not null
  and not offer.closed
  and offer.spent_time > as_of.max_time
  and offer.killed = 0
  and offer.time <= as_of.max_time;

create view dex_private.standing_offer as
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  offer.lot_amt,
  offer.bid_amt
from public.dex_offer as offer
cross join dex_private.as_of
where offer.killed = 0
  and not offer.filled
  and offer.price is not null
  and offer.block <= as_of.max_block
  and offer.time <= as_of.max_time;
comment on view dex_private.standing_offer is
  'The offers that were open at the head and that nothing has ended since.';

create view dex_private.open_offer as
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
comment on view dex_private.open_offer is
  'The offers that were open at the head, with what was left of them then: of the lot exactly, of the bid in the same share, rounded once.';
grant select on dex_private.standing_offer, dex_private.ended_offer, dex_private.open_offer to dex_reader, dex_writer;

create type dex_book_level as (
  act text,
  price numeric,
  vol numeric,
  quote_vol numeric,
  offers integer
);
comment on type dex_book_level is
  'A level of a market''s book: the open offers of one side at one price.';
comment on column dex_book_level.act is E'@notNull\nThe side: `buy` for bids, `sell` for asks, as the act of the offers.';
comment on column dex_book_level.price is E'@notNull\nThe price of its offers, quote per base, 18 fractional digits.';
comment on column dex_book_level.vol is E'@notNull\nWhat is left of its offers, in base units. What buys base is counted by the share of its lot that is left, each offer rounded once to 18 fractional digits.';
comment on column dex_book_level.quote_vol is E'@notNull\nWhat is left of its offers, in quote units. What sells base is counted by the share of its lot that is left, each offer rounded once to 18 fractional digits.';
comment on column dex_book_level.offers is E'@notNull\nNumber of its offers.';

-- First the prices, of which an index has the best in order, then the offers at these: what is left is
-- looked up for no others, however large the book is.
create function dex_book(base text, quote text, depth integer default 50) returns setof dex_book_level
language plpgsql stable
rows 100
as $$
declare
  levels constant integer := coalesce(depth, 50);
  market integer;
  lowest_bid numeric;
  highest_ask numeric;
begin
  if levels not between 1 and 1000 then
    raise exception 'depth must be an integer from 1 to 1000, not %', levels
      using errcode = 'invalid_parameter_value';
  end if;

  select pair.id
  into market
  from public.dex_pair as pair
  where pair.base = upper(dex_book.base)
    and pair.quote = upper(dex_book.quote);
  if market is null then
    return;
  end if;

  -- Compared with any (...) and ordered by market_id too, so that only the index on (market_id, act,
  -- price) serves.
  select min(best.price)
  into lowest_bid
  from (
    (
      select distinct
        offer.market_id,
        offer.act,
        offer.price
      from dex_private.standing_offer as offer
      where offer.market_id = any (array[market])
        and offer.act = 'buy'
      order by
        offer.market_id desc,
        offer.act desc,
        offer.price desc
      limit levels
    )
    union
    select
      offer.market_id,
      offer.act,
      offer.price
    from dex_private.ended_offer as offer
    where offer.market_id = market
      and offer.act = 'buy'
      and offer.price is not null
    order by price desc
    limit levels
  ) as best;

  return query
  select
    'buy',
    offer.price,
    sum(offer.base_amt),
    sum(offer.quote_amt),
    count(*)::integer
  from dex_private.open_offer as offer
  where offer.market_id = market
    and offer.act = 'buy'
    and offer.price >= lowest_bid
  group by offer.price
  order by offer.price desc;

  select max(best.price)
  into highest_ask
  from (
    (
      select distinct
        offer.market_id,
        offer.act,
        offer.price
      from dex_private.standing_offer as offer
      where offer.market_id = any (array[market])
        and offer.act = 'sell'
      order by
        offer.market_id,
        offer.act,
        offer.price
      limit levels
    )
    union
    select
      offer.market_id,
      offer.act,
      offer.price
    from dex_private.ended_offer as offer
    where offer.market_id = market
      and offer.act = 'sell'
      and offer.price is not null
    order by price
    limit levels
  ) as best;

  return query
  select
    'sell',
    offer.price,
    sum(offer.base_amt),
    sum(offer.quote_amt),
    count(*)::integer
  from dex_private.open_offer as offer
  where offer.market_id = market
    and offer.act = 'sell'
    and offer.price <= highest_ask
  group by offer.price
  order by offer.price;
end
$$;
comment on function dex_book(text, text, integer) is
  E'@argument base The base token''s symbol, in any case.\n@argument quote The quote token''s symbol, in any case.\n@argument depth How many levels of each side at most, from 1 to 1000; 50 if not given.\nThe book of a market as of the head, by levels of price: its bids from the highest down, then its asks from the lowest up. Empty where the pair is not registered.';
revoke all on function dex_book(text, text, integer) from public;
grant execute on function dex_book(text, text, integer) to dex_reader, dex_writer;
