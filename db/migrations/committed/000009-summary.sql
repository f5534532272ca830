--! Previous: sha1:d50b28bb6ae78331e86fc0a2428ebbf7d7419f1d
--! Hash: sha1:54785a0cd4cd4587d7a03c2423acba28373cf1bd
--! Message: summary

-- The summary of each market: what stood 24 hours ago beside what stands now, and how much was traded
-- in between. The number of trades is kept as the sums are; nothing of a day is read for it.

alter table dex_private.minute_figure
add column trades integer not null default 0,
add column unpriced_trades integer,
add column unpriced_quote_amt numeric;
comment on column dex_private.minute_figure.trades is
  'How many trades.';
comment on column dex_private.minute_figure.unpriced_trades is
  'How many of the trades are of no base and so have no price. Null for none, as is the rule.';
comment on column dex_private.minute_figure.unpriced_quote_amt is
  'The part of quote_amt that is of trades without a price. Null for none.';

alter table dex_private.hour_figure
add column trades integer not null default 0,
add column unpriced_trades integer,
add column unpriced_quote_amt numeric;
comment on column dex_private.hour_figure.trades is
  'How many trades.';
comment on column dex_private.hour_figure.unpriced_trades is
  'How many of the trades are of no base and so have no price. Null for none, as is the rule.';
comment on column dex_private.hour_figure.unpriced_quote_amt is
  'The part of quote_amt that is of trades without a price. Null for none.';

alter table dex_private.head_figure
add column trades_24h integer not null default 0;

-- What is there is counted once, in order of its minutes.
update dex_private.minute_figure as kept
set
  trades = counted.trades,
  unpriced_trades = counted.unpriced_trades,
  unpriced_quote_amt = counted.unpriced_quote_amt
from (
  select
    trade.market_id,
    dex_private.minute_of(trade.time) as minute,
    count(*) as trades,
    nullif(count(*) filter (where trade.price is null), 0) as unpriced_trades,
    sum(trade.quote_amt) filter (where trade.price is null) as unpriced_quote_amt
  from dex_private.market_row as trade
  group by
    trade.market_id,
    dex_private.minute_of(trade.time)
) as counted
where kept.market_id = counted.market_id
  and kept.minute = counted.minute;

update dex_private.hour_figure as kept
set
  trades = counted.trades,
  unpriced_trades = counted.unpriced_trades,
  unpriced_quote_amt = counted.unpriced_quote_amt
from (
  select
    figure.market_id,
    dex_private.hour_of(figure.minute) as hour,
    sum(figure.trades) as trades,
    sum(figure.unpriced_trades) as unpriced_trades,
    sum(figure.unpriced_quote_amt) as unpriced_quote_amt
  from dex_private.minute_figure as figure
  group by
    figure.market_id,
    dex_private.hour_of(figure.minute)
) as counted
where kept.market_id = counted.market_id
  and kept.hour = counted.hour;

alter table dex_private.minute_figure
alter column trades drop default;
alter table dex_private.hour_figure
alter column trades drop default;
alter table dex_private.head_figure
alter column trades_24h drop default;

-- What most rows do not have is null in them, and takes no room.
create function dex_private.sum_or_null(one numeric, other numeric) returns numeric
language sql immutable parallel safe
as $$
  select case
    when one is null then other
    else one + coalesce(other, 0)
  end
$$;
comment on function dex_private.sum_or_null(numeric, numeric) is
  'The sum of what is not null; null when nothing is.';
revoke all on function dex_private.sum_or_null(numeric, numeric) from public;

