-- The order book of a market by price level.

create type dex_book_level as (
  act text,
  price numeric,
  vol numeric,
  quote_vol numeric,
  offers integer
);
comment on type dex_book_level is 'A level of a market''s book: the open offers of one side at one price.';
comment on column dex_book_level.act is E'@notNull\nThe side: `buy` for bids, `sell` for asks, as the act of the offers.';
comment on column dex_book_level.price is E'@notNull\nThe price of its offers, quote per base, 18 fractional digits.';
comment on column dex_book_level.vol is E'@notNull\nWhat is left of its offers, in base units. What buys base is counted by the share of its lot that is left, each offer rounded once to 18 fractional digits.';
comment on column dex_book_level.quote_vol is E'@notNull\nWhat is left of its offers, in quote units. What sells base is counted by the share of its lot that is left, each offer rounded once to 18 fractional digits.';
comment on column dex_book_level.offers is E'@notNull\nNumber of its offers.';

-- Reads the best prices in index order first, and then only the offers at these prices, so that the time does
-- not depend on the size of the book.
create function dex_book(base text, quote text, depth integer default 50) returns setof dex_book_level
language plpgsql stable
rows 100
set enable_seqscan = off
as $$
declare
  levels constant integer := coalesce(depth, 50);
  market integer;
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

  return query
  with bid_price as materialized (
    select distinct standing.price
    from dex_private.standing_offer as standing
    where standing.market_id = market
      and standing.act = 'buy'
    order by standing.price desc
    limit levels
  ),
  ask_price as materialized (
    select distinct standing.price
    from dex_private.standing_offer as standing
    where standing.market_id = market
      and standing.act = 'sell'
    order by standing.price
    limit levels
  ),
  open_offer as materialized (
    select
      standing.act,
      standing.price,
      kept.lot_amt,
      dex_private.quotient(kept.lot_amt * offer.bid_amt, offer.lot_amt) as bid_amt
    from (
      select 'buy' as act, bid_price.price
      from bid_price
      union all
      select 'sell', ask_price.price
      from ask_price
    ) as level
    join dex_private.standing_offer as standing
      on standing.market_id = market
      and standing.act = level.act
      and standing.price = level.price
    join dex_private.offer_left as kept on kept.offer_id = standing.offer_id
    join public.dex_offer as offer on offer.id = standing.offer_id
  )
  select
    open_offer.act,
    open_offer.price,
    sum(dex_private.base_of(open_offer.act, open_offer.lot_amt, open_offer.bid_amt)),
    sum(dex_private.quote_of(open_offer.act, open_offer.lot_amt, open_offer.bid_amt)),
    count(*)::integer
  from open_offer
  group by
    open_offer.act,
    open_offer.price
  order by
    open_offer.act,
    case open_offer.act when 'buy' then -open_offer.price else open_offer.price end;
end
$$;
comment on function dex_book(text, text, integer) is E'@argument base The base token''s symbol, in any case.\n@argument quote The quote token''s symbol, in any case.\n@argument depth How many levels of each side at most, from 1 to 1000; 50 if not given.\nThe book of a market as of the head, by levels of price: its bids from the highest down, then its asks from the lowest up. Empty where the pair is not registered.';
grant execute on function dex_book(text, text, integer) to dex_reader, dex_writer;
