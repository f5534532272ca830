-- The levels of a book that are of pools.

-- Up to a price that is 1 + r times the ask, a pool takes reserve × (√(1 + r) − 1) ÷ (1 − fee) of the quote token; down to
-- one that is 1 − r times the bid, reserve × (1 ÷ √(1 − r) − 1) ÷ (1 − fee) of the base token. That is rounded down to
-- the smallest unit, and what it gives for it is what the contract gives, which rounds down too. A level is what a band has
-- beyond the one before. The roots have 60 fractional digits: more than reserves have.
create function dex_private.pool_levels(market integer, block integer)
returns table (act text, price numeric, vol numeric, quote_vol numeric)
language sql stable
rows 20
as $$
  select
    level.act,
    level.price,
    dex_private.quotient(case level.act when 'sell' then level.given else level.taken end, round(10::numeric ^ level.base_precision)),
    dex_private.quotient(case level.act when 'sell' then level.taken else level.given end, round(10::numeric ^ level.quote_precision))
  from (
    select
      risen.act,
      risen.price,
      risen.base_precision,
      risen.quote_precision,
      risen.taken - lag(risen.taken, 1, 0::numeric) over in_order as taken,
      risen.given - lag(risen.given, 1, 0::numeric) over in_order as given
    from (
      select
        band.*,
        lag(band.given, 1, 0::numeric) over (partition by band.venue, band.act order by band.number) as given_before
      from (
        select
          pool.venue,
          side.act,
          step.number,
          side.price,
          pair.base_precision,
          pair.quote_precision,
          took.taken,
          div(took.taken * (1000000 - pool.fee) * side.reserve_out, side.reserve_in * 1000000 + took.taken * (1000000 - pool.fee)) as given
        from public.dex_pair as pair
        cross join lateral dex_private.pools_of(pair.id, pool_levels.block) as pool
        cross join generate_series(1, 10) as step (number)
        cross join lateral (
          select
            trunc(pool.base_amt * round(10::numeric ^ pair.base_precision)) as base_units,
            trunc(pool.quote_amt * round(10::numeric ^ pair.quote_precision)) as quote_units
        ) as has
        cross join lateral (
          values
            (
              'buy',
              dex_private.quotient(pool.quote_amt * (1000000 - pool.fee) * (1000 - 2 * step.number), pool.base_amt * 1000000000),
              has.base_units,
              has.quote_units,
              1000::numeric(80, 60) / (1000 - 2 * step.number)
            ),
            (
              'sell',
              dex_private.quotient(pool.quote_amt * (1000 + 2 * step.number) * 1000, pool.base_amt * (1000000 - pool.fee)),
              has.quote_units,
              has.base_units,
              (1000 + 2 * step.number)::numeric(80, 60) / 1000
            )
        ) as side (act, price, reserve_in, reserve_out, ratio)
        cross join lateral (
          select div(side.reserve_in * (sqrt(side.ratio) - 1) * 1000000, 1000000 - pool.fee) as taken
        ) as took
        where pair.id = pool_levels.market
      ) as band
    ) as risen
    -- A band that gives nothing more is part of the next one that does.
    where risen.given > risen.given_before
    window in_order as (partition by risen.venue, risen.act order by risen.number)
  ) as level
$$;
comment on function dex_private.pool_levels(integer, integer) is 'What the pools of a market traded within 2 % of their best prices after this block, in ten levels of each side, each at the worst price of its band.';
grant execute on function dex_private.pool_levels(integer, integer) to dex_reader, dex_writer;
