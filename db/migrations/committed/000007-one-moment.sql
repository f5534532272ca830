--! Previous: sha1:010ddabae289dca2cffc3e635291f04a0bdb2d43
--! Hash: sha1:4dd5155337b45205885963b03ff518ddaf1ea326
--! Message: one-moment

-- There is one head, or none, but the planner knows it only of a table that was analyzed, which a
-- table of one row hardly ever is: it expected thousands of moments, and read all minutes of a market
-- to be sure. `limit 1` says so.
create or replace view dex_private.as_of as
select
  head.block,
  coalesce(head.time, now()) as time,
  coalesce(head.block, 2147483647) as max_block,
  case when head.block is null then now() else 'infinity' end as max_time
from (values (true)) as one (row)
left join (
  select
    dex_head.block,
    dex_head.time
  from public.dex_head
  limit 1
) as head on true;

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
    )
  $statement$;
  return null;
end
$$;
