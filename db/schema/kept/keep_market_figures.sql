-- Updates the figures of the markets that a block changes.

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
begin
  with dealt as materialized (
    select
      trade.*,
      moved.day,
      moved.half_day,
      moved.quarter_day,
      moved.hour
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
  ),
  change as materialized (
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
        as open
    from dealt
    group by dealt.market_id
  ),
  moved_to as (
    select
      kept.market_id,
      kept.place,
      change.last,
      change.open,
      change.new_low,
      change.new_high,
      change.trades_24h,
      change.base_24h,
      change.quote_24h,
      change.base_12h,
      change.quote_12h,
      change.base_6h,
      change.quote_6h,
      change.base_1h,
      change.quote_1h,
      kept.bid as old_bid,
      kept.ask as old_ask,
      best.is_touched,
      best.bid as new_bid,
      best.ask as new_ask,
      -- The lowest or highest trade has left the 24-hour window.
      coalesce(change.old_low <= kept.low or change.old_high >= kept.high, false) as is_stale
    from (
      select change.market_id
      from change
      union
      select given.market_id
      from unnest(touched) as given (market_id)
    ) as affected
    -- Backward, because the newest version of a row is the last one under its key.
    join lateral (
      select
        figure.ctid as place,
        figure.market_id,
        figure.bid,
        figure.ask,
        figure.low,
        figure.high
      from dex_private.market_figure as figure
      where figure.market_id <= affected.market_id
      order by figure.market_id desc
      limit 1
    ) as kept on kept.market_id = affected.market_id
    left join change on change.market_id = affected.market_id
    left join lateral (
      select
        true as is_touched,
        offers.bid,
        offers.ask
      from dex_private.best_offers(affected.market_id) as offers
      where affected.market_id = any (touched)
      offset 0
    ) as best on true
    where change.market_id is not null
      or (kept.bid, kept.ask) is distinct from (best.bid, best.ask)
  ),
  bettered as (
    insert into dex_private.best_price (market_id, act, block, price)
    select
      moved_to.market_id,
      side.act,
      keep_market_figures.number,
      side.price
    from moved_to
    cross join lateral (
      values
        ('buy', moved_to.new_bid, moved_to.old_bid),
        ('sell', moved_to.new_ask, moved_to.old_ask)
    ) as side (act, price, price_before)
    where moved_to.is_touched
      and side.price is distinct from side.price_before
  ),
  day as (
    select
      moved_to.*,
      -- running_sum does not have the block yet.
      least(found.low, moved_to.new_low) as found_low,
      greatest(found.high, moved_to.new_high) as found_high
    from moved_to
    left join lateral (
      select
        prices.low,
        prices.high
      from dex_private.last_moment as moment
      cross join lateral dex_private.range_at(moved_to.market_id, moment) as prices
      where moved_to.is_stale
      offset 0
    ) as found on true
  )
  update dex_private.market_figure as kept
  set
    last = coalesce(day.last, kept.last),
    last_time = case when day.last is null then kept.last_time else keep_market_figures.after end,
    open = coalesce(day.open, kept.open),
    bid = case when day.is_touched then day.new_bid else kept.bid end,
    ask = case when day.is_touched then day.new_ask else kept.ask end,
    low = case when day.is_stale then day.found_low else least(kept.low, day.new_low) end,
    high = case when day.is_stale then day.found_high else greatest(kept.high, day.new_high) end,
    trades_24h = kept.trades_24h + coalesce(day.trades_24h, 0),
    base_24h = kept.base_24h + coalesce(day.base_24h, 0),
    quote_24h = kept.quote_24h + coalesce(day.quote_24h, 0),
    base_12h = kept.base_12h + coalesce(day.base_12h, 0),
    quote_12h = kept.quote_12h + coalesce(day.quote_12h, 0),
    base_6h = kept.base_6h + coalesce(day.base_6h, 0),
    quote_6h = kept.quote_6h + coalesce(day.quote_6h, 0),
    base_1h = kept.base_1h + coalesce(day.base_1h, 0),
    quote_1h = kept.quote_1h + coalesce(day.quote_1h, 0)
  from day
  -- Writers take turns, so the row is still at its place. Its key would lead through all its versions again.
  where kept.ctid = day.place;
end
$$;
comment on function dex_private.keep_market_figures(integer, bigint, timestamptz, timestamptz, integer[]) is 'Updates the figures after one block. Adds its trades, which start at this id, and moves the windows from the old to the new time of the head. Reads bid and ask of the markets whose book it touched, and keeps them where they changed.';
