--! Previous: sha1:9b4720a1d6b16afbb0fb68def460e40692f96c42
--! Hash: sha1:fc5518803100e7a703b953eb6156cd29ce0f26e7
--! Message: head-figures

-- The sums of each market's windows as of the head, kept when the head moves, so that reading a figure
-- costs the same however dense the trades of the last day are.

-- A transaction that goes on seeing what it saw at its start would derive from it what another writer
-- has changed since.
create or replace function dex_private.take_turn() returns trigger
language plpgsql
as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'the exchange is written at read committed, not at %',
      current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state',
        hint = 'Writers take turns, and each must see what the one before it has written: begin isolation level read committed.';
  end if;
  perform pg_advisory_xact_lock(4935100201);
  return null;
end
$$;

create trigger a_take_turn
before insert or update or delete or truncate on dex_head
for each statement execute function dex_private.take_turn();

-- What the windows of each market amount to, from hours, minutes and trades.
create view dex_private.window_figure as
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
  day.high
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
    max(piece.high) filter (where counts.in_24h) as high
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
comment on view dex_private.window_figure is
  'What the trades of each registered market amount to in the windows that end at the head, computed.';

create table dex_private.head_figure (
  market_id integer not null,
  base_24h numeric,
  quote_24h numeric,
  base_12h numeric,
  quote_12h numeric,
  base_6h numeric,
  quote_6h numeric,
  base_1h numeric,
  quote_1h numeric,
  low numeric,
  high numeric,
  constraint head_figure_pkey primary key (market_id)
);
comment on table dex_private.head_figure is
  'window_figure as of the declared head. A market that is not in it is computed when it is read: all are where no head is declared, and those whose trades up to the head were changed since it moved.';

create function dex_private.move_figures() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  old_head public.dex_head;
  new_head public.dex_head;
  stale integer[];
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
    high
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
    figure.high
  from dex_private.window_figure as figure
  where not exists (
    select
    from dex_private.head_figure as kept
    where kept.market_id = figure.market_id
  );
  return null;
end
$$;
comment on function dex_private.move_figures() is
  'Trigger: takes the kept figures along with the head. Only markets with a trade in what the head or a window''s start has passed are computed anew.';

create trigger move_figures_update
after update on dex_head
referencing old table as replaced
for each statement execute function dex_private.move_figures();

create trigger move_figures_change
after insert or delete or truncate on dex_head
for each statement execute function dex_private.move_figures();

create function dex_private.forget_figures() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from dex_private.head_figure;
    return null;
  end if;
  delete from dex_private.head_figure as kept
  using public.dex_head as head,
    changed
  where kept.market_id = changed.market_id
    and changed.block <= head.block
    and changed.time <= head.time
    and changed.time > head.time - interval '24 hours';
  return null;
end
$$;
comment on function dex_private.forget_figures() is
  'Trigger: forgets the kept figures of markets whose trades were changed within a window that ends at the head.';

-- An updated trade may have been of one market and be of another now.
create trigger forget_figures_insert
after insert on dex_trade
referencing new table as changed
for each statement execute function dex_private.forget_figures();

create trigger forget_figures_update_from
after update on dex_trade
referencing old table as changed
for each statement execute function dex_private.forget_figures();

create trigger forget_figures_update_to
after update on dex_trade
referencing new table as changed
for each statement execute function dex_private.forget_figures();

create trigger forget_figures_delete
after delete on dex_trade
referencing old table as changed
for each statement execute function dex_private.forget_figures();

create trigger forget_figures_truncate
after truncate on dex_trade
for each statement execute function dex_private.forget_figures();

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
  ) as ask
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
    kept.high
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
    figure.high
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

-- What was there before this is computed at once.
delete from dex_private.head_figure;
update dex_head
set block = block;
