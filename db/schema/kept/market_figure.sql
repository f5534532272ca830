-- All figures of each market as of the head.

create table dex_private.market_figure (
  market_id integer
    constraint market_figure_pkey primary key,
  last numeric,
  last_time timestamptz,
  open numeric,
  bid numeric,
  ask numeric,
  low numeric,
  high numeric,
  trades_24h integer not null,
  base_24h numeric not null,
  quote_24h numeric not null,
  base_12h numeric not null,
  quote_12h numeric not null,
  base_6h numeric not null,
  quote_6h numeric not null,
  base_1h numeric not null,
  quote_1h numeric not null
)
with (fillfactor = 50);
comment on table dex_private.market_figure is 'The figures of each registered market as of the head. Every write updates them.';
comment on column dex_private.market_figure.last is 'The price of the newest trade that has a price.';
comment on column dex_private.market_figure.last_time is 'The time of that trade.';
comment on column dex_private.market_figure.open is 'The price of the newest trade with a price at or before t - 24 h.';
comment on column dex_private.market_figure.low is 'The lowest price of the last 24 hours; high and trades_24h cover the same window.';
comment on column dex_private.market_figure.base_24h is 'The sum of the base amounts over (t - 24 h, t]; the other sums likewise.';
grant select on dex_private.market_figure to dex_reader, dex_writer;

-- The windows that end at the head. Each window starts within a minute, whose trades it covers in part.
create view dex_private.figure_window as
select
  span.hours,
  span.after,
  dex_private.first_trade_from(span.after + interval '1 microsecond') as first_trade,
  dex_private.first_trade_from(dex_private.minute_of(span.after) + interval '1 minute') as beyond_trade
from (
  select
    length.hours,
    as_of.time - length.hours * interval '1 hour' as after
  from dex_private.as_of
  cross join (
    values (24), (12), (6), (1)
  ) as length (hours)
  offset 0
) as span;
comment on view dex_private.figure_window is 'The windows (t - W, t]: the id of their first trade, and of the first trade after the minute in which they start.';

-- A window is the sum of its whole hours, of the minutes from its start to the next hour, and of the trades
-- from its start to the next minute.
create function dex_private.window_of(market integer, span dex_private.figure_window)
returns table (trades integer, base_amt numeric, quote_amt numeric, low numeric, high numeric)
language sql stable
rows 1
as $$
  select
    coalesce(sum(piece.trades), 0)::integer,
    coalesce(sum(piece.base_amt), 0.000000000000000000),
    coalesce(sum(piece.quote_amt), 0.000000000000000000),
    min(piece.low),
    max(piece.high)
  from (
    select
      figure.trades,
      figure.base_amt,
      figure.quote_amt,
      figure.low,
      figure.high
    from (
      values
        (60, dex_private.hour_of(span.after), 'infinity'),
        (1, dex_private.minute_of(span.after), dex_private.hour_of(span.after) + interval '1 hour')
    ) as whole (minutes, after, before)
    cross join lateral (
      select *
      from dex_private.period_figure as figures
      where figures.market_id = window_of.market
        and figures.minutes = whole.minutes
        and figures.start > whole.after
        and figures.start < whole.before
      offset 0
    ) as figure
    union all
    select
      1,
      dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt),
      dex_private.quote_of(trade.act, trade.lot_amt, trade.bid_amt),
      trade.price,
      trade.price
    from public.dex_trade as trade
    where trade.market_id = window_of.market
      and trade.id >= span.first_trade
      and trade.id < span.beyond_trade
  ) as piece
$$;
comment on function dex_private.window_of(integer, dex_private.figure_window) is 'The sums and the price range of a market in a window that ends at the head.';

create function dex_private.best_offers(market integer)
returns table (bid numeric, ask numeric)
language sql stable
rows 1
as $$
  select
    (
      select max(offer.price)
      from dex_private.standing_offer as offer
      where offer.market_id = best_offers.market
        and offer.act = 'buy'
    ),
    (
      select min(offer.price)
      from dex_private.standing_offer as offer
      where offer.market_id = best_offers.market
        and offer.act = 'sell'
    )
$$;
comment on function dex_private.best_offers(integer) is 'The best prices of a market''s standing book.';

