-- The levels of a book that are of pools.

-- Up to a price that is 1 + r times the ask, a pool with reserves takes reserve × (√(1 + r) − 1) ÷ (1 − fee) of the quote token. Down
-- to one that is 1 − r times the bid, it takes reserve × (1 ÷ √(1 − r) − 1) ÷ (1 − fee) of the base token. That is rounded down to
-- the smallest unit, and what it gives for it is what the contract gives, which rounds down too. A pool with ranges does the same, range by
-- range. A level is what a band has beyond the one before. The roots have 100 fractional digits: reserves have at most 78 digits. In
-- plpgsql, for the reason of past_book.
create function dex_private.pool_levels(market integer, block integer)
returns table (act text, price numeric, vol numeric, quote_vol numeric)
language plpgsql stable
rows 20
as $$
#variable_conflict use_column
begin
  return query
    with side as (
      select
        pool.*,
        given.act as side,
        given.act = pool.act as rises
      from dex_private.pools_of(pool_levels.market, pool_levels.block) as pool
      cross join (values ('buy'), ('sell')) as given (act)
    ),
    edge as (
      select
        side.*,
        step.number,
        pair.base_precision,
        pair.quote_precision,
        ratio.dividend / ratio.divisor as ratio,
        sqrt(case when side.rises then ratio.dividend / ratio.divisor else ratio.divisor / ratio.dividend end) as root,
        case side.side
          when 'buy' then dex_private.quotient(side.quote_amt * (1000000 - side.fee) * ratio.divisor, side.base_amt * 1000000000)
          else dex_private.quotient(side.quote_amt * ratio.dividend * 1000, side.base_amt * (1000000 - side.fee))
        end as price
      from side
      join public.dex_pair as pair on pair.id = pool_levels.market
      cross join generate_series(1, 10) as step (number)
      cross join lateral (
        select
          case side.side when 'buy' then 1000 else 1000 + 2 * step.number end::numeric(120, 100) as dividend,
          case side.side when 'buy' then 1000 - 2 * step.number else 1000 end::numeric(120, 100) as divisor
      ) as ratio
    ),
    reserve_band as (
      select
        edge.venue,
        edge.side,
        edge.number,
        took.taken,
        div(took.taken * (1000000 - edge.fee) * has.reserve_out, has.reserve_in * 1000000 + took.taken * (1000000 - edge.fee)) as given
      from edge
      cross join lateral (
        select
          trunc(edge.base_amt * round(10::numeric ^ edge.base_precision)) as base_units,
          trunc(edge.quote_amt * round(10::numeric ^ edge.quote_precision)) as quote_units
      ) as units
      cross join lateral (
        select
          case edge.side when 'buy' then units.base_units else units.quote_units end as reserve_in,
          case edge.side when 'buy' then units.quote_units else units.base_units end as reserve_out
      ) as has
      cross join lateral (
        select div(has.reserve_in * (sqrt(edge.ratio) - 1) * 1000000, 1000000 - edge.fee) as taken
      ) as took
      where edge.sqrt_price is null
    ),
    range as materialized (
      select
        side.venue,
        side.side,
        range.*
      from side
      cross join lateral dex_private.pool_ranges(
        side.venue, pool_levels.block, side.rises, side.sqrt_price, side.tick, side.liquidity, side.fee, side.tick_spacing
      ) as range
      where side.sqrt_price is not null
    ),
    range_band as (
      select
        edge.venue,
        edge.side,
        edge.number,
        range.taken_before + took.taken as taken,
        range.given_before
          + coalesce(dex_private.range_given(edge.rises, range.liquidity, range.start_price, took.taken, edge.fee), 0) as given
      from edge
      cross join lateral (
        -- A contract stops within the prices of the ticks 887272 and -887272.
        select
          case
            when edge.rises then least(floor(edge.sqrt_price * edge.root), 1461446703485210103287273052203988822378723970341)
            else greatest(ceil(edge.sqrt_price * edge.root), 4295128740)
          end as price
      ) as target
      join range
        on range.venue = edge.venue
        and range.side = edge.side
        and case
          when edge.rises then target.price >= range.start_price and target.price < range.end_price
          else target.price <= range.start_price and target.price > range.end_price
        end
      cross join lateral (
        select dex_private.range_amount(edge.rises, range.liquidity, range.start_price, target.price, 1000000 - edge.fee) as taken
      ) as took
      where edge.sqrt_price is not null
    )
    select
      level.side,
      level.price,
      dex_private.quotient(case level.side when 'sell' then level.given else level.taken end, round(10::numeric ^ level.base_precision)),
      dex_private.quotient(case level.side when 'sell' then level.taken else level.given end, round(10::numeric ^ level.quote_precision))
    from (
      select
        risen.side,
        risen.price,
        risen.base_precision,
        risen.quote_precision,
        risen.taken - lag(risen.taken, 1, 0::numeric) over in_order as taken,
        risen.given - lag(risen.given, 1, 0::numeric) over in_order as given
      from (
        select
          edge.*,
          band.taken,
          band.given,
          lag(band.given, 1, 0::numeric) over (partition by edge.venue, edge.side order by edge.number) as given_before
        from edge
        join (
          select * from reserve_band
          union all
          select * from range_band
        ) as band using (venue, side, number)
      ) as risen
      -- A band that gives nothing more is part of the next one that does.
      where risen.given > risen.given_before
      window in_order as (partition by risen.venue, risen.side order by risen.number)
    ) as level;
end
$$;
comment on function dex_private.pool_levels(integer, integer) is 'What the pools of a market traded within 2 % of their best prices after this block. Each side has ten levels, each at the worst price of its band.';
grant execute on function dex_private.pool_levels(integer, integer) to dex_reader, dex_writer;