create or replace function dex_private.add_figures() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into dex_private.minute_figure as kept (
    market_id, minute, base_amt, quote_amt, low, high, max_block,
    trades, unpriced_trades, unpriced_quote_amt
  )
  select
    added.market_id,
    dex_private.minute_of(added.time),
    sum(dex_private.base_of(added.act, added.lot_amt, added.bid_amt)),
    sum(dex_private.quote_of(added.act, added.lot_amt, added.bid_amt)),
    min(added.price),
    max(added.price),
    max(added.block),
    count(*),
    nullif(count(*) filter (where added.price is null), 0),
    sum(dex_private.quote_of(added.act, added.lot_amt, added.bid_amt)) filter (where added.price is null)
  from added
  where added.market_id is not null
  group by
    added.market_id,
    dex_private.minute_of(added.time)
  on conflict (market_id, minute) do update
  set
    base_amt = kept.base_amt + excluded.base_amt,
    quote_amt = kept.quote_amt + excluded.quote_amt,
    low = least(kept.low, excluded.low),
    high = greatest(kept.high, excluded.high),
    max_block = greatest(kept.max_block, excluded.max_block),
    trades = kept.trades + excluded.trades,
    unpriced_trades = dex_private.sum_or_null(kept.unpriced_trades, excluded.unpriced_trades),
    unpriced_quote_amt = dex_private.sum_or_null(kept.unpriced_quote_amt, excluded.unpriced_quote_amt);

  insert into dex_private.hour_figure as kept (
    market_id, hour, base_amt, quote_amt, low, high, max_block,
    trades, unpriced_trades, unpriced_quote_amt
  )
  select
    added.market_id,
    dex_private.hour_of(added.time),
    sum(dex_private.base_of(added.act, added.lot_amt, added.bid_amt)),
    sum(dex_private.quote_of(added.act, added.lot_amt, added.bid_amt)),
    min(added.price),
    max(added.price),
    max(added.block),
    count(*),
    nullif(count(*) filter (where added.price is null), 0),
    sum(dex_private.quote_of(added.act, added.lot_amt, added.bid_amt)) filter (where added.price is null)
  from added
  where added.market_id is not null
  group by
    added.market_id,
    dex_private.hour_of(added.time)
  on conflict (market_id, hour) do update
  set
    base_amt = kept.base_amt + excluded.base_amt,
    quote_amt = kept.quote_amt + excluded.quote_amt,
    low = least(kept.low, excluded.low),
    high = greatest(kept.high, excluded.high),
    max_block = greatest(kept.max_block, excluded.max_block),
    trades = kept.trades + excluded.trades,
    unpriced_trades = dex_private.sum_or_null(kept.unpriced_trades, excluded.unpriced_trades),
    unpriced_quote_amt = dex_private.sum_or_null(kept.unpriced_quote_amt, excluded.unpriced_quote_amt);
  return null;
end
$$;

create or replace function dex_private.recompute_figures(changed_markets integer[], changed_minutes timestamptz[])
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  delete from dex_private.minute_figure as kept
  using unnest(changed_markets, changed_minutes) as changed (market_id, minute)
  where kept.market_id = changed.market_id
    and kept.minute = changed.minute;

  insert into dex_private.minute_figure (
    market_id, minute, base_amt, quote_amt, low, high, max_block,
    trades, unpriced_trades, unpriced_quote_amt
  )
  select
    changed.market_id,
    changed.minute,
    sum(trade.base_amt),
    sum(trade.quote_amt),
    min(trade.price),
    max(trade.price),
    max(trade.block),
    count(*),
    nullif(count(*) filter (where trade.price is null), 0),
    sum(trade.quote_amt) filter (where trade.price is null)
  from (
    select distinct
      given.market_id,
      given.minute
    from unnest(changed_markets, changed_minutes) as given (market_id, minute)
  ) as changed
  join dex_private.market_row as trade
    on trade.market_id = changed.market_id
    and trade.time >= changed.minute
    and trade.time < changed.minute + interval '1 minute'
  group by
    changed.market_id,
    changed.minute;

  delete from dex_private.hour_figure as kept
  using unnest(changed_markets, changed_minutes) as changed (market_id, minute)
  where kept.market_id = changed.market_id
    and kept.hour = dex_private.hour_of(changed.minute);

  insert into dex_private.hour_figure (
    market_id, hour, base_amt, quote_amt, low, high, max_block,
    trades, unpriced_trades, unpriced_quote_amt
  )
  select
    changed.market_id,
    changed.hour,
    sum(figure.base_amt),
    sum(figure.quote_amt),
    min(figure.low),
    max(figure.high),
    max(figure.max_block),
    sum(figure.trades),
    sum(figure.unpriced_trades),
    sum(figure.unpriced_quote_amt)
  from (
    select distinct
      given.market_id,
      dex_private.hour_of(given.minute) as hour
    from unnest(changed_markets, changed_minutes) as given (market_id, minute)
  ) as changed
  join dex_private.minute_figure as figure
    on figure.market_id = changed.market_id
    and figure.minute >= changed.hour
    and figure.minute < changed.hour + interval '1 hour'
  group by
    changed.market_id,
    changed.hour;
