-- The order book of a market by price level.

create type dex_book_level as (
  act text,
  price numeric,
  vol numeric,
  quote_vol numeric,
  offers integer
);
comment on type dex_book_level is 'A level of a market''s book: the open offers of one side at one price. Or what pools trade up to it, from the level before.';
comment on column dex_book_level.act is E'@notNull\nThe side: `buy` for bids, `sell` for asks, as the act of the offers.';
comment on column dex_book_level.price is E'@notNull\nThe price of its offers, quote per base, 18 fractional digits. Of a pool, the worst price of one of ten bands, which are 0.2 % of its best price wide each.';
comment on column dex_book_level.vol is E'@notNull\nWhat is left of its offers, and what pools trade up to it from the level before, in base units. What buys base is counted by the share of its lot that is left, each offer rounded once to 18 fractional digits.';
comment on column dex_book_level.quote_vol is E'@notNull\nWhat is left of its offers, and what pools trade up to it from the level before, in quote units. What sells base is counted by the share of its lot that is left, each offer rounded once to 18 fractional digits.';
comment on column dex_book_level.offers is E'@notNull\nNumber of its offers. A pool counts as none.';

-- As of the head it reads the best prices in index order first, and then only the offers up to the last of them. So
-- the time does not depend on the size of the book.
create function dex_book(base text, quote text, depth integer default 50) returns setof dex_book_level
language plpgsql stable
rows 100
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  levels constant integer := coalesce(depth, 50);
  is_past constant boolean := dex_private.is_past();
  market integer;
  moment dex_private.last_moment;
  has_pools boolean;
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
  select *
  into moment
  from dex_private.as_of;
  has_pools := exists (
    select
    from public.dex_pool as pool
    where pool.market_id = market
  );

  return query
  with level as (
    (
      select distinct
        standing.act,
        standing.price
      from dex_private.standing_offer as standing
      where not is_past
        and standing.market_id = market
        and standing.act = 'buy'
      order by standing.price desc
      limit levels
    )
    union all
    (
      select distinct
        standing.act,
        standing.price
      from dex_private.standing_offer as standing
      where not is_past
        and standing.market_id = market
        and standing.act = 'sell'
      order by standing.price
      limit levels
    )
  ),
  edge as materialized (
    select
      min(level.price) filter (where level.act = 'buy') as bid,
      max(level.price) filter (where level.act = 'sell') as ask
    from level
  ),
  open_offer as (
    select
      standing.act,
      standing.price,
      standing.offer_id,
      kept.lot_amt
    from edge
    cross join lateral (
      select *
      from dex_private.standing_offer as bidden
      where bidden.market_id = market
        and bidden.act = 'buy'
        and bidden.price >= edge.bid
      union all
      select *
      from dex_private.standing_offer as asked
      where asked.market_id = market
        and asked.act = 'sell'
        and asked.price <= edge.ask
    ) as standing
    join dex_private.offer_left as kept on kept.offer_id = standing.offer_id
    where not is_past
    union all
    select
      past.act,
      past.price,
      past.offer_id,
      past.left_amt
    from dex_private.past_book(market, moment, levels) as past
    where is_past
  ),
  valued_offer as materialized (
    select
      open_offer.act,
      open_offer.price,
      open_offer.lot_amt,
      dex_private.quotient(open_offer.lot_amt * offer.bid_amt, offer.lot_amt) as bid_amt
    from open_offer
    join public.dex_offer as offer on offer.id = open_offer.offer_id
  ),
  valued_level as (
    select
      valued_offer.act,
      valued_offer.price,
      dex_private.base_of(valued_offer.act, valued_offer.lot_amt, valued_offer.bid_amt) as vol,
      dex_private.quote_of(valued_offer.act, valued_offer.lot_amt, valued_offer.bid_amt) as quote_vol,
      1 as offers
    from valued_offer
    union all
    select
      pool.act,
      pool.price,
      pool.vol,
      pool.quote_vol,
      0
    from dex_private.pool_levels(market, moment.block) as pool
    where has_pools
  )
  select
    best.act,
    best.price,
    best.vol,
    best.quote_vol,
    best.offers
  from (
    (
      select
        given.act,
        given.price,
        sum(given.vol),
        sum(given.quote_vol),
        sum(given.offers)::integer
      from valued_level as given
      where given.act = 'buy'
      group by
        given.act,
        given.price
      order by given.price desc
      limit levels
    )
    union all
    (
      select
        given.act,
        given.price,
        sum(given.vol),
        sum(given.quote_vol),
        sum(given.offers)::integer
      from valued_level as given
      where given.act = 'sell'
      group by
        given.act,
        given.price
      order by given.price
      limit levels
    )
  ) as best (act, price, vol, quote_vol, offers)
  order by
    best.act,
    case best.act when 'buy' then -best.price else best.price end;
end
$$;
comment on function dex_book(text, text, integer) is E'@argument base The base token''s symbol, in any case.\n@argument quote The quote token''s symbol, in any case.\n@argument depth How many levels of each side at most, from 1 to 1000; 50 if not given.\nThe book of a market as of the head, by levels of price. Its bids come first, from the highest down, then its asks, from the lowest up. Empty where the pair is not registered.';
grant execute on function dex_book(text, text, integer) to dex_reader, dex_writer;
