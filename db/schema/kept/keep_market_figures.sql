-- Updates the figures of the markets that a block changes.

-- The planner inlines it. Backward, because the newest version of a row is the last one under its key.
create function dex_private.newest_figure(market integer)
returns table (place tid, market_id integer, bid numeric, ask numeric, low numeric, high numeric)
language sql stable
rows 1
as $$
  select *
  from (
    select
      figure.ctid,
      figure.market_id,
      figure.bid,
      figure.ask,
      figure.low,
      figure.high
    from dex_private.market_figure as figure
    where figure.market_id <= newest_figure.market
    order by figure.market_id desc
    limit 1
  ) as kept
  where kept.market_id = newest_figure.market
$$;
comment on function dex_private.newest_figure(integer) is 'Where the figures of a market are, for the one update of a block, and those that it compares.';

-- Most blocks change no book, and the best price of pools takes long to begin.
create function dex_private.keep_best_prices(number integer, touched integer[], out changed dex_private.best_price[])
language plpgsql
as $$
begin
  if touched = '{}' then
    return;
  end if;
  with bettered as (
    insert into dex_private.best_price (market_id, act, block, price)
    select
      kept.market_id,
      side.act,
      keep_best_prices.number,
      side.price
    from (
      select distinct listed.market_id
      from unnest(touched) as listed (market_id)
    ) as given
    cross join lateral dex_private.newest_figure(given.market_id) as kept
    cross join lateral dex_private.best_offers(given.market_id) as best
    cross join lateral (
      values
        ('buy', best.bid, kept.bid),
        ('sell', best.ask, kept.ask)
    ) as side (act, price, price_before)
    where side.price is distinct from side.price_before
    returning best_price.*
  )
  select array_agg(bettered)
  into changed
  from bettered;
end
$$;
comment on function dex_private.keep_best_prices(integer, integer[]) is 'Records the best prices that are others than those of the market figures, of the markets whose book a block touched. Returns them.';

-- Adds the trades of the block, and subtracts those that the windows have left. Sums of numeric are exact, so
-- the result is the sum over the window. Each row is updated once. The next
-- writes read every version of it, for as long as a transaction is open that may read it.
create function dex_private.keep_market_figures(
  number integer,
  first_trade bigint,
  before timestamptz,
  after timestamptz,
  touched integer[]
) returns void
language plpgsql
as $$
declare
  bettered constant dex_private.best_price[] := dex_private.keep_best_prices(number, touched);
begin
  update dex_private.market_figure as kept
  set
    last = coalesce(moved.last, kept.last),
    last_time = case when moved.last is null then kept.last_time else keep_market_figures.after end,
    open = coalesce(moved.open, kept.open),
    bid = case when moved.has_bid then moved.bid else kept.bid end,
    ask = case when moved.has_ask then moved.ask else kept.ask end,
    low = least(case when moved.is_stale then (moved.range).low else kept.low end, moved.new_low),
    high = greatest(case when moved.is_stale then (moved.range).high else kept.high end, moved.new_high),
    trades_24h = kept.trades_24h + coalesce(moved.trades_24h, 0),
    base_24h = kept.base_24h + coalesce(moved.base_24h, 0),
    quote_24h = kept.quote_24h + coalesce(moved.quote_24h, 0),
    base_12h = kept.base_12h + coalesce(moved.base_12h, 0),
    quote_12h = kept.quote_12h + coalesce(moved.quote_12h, 0),
    base_6h = kept.base_6h + coalesce(moved.base_6h, 0),
    quote_6h = kept.quote_6h + coalesce(moved.quote_6h, 0),
    base_1h = kept.base_1h + coalesce(moved.base_1h, 0),
    quote_1h = kept.quote_1h + coalesce(moved.quote_1h, 0)
  from (
    select
      compared.*,
      -- running_sum does not have the block yet.
      case
        when compared.is_stale then
          dex_private.range_at(
            compared.market_id,
            row(keep_market_figures.number, keep_market_figures.after, 9223372036854775807)::dex_private.last_moment
          )
      end as range
    from (
      select
        change.*,
        newest.place,
        -- The lowest or highest trade has left the 24-hour window.
        change.old_low <= newest.low or change.old_high >= newest.high as is_stale
      from (
        select
          dealt.market_id,
          sum(dealt.day)::integer as trades_24h,
          sum(dealt.day * dealt.base_amt) as base_24h,
          sum(dealt.day * dealt.quote_amt) as quote_24h,
          sum(dealt.half_day * dealt.base_amt) as base_12h,
          sum(dealt.half_day * dealt.quote_amt) as quote_12h,
          sum(dealt.quarter_day * dealt.base_amt) as base_6h,
          sum(dealt.quarter_day * dealt.quote_amt) as quote_6h,
          sum(dealt.hour * dealt.base_amt) as base_1h,
          sum(dealt.hour * dealt.quote_amt) as quote_1h,
          min(dealt.price) filter (where dealt.day = 1) as new_low,
          max(dealt.price) filter (where dealt.day = 1) as new_high,
          min(dealt.price) filter (where dealt.day = -1) as old_low,
          max(dealt.price) filter (where dealt.day = -1) as old_high,
          (array_agg(dealt.price order by dealt.id desc) filter (where dealt.day = 1 and dealt.price is not null))[1]
            as last,
          (array_agg(dealt.price order by dealt.id desc) filter (where dealt.day = -1 and dealt.price is not null))[1]
            as open,
          bool_or(dealt.act = 'buy') as has_bid,
          min(dealt.best) filter (where dealt.act = 'buy') as bid,
          bool_or(dealt.act = 'sell') as has_ask,
          min(dealt.best) filter (where dealt.act = 'sell') as ask
        from (
          select
            trade.*,
            moved.day,
            moved.half_day,
            moved.quarter_day,
            moved.hour,
            null as act,
            null::numeric as best
          from (
            values
              (0, 1, 1, 1, 1),
              (24, -1, 0, 0, 0),
              (12, 0, -1, 0, 0),
              (6, 0, 0, -1, 0),
              (1, 0, 0, 0, -1)
          ) as moved (hours, day, half_day, quarter_day, hour)
          left join lateral dex_private.first_from(before - moved.hours * interval '1 hour' + interval '1 microsecond') as opening on true
          left join lateral dex_private.first_from(after - moved.hours * interval '1 hour' + interval '1 microsecond') as closing on true
          cross join lateral (
            select
              trades.id,
              trades.market_id,
              trades.price,
              dex_private.base_of(trades.act, trades.lot_amt, trades.bid_amt) as base_amt,
              dex_private.quote_of(trades.act, trades.lot_amt, trades.bid_amt) as quote_amt
            from public.dex_trade as trades
            where trades.id >= coalesce(opening.first_trade, keep_market_figures.first_trade)
              and trades.id < coalesce(closing.first_trade, 9223372036854775807)
            offset 0
          ) as trade
          union all
          select null, better.market_id, null, null, null, 0, 0, 0, 0, better.act, better.price
          from unnest(bettered) as better
        ) as dealt
        group by dealt.market_id
      ) as change
      cross join lateral dex_private.newest_figure(change.market_id) as newest
    ) as compared
    offset 0
  ) as moved
  -- Writers take turns, so the row is still at its place. Its key would lead through all its versions again.
  where kept.ctid = moved.place;
end
$$;
comment on function dex_private.keep_market_figures(integer, bigint, timestamptz, timestamptz, integer[]) is 'Updates the figures after one block. Adds its trades, which start at this id, and moves the windows from the old to the new time of the head. Reads bid and ask of the markets whose book it touched, and keeps them where they changed.';