end
$$;

create or replace view dex_private.loose_minute as
select
  figure.market_id,
  figure.minute,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high,
  figure.max_block,
  figure.trades
from dex_private.as_of
join dex_private.minute_figure as figure
  on figure.minute >= dex_private.hour_of(as_of.time)
  and figure.minute <= as_of.time - interval '1 minute'
union all
select
  late.market_id,
  figure.minute,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high,
  figure.max_block,
  figure.trades
from dex_private.as_of
join dex_private.hour_figure as late
  on late.hour >= dex_private.hour_of(as_of.time - interval '24 hours')
  and late.hour <= as_of.time - interval '1 hour'
  and late.max_block > as_of.max_block
cross join lateral (
  select *
  from dex_private.minute_figure as minutes
  where minutes.market_id = late.market_id
    and minutes.minute >= late.hour
    and minutes.minute < late.hour + interval '1 hour'
  offset 0
) as figure;

create or replace view dex_private.window_piece as
-- Whole hours.
select
  figure.market_id,
  figure.hour as start,
  null::integer as only_hours,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high,
  figure.trades
from dex_private.as_of
join dex_private.hour_figure as figure
  on figure.hour > as_of.time - interval '24 hours'
  and figure.hour <= as_of.time - interval '1 hour'
  and figure.max_block <= as_of.max_block
union all
-- Whole minutes of the hour in which a window starts.
select
  figure.market_id,
  figure.minute,
  span.hours,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high,
  figure.trades
from dex_private.figure_window as span
join dex_private.hour_figure as cut
  on cut.hour = dex_private.hour_of(span.after)
  and cut.max_block <= span.max_block
join dex_private.minute_figure as figure
  on figure.market_id = cut.market_id
  and figure.minute >= cut.hour
  and figure.minute > span.after
  and figure.minute < cut.hour + interval '1 hour'
union all
-- Trades of the minute in which a window starts.
select
  trade.market_id,
  trade.time,
  span.hours,
  trade.base_amt,
  trade.quote_amt,
  trade.price,
  trade.price,
  1
from dex_private.figure_window as span
join dex_private.minute_figure as cut
  on cut.minute = dex_private.minute_of(span.after)
  and cut.max_block <= span.max_block
join dex_private.market_row as trade
  on trade.market_id = cut.market_id
  and trade.time >= cut.minute
  and trade.time > span.after
  and trade.time < cut.minute + interval '1 minute'
union all
-- Whole minutes that no whole hour stands for.
select
  figure.market_id,
  figure.minute,
  null,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high,
  figure.trades
from dex_private.as_of
join dex_private.loose_minute as figure
  on figure.minute > as_of.time - interval '24 hours'
  and figure.max_block <= as_of.max_block
union all
-- Trades of the head's own minute.
select
  trade.market_id,
  trade.time,
  null,
  trade.base_amt,
  trade.quote_amt,
  trade.price,
  trade.price,
  1
from dex_private.as_of
join dex_private.market_row as trade
  on trade.time >= dex_private.minute_of(as_of.time)
  and trade.time <= as_of.time
  and trade.block <= as_of.max_block
union all
-- Trades of minutes with trades after the head.
select
  late.market_id,
  trade.time,
  null,
  trade.base_amt,
  trade.quote_amt,
  trade.price,
  trade.price,
  1
from dex_private.as_of
join dex_private.loose_minute as late on late.max_block > as_of.max_block
cross join lateral (
  select *
  from dex_private.market_row as trades
  where trades.market_id = late.market_id
    and trades.time >= late.minute
    and trades.time < late.minute + interval '1 minute'
  offset 0
) as trade
where trade.time > as_of.time - interval '24 hours'
  and trade.block <= as_of.max_block;