create function dex_private.derived_market_figures(markets integer[])
returns setof dex_private.market_figure
language sql stable
as $$
  select
    given.market_id,
    newest.price,
    newest.time,
    opening.price,
    best.*,
    traded.*
  from unnest(markets) as given (market_id)
  cross join lateral dex_private.best_offers(given.market_id) as best
  cross join lateral (
    select
      max(piece.low) filter (where span.hours = 24) as low,
      max(piece.high) filter (where span.hours = 24) as high,
      max(piece.trades) filter (where span.hours = 24) as trades_24h,
      max(piece.base_amt) filter (where span.hours = 24) as base_24h,
      max(piece.quote_amt) filter (where span.hours = 24) as quote_24h,
      max(piece.base_amt) filter (where span.hours = 12) as base_12h,
      max(piece.quote_amt) filter (where span.hours = 12) as quote_12h,
      max(piece.base_amt) filter (where span.hours = 6) as base_6h,
      max(piece.quote_amt) filter (where span.hours = 6) as quote_6h,
      max(piece.base_amt) filter (where span.hours = 1) as base_1h,
      max(piece.quote_amt) filter (where span.hours = 1) as quote_1h
    from dex_private.figure_window as span
    cross join lateral dex_private.window_of(given.market_id, span) as piece
  ) as traded
  cross join dex_private.as_of
  left join lateral dex_private.priced_before(given.market_id, as_of.time) as newest on true
  left join lateral dex_private.priced_before(given.market_id, as_of.time - interval '24 hours') as opening on true
$$;
comment on function dex_private.derived_market_figures(integer[]) is 'The correct rows of market_figure for these markets, computed from hours, minutes, trades and the standing book.';

create function dex_private.derive_market_figures(markets integer[]) returns void
language plpgsql
as $$
begin
  delete from dex_private.market_figure as kept
  where kept.market_id = any (markets);

  insert into dex_private.market_figure
  select *
  from dex_private.derived_market_figures(markets);
end
$$;
comment on function dex_private.derive_market_figures(integer[]) is 'Recomputes the figures of these markets; the array must have no duplicates.';

-- Adds the trades of the block, and subtracts those that the windows have left. Sums of numeric are exact, so
-- the result is the sum over the window.
create function dex_private.keep_market_figures(
  first_trade bigint,
  before timestamptz,
  after timestamptz
) returns void
language plpgsql
as $$
declare
  stale integer[];
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
  changed as (
    update dex_private.market_figure as kept
    set
      last = coalesce(change.last, kept.last),
      last_time = case when change.last is null then kept.last_time else keep_market_figures.after end,
      open = coalesce(change.open, kept.open),
      low = least(kept.low, change.new_low),
      high = greatest(kept.high, change.new_high),
      trades_24h = kept.trades_24h + change.trades_24h,
      base_24h = kept.base_24h + change.base_24h,
      quote_24h = kept.quote_24h + change.quote_24h,
      base_12h = kept.base_12h + change.base_12h,
      quote_12h = kept.quote_12h + change.quote_12h,
      base_6h = kept.base_6h + change.base_6h,
      quote_6h = kept.quote_6h + change.quote_6h,
      base_1h = kept.base_1h + change.base_1h,
      quote_1h = kept.quote_1h + change.quote_1h
    from change
    where kept.market_id = change.market_id
    returning
      kept.market_id,
      change.old_low <= kept.low or change.old_high >= kept.high as is_stale
  )
  select array_agg(changed.market_id)
  into stale
  from changed
  where changed.is_stale;

  -- The lowest or highest trade has left the 24-hour window.
  if stale is not null then
    update dex_private.market_figure as kept
    set
      low = found.low,
      high = found.high
    from (
      select
        given.market_id,
        day.low,
        day.high
      from unnest(stale) as given (market_id)
      join dex_private.figure_window as span on span.hours = 24
      cross join lateral dex_private.window_of(given.market_id, span) as day
    ) as found
    where kept.market_id = found.market_id;
  end if;
end
$$;
comment on function dex_private.keep_market_figures(bigint, timestamptz, timestamptz) is 'Updates the figures after one block: adds its trades, which start at this id, and moves the windows from the old to the new time of the head.';

create function dex_private.keep_best_offers(markets integer[]) returns void
language plpgsql
as $$
begin
  update dex_private.market_figure as kept
  set
    bid = best.bid,
    ask = best.ask
  from (
    select distinct given.market_id
    from unnest(markets) as given (market_id)
  ) as touched
  cross join lateral (
    select *
    from dex_private.best_offers(touched.market_id)
    offset 0
  ) as best
  where kept.market_id = touched.market_id
    and (kept.bid, kept.ask) is distinct from (best.bid, best.ask);
end
$$;
comment on function dex_private.keep_best_offers(integer[]) is 'Updates bid and ask of these markets from the standing book.';
