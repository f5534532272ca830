--! Previous: sha1:6b0560f7258cd0410532f4d46f9689e4c467d5ee
--! Hash: sha1:2da67de94d7b700a004e3bdd2f0bc53ce34fd088
--! Message: statistics

-- Sums of trades by minute and hour, so that a figure over a window need not read the window's
-- trades. Kept by the write itself; sums of numeric are exact, so that what is read from them is what
-- the trades would give, digit for digit.

create table dex_private.minute_figure (
  market_id integer not null,
  minute timestamptz not null,
  base_amt numeric not null,
  quote_amt numeric not null,
  low numeric,
  high numeric,
  max_block integer not null,
  constraint minute_figure_pkey primary key (market_id, minute)
);
comment on table dex_private.minute_figure is
  'What the trades of a market amount to that are of one minute, and the last block among them.';

create table dex_private.hour_figure (
  market_id integer not null,
  hour timestamptz not null,
  base_amt numeric not null,
  quote_amt numeric not null,
  low numeric,
  high numeric,
  max_block integer not null,
  constraint hour_figure_pkey primary key (market_id, hour)
);
comment on table dex_private.hour_figure is
  'What the trades of a market amount to that are of one hour, and the last block among them.';

-- The bounds of minutes and hours do not depend on a session's time zone.
create function dex_private.minute_of(moment timestamptz) returns timestamptz
language sql immutable parallel safe
as $$
  select date_bin('1 minute', moment, 'epoch')
$$;
comment on function dex_private.minute_of(timestamptz) is
  'The start of the minute that the moment is in.';

create function dex_private.hour_of(moment timestamptz) returns timestamptz
language sql immutable parallel safe
as $$
  select date_bin('1 hour', moment, 'epoch')
$$;
comment on function dex_private.hour_of(timestamptz) is
  'The start of the hour that the moment is in.';

-- A trade's two amounts by base and quote, from the maker's side of the base token.
create function dex_private.base_of(act text, lot_amt numeric, bid_amt numeric) returns numeric
language sql immutable parallel safe
as $$
  select case act when 'sell' then lot_amt else bid_amt end
$$;
comment on function dex_private.base_of(text, numeric, numeric) is
  'The amount of the base token: the lot of a maker who sells, the bid of one who buys.';
revoke all on function dex_private.base_of(text, numeric, numeric) from public;
grant execute on function dex_private.base_of(text, numeric, numeric) to dex_reader, dex_writer;

create function dex_private.quote_of(act text, lot_amt numeric, bid_amt numeric) returns numeric
language sql immutable parallel safe
as $$
  select case act when 'sell' then bid_amt else lot_amt end
$$;
comment on function dex_private.quote_of(text, numeric, numeric) is
  'The amount of the quote token: the bid of a maker who sells, the lot of one who buys.';
revoke all on function dex_private.quote_of(text, numeric, numeric) from public;
grant execute on function dex_private.quote_of(text, numeric, numeric) to dex_reader, dex_writer;

-- The trades of registered markets, with base and quote in place of lot and bid.
create view dex_private.market_row as
select
  trade.id,
  trade.market_id,
  trade.price,
  dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt) as base_amt,
  dex_private.quote_of(trade.act, trade.lot_amt, trade.bid_amt) as quote_amt,
  trade.block,
  trade.idx,
  trade.time
from public.dex_trade as trade
where trade.market_id is not null;
comment on view dex_private.market_row is
  'All trades of registered markets, by base and quote.';

create function dex_private.add_figures() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into dex_private.minute_figure as kept (
    market_id, minute, base_amt, quote_amt, low, high, max_block
  )
  select
    added.market_id,
    dex_private.minute_of(added.time),
    sum(dex_private.base_of(added.act, added.lot_amt, added.bid_amt)),
    sum(dex_private.quote_of(added.act, added.lot_amt, added.bid_amt)),
    min(added.price),
    max(added.price),
    max(added.block)
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
    max_block = greatest(kept.max_block, excluded.max_block);

  insert into dex_private.hour_figure as kept (
    market_id, hour, base_amt, quote_amt, low, high, max_block
  )
  select
    added.market_id,
    dex_private.hour_of(added.time),
    sum(dex_private.base_of(added.act, added.lot_amt, added.bid_amt)),
    sum(dex_private.quote_of(added.act, added.lot_amt, added.bid_amt)),
    min(added.price),
    max(added.price),
    max(added.block)
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
    max_block = greatest(kept.max_block, excluded.max_block);
  return null;
end
$$;
comment on function dex_private.add_figures() is
  'Trigger: adds new trades to the sums of their minutes and hours.';

create function dex_private.recompute_figures(changed_markets integer[], changed_minutes timestamptz[])
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from dex_private.minute_figure as kept
  using unnest(changed_markets, changed_minutes) as changed (market_id, minute)
  where kept.market_id = changed.market_id
    and kept.minute = changed.minute;

  insert into dex_private.minute_figure (
    market_id, minute, base_amt, quote_amt, low, high, max_block
  )
  select
    changed.market_id,
    changed.minute,
    sum(trade.base_amt),
    sum(trade.quote_amt),
    min(trade.price),
    max(trade.price),
    max(trade.block)
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
    market_id, hour, base_amt, quote_amt, low, high, max_block
  )
  select
    changed.market_id,
    changed.hour,
    sum(figure.base_amt),
    sum(figure.quote_amt),
    min(figure.low),
    max(figure.high),
    max(figure.max_block)
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
comment on function dex_private.recompute_figures(integer[], timestamptz[]) is
  'Computes these minutes of these markets, and their hours, afresh from the trades. A low or a high cannot be subtracted.';
revoke all on function dex_private.recompute_figures(integer[], timestamptz[]) from public;

create function dex_private.change_figures() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  changed_markets integer[];
  changed_minutes timestamptz[];
begin
  if tg_op = 'TRUNCATE' then
    truncate dex_private.minute_figure, dex_private.hour_figure;
    return null;
  end if;

  if tg_op = 'DELETE' then
    select
      array_agg(changed.market_id),
      array_agg(changed.minute)
    into changed_markets, changed_minutes
    from (
      select distinct
        removed.market_id,
        dex_private.minute_of(removed.time) as minute
      from removed
      where removed.market_id is not null
    ) as changed;
  else
    select
      array_agg(changed.market_id),
      array_agg(changed.minute)
    into changed_markets, changed_minutes
    from (
      select
        removed.market_id,
        dex_private.minute_of(removed.time) as minute
      from removed
      where removed.market_id is not null
      union
      select
        added.market_id,
        dex_private.minute_of(added.time) as minute
      from added
      where added.market_id is not null
    ) as changed;
  end if;

  if changed_markets is not null then
    perform dex_private.recompute_figures(changed_markets, changed_minutes);
  end if;
  return null;
end
$$;
comment on function dex_private.change_figures() is
  'Trigger: computes the minutes and hours afresh that trades were taken from, or that other trades belong to now.';

create trigger figures_insert
after insert on dex_trade
referencing new table as added
for each statement execute function dex_private.add_figures();

create trigger figures_update
after update on dex_trade
referencing old table as removed new table as added
for each statement execute function dex_private.change_figures();

create trigger figures_delete
after delete on dex_trade
referencing old table as removed
for each statement execute function dex_private.change_figures();

create trigger figures_truncate
after truncate on dex_trade
for each statement execute function dex_private.change_figures();