create or replace view dex_private.window_figure as
select
  pair.id as market_id,
  day.base_24h,
  day.quote_24h,
  day.base_12h,
  day.quote_12h,
  day.base_6h,
  day.quote_6h,
  day.base_1h,
  day.quote_1h,
  day.low,
  day.high,
  day.trades_24h
from public.dex_pair as pair
cross join dex_private.as_of
cross join lateral (
  select
    sum(piece.base_amt) filter (where counts.in_24h) as base_24h,
    sum(piece.quote_amt) filter (where counts.in_24h) as quote_24h,
    sum(piece.base_amt) filter (where counts.in_12h) as base_12h,
    sum(piece.quote_amt) filter (where counts.in_12h) as quote_12h,
    sum(piece.base_amt) filter (where counts.in_6h) as base_6h,
    sum(piece.quote_amt) filter (where counts.in_6h) as quote_6h,
    sum(piece.base_amt) filter (where counts.in_1h) as base_1h,
    sum(piece.quote_amt) filter (where counts.in_1h) as quote_1h,
    min(piece.low) filter (where counts.in_24h) as low,
    max(piece.high) filter (where counts.in_24h) as high,
    coalesce(sum(piece.trades) filter (where counts.in_24h), 0)::integer as trades_24h
  from dex_private.window_piece as piece
  cross join lateral (
    select
      coalesce(piece.only_hours = 24, true) as in_24h,
      piece.start > as_of.time - interval '12 hours' and coalesce(piece.only_hours = 12, true) as in_12h,
      piece.start > as_of.time - interval '6 hours' and coalesce(piece.only_hours = 6, true) as in_6h,
      piece.start > as_of.time - interval '1 hour' and coalesce(piece.only_hours = 1, true) as in_1h
  ) as counts
  where piece.market_id = pair.id
) as day;

create or replace function dex_private.move_figures() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  old_head public.dex_head;
  new_head public.dex_head;
begin
  select *
  into new_head
  from public.dex_head;

  if new_head.time is null then
    delete from dex_private.head_figure;
    return null;
  end if;

  if tg_op = 'UPDATE' then
    select *
    into old_head
    from replaced;
  end if;

  if old_head.time is null then
    delete from dex_private.head_figure;
  elsif old_head is distinct from new_head then
    -- The figures of a market change with what the head comes to or leaves, by block or by time, and
    -- with what a window's start passes.
    delete from dex_private.head_figure as kept
    where exists (
        select
        from dex_private.hour_figure as figure
        where figure.market_id = kept.market_id
          and figure.hour >= dex_private.hour_of(least(old_head.time, new_head.time) - interval '24 hours')
          and figure.hour <= greatest(old_head.time, new_head.time)
          and figure.max_block > least(old_head.block, new_head.block)
      )
      or exists (
        select
        from (values (0), (1), (6), (12), (24)) as span (hours)
        cross join lateral (
          select
          from public.dex_trade as trade
          where trade.market_id = kept.market_id
            and trade.time > least(old_head.time, new_head.time) - span.hours * interval '1 hour'
            and trade.time <= greatest(old_head.time, new_head.time) - span.hours * interval '1 hour'
          offset 0
        ) as passed
      );
  end if;

  -- Planned for what is there now: a plan of a session's start is for tables that were as good as empty.
  execute $statement$
    insert into dex_private.head_figure (
      market_id,
      base_24h,
      quote_24h,
      base_12h,
      quote_12h,
      base_6h,
      quote_6h,
      base_1h,
      quote_1h,
      low,
      high,
      trades_24h
    )
    select
      figure.market_id,
      figure.base_24h,
      figure.quote_24h,
      figure.base_12h,
      figure.quote_12h,
      figure.base_6h,
      figure.quote_6h,
      figure.base_1h,
      figure.quote_1h,
      figure.low,
      figure.high,
      figure.trades_24h
    from dex_private.window_figure as figure
    where not exists (
      select
      from dex_private.head_figure as kept
      where kept.market_id = figure.market_id
    )
  $statement$;
  return null;
end
$$;

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
  (
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
  ) as last,
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
    (
      select max(offer.price)
      from dex_private.ended_offer as offer
      where offer.market_id = pair.id
        and offer.act = 'buy'
    )
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
    (
      select min(offer.price)
      from dex_private.ended_offer as offer
      where offer.market_id = pair.id
        and offer.act = 'sell'
    )
  ) as ask,
  day.quote_24h as quote_vol,
  day.trades_24h as trades,
  (
    -- Of the trade whose price is last.
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
  ) as last_time,
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
cross join lateral (
  select
    kept.base_24h,
    kept.quote_24h,
    kept.base_12h,
    kept.quote_12h,
    kept.base_6h,
    kept.quote_6h,
    kept.base_1h,
    kept.quote_1h,
    kept.low,
    kept.high,
    kept.trades_24h
  from dex_private.head_figure as kept
  where kept.market_id = pair.id
  union all
  select
    figure.base_24h,
    figure.quote_24h,
    figure.base_12h,
    figure.quote_12h,
    figure.base_6h,
    figure.quote_6h,
    figure.base_1h,
    figure.quote_1h,
    figure.low,
    figure.high,
    figure.trades_24h
  -- `offset 0` has the windows computed for no market but those that are missing.
  from (
    select pair.id as market_id
    where not exists (
      select
      from dex_private.head_figure as kept
      where kept.market_id = pair.id
    )
    offset 0
  ) as missing
  join dex_private.window_figure as figure on figure.market_id = missing.market_id
) as day;

create view dex_summary as
select
  figure.pair,
  figure.base,
  figure.quote,
  prices.last,
  figure.last_time,
  prices.open,
  prices.change,
  sign(prices.change) * dex_private.quotient(abs(prices.change) * 100, prices.open) as percent,
  figure.low,
  figure.high,
  figure.vwap24h as vwap,
  figure.vol,
  figure.quote_vol,
  figure.trades,
  prices.bid,
  prices.ask,
  prices.ask - prices.bid as spread
from dex_private.market_figure as figure
-- What several columns are computed from is looked up once.
cross join lateral (
  select
    found.last,
    found.open,
    found.last - found.open as change,
    found.bid,
    found.ask
  from (
    select
      figure.last,
      figure.open,
      figure.bid,
      figure.ask
    offset 0
  ) as found
  offset 0
) as prices;

comment on view dex_summary is
  E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexSummary|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The last 24 hours of this pair as of the head. Never null.\nThe last 24 hours of each registered market as of the head: (t - 24 h, t].';
comment on column dex_summary.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_summary.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_summary.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_summary.last is
  'Price of the most recent trade, however old, quote per base. Null before the first.';
comment on column dex_summary.last_time is
  'Block time of that trade. Null before the first.';
comment on column dex_summary.open is
  'Price that stood 24 hours ago: of the most recent trade at or before t - 24 h, quote per base. Null where there was none yet.';
comment on column dex_summary.change is
  'last - open, quote per base; below zero where the price fell. Null where one of them is.';
comment on column dex_summary.percent is
  'change in percent of open, 18 fractional digits. Null where change is, or open is 0.';
comment on column dex_summary.low is
  'Lowest price of a trade over the last 24 hours, quote per base. Null without one.';
comment on column dex_summary.high is
  'Highest price of a trade over the last 24 hours, quote per base. Null without one.';
comment on column dex_summary.vwap is
  'Volume weighted price over the last 24 hours, quote per base: quoteVol ÷ vol, 18 fractional digits. Null without a trade in them.';
comment on column dex_summary.vol is
  'Volume over the last 24 hours, in base units. Null without a trade in them.';
comment on column dex_summary.quote_vol is
  'Volume over the last 24 hours, in quote units. Null without a trade in them.';
comment on column dex_summary.trades is E'@notNull\nNumber of trades over the last 24 hours, those of no base included, which have no price.';
comment on column dex_summary.bid is
  'Innermost bid: the highest price of the open offers that buy base, quote per base. Null when there is none.';
comment on column dex_summary.ask is
  'Innermost ask: the lowest price of the open offers that sell base, quote per base. Null when there is none.';
comment on column dex_summary.spread is
  'ask - bid, quote per base; below zero where the two overlap. Null where one of them is.';
grant select on dex_summary to dex_reader, dex_writer;

-- What was kept before this is computed at once.
delete from dex_private.head_figure;
update dex_head
set block = block;
