--! Previous: sha1:93133ecd80e69795dc3f6b0a37a77eaaa1cd1958
--! Hash: sha1:437a02eb045bf43b4874c0f8b17558714bc59d48
--! Message: newest trades

--! split: 1-current.sql
-- What a list of all markets reads for each is the same however long the history: the newest trade of
-- a market is a row of its own, and whether any offer has ended after the head is asked once.
set local lock_timeout = '200ms';

create table dex_private.newest_trade (
  market_id integer primary key,
  block integer not null,
  idx integer not null,
  id bigint not null,
  time timestamptz not null,
  price numeric not null
);
comment on table dex_private.newest_trade is
  'The newest trade of each market that has a price, whether or not the head has come to it, kept by every write of trades.';

create function dex_private.keep_newest() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into dex_private.newest_trade as kept (market_id, block, idx, id, time, price)
  select distinct on (added.market_id)
    added.market_id,
    added.block,
    added.idx,
    added.id,
    added.time,
    added.price
  from added
  where added.market_id is not null
    and added.price is not null
  order by
    added.market_id,
    added.block desc,
    added.idx desc,
    added.id desc
  on conflict (market_id) do update
  set
    block = excluded.block,
    idx = excluded.idx,
    id = excluded.id,
    time = excluded.time,
    price = excluded.price
  where (excluded.block, excluded.idx, excluded.id) > (kept.block, kept.idx, kept.id);
  return null;
end
$$;
comment on function dex_private.keep_newest() is
  'Trigger: keeps the newest trade of each market where trades are added.';

create function dex_private.find_newest() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  changed_markets integer[];
begin
  if tg_op = 'TRUNCATE' then
    truncate dex_private.newest_trade;
    return null;
  end if;

  if tg_op = 'DELETE' then
    select array_agg(distinct removed.market_id)
    into changed_markets
    from removed
    where removed.market_id is not null;
  else
    select array_agg(changed.market_id)
    into changed_markets
    from (
      select removed.market_id
      from removed
      where removed.market_id is not null
      union
      select added.market_id
      from added
      where added.market_id is not null
    ) as changed;
  end if;

  delete from dex_private.newest_trade as kept
  where kept.market_id = any (changed_markets);

  insert into dex_private.newest_trade (market_id, block, idx, id, time, price)
  select
    newest.market_id,
    newest.block,
    newest.idx,
    newest.id,
    newest.time,
    newest.price
  from unnest(changed_markets) as changed (market_id)
  cross join lateral (
    -- Compared and ordered as in market_figure, for the same index.
    select *
    from dex_private.market_row as trade
    where trade.market_id = any (array[changed.market_id])
      and trade.price is not null
    order by
      trade.market_id desc,
      trade.block desc,
      trade.idx desc,
      trade.id desc
    limit 1
  ) as newest;
  return null;
end
$$;
comment on function dex_private.find_newest() is
  'Trigger: finds the newest trade of each market anew that trades were taken from or changed in.';

create trigger keep_newest_insert
after insert on dex_trade
referencing new table as added
for each statement execute function dex_private.keep_newest();

create trigger find_newest_update
after update on dex_trade
referencing old table as removed new table as added
for each statement execute function dex_private.find_newest();

create trigger find_newest_delete
after delete on dex_trade
referencing old table as removed
for each statement execute function dex_private.find_newest();

create trigger find_newest_truncate
after truncate on dex_trade
for each statement execute function dex_private.find_newest();

insert into dex_private.newest_trade (market_id, block, idx, id, time, price)
select
  newest.market_id,
  newest.block,
  newest.idx,
  newest.id,
  newest.time,
  newest.price
from public.dex_pair as pair
cross join lateral (
  select *
  from dex_private.market_row as trade
  where trade.market_id = any (array[pair.id])
    and trade.price is not null
  order by
    trade.market_id desc,
    trade.block desc,
    trade.idx desc,
    trade.id desc
  limit 1
) as newest;

create view dex_private.last_end as
select max(greatest(offer.killed, offer.spent_block)) as block
from public.dex_offer as offer
where offer.killed > 0 or offer.spent_block is not null;
comment on view dex_private.last_end is
  'One row: the last block in which an offer was cancelled, or the last of its lot taken. Null where none was.';

create or replace view dex_private.ended_offer as
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  offer.lot_amt,
  offer.bid_amt
from public.dex_offer as offer
cross join dex_private.as_of
where as_of.max_block < (select last_end.block from dex_private.last_end)
  and offer.killed > 0
  and not offer.closed
  and offer.spent_block is null
  and offer.killed > as_of.max_block
  and offer.block <= as_of.max_block
union all
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  offer.lot_amt,
  offer.bid_amt
from public.dex_offer as offer
cross join dex_private.as_of
where as_of.max_block < (select last_end.block from dex_private.last_end)
  and offer.spent_block is not null
  and not offer.closed
  and offer.spent_block > as_of.max_block
  and (offer.killed = 0 or offer.killed > as_of.max_block)
  and offer.block <= as_of.max_block
union all
-- By the clock, where no head is declared.
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  offer.lot_amt,
  offer.bid_amt
from public.dex_offer as offer
cross join dex_private.as_of
where as_of.block is null
  and offer.spent_block is not null
  and not offer.closed
  and offer.spent_time > as_of.max_time
  and offer.killed = 0
  and offer.time <= as_of.max_time;

-- What is computed as a rule for no market is within functions: a plan that has it as a part is set up
-- whole for each query, which takes longer than the query.
create function dex_private.compute_figure(market integer) returns setof dex_private.window_figure
language plpgsql stable security definer
rows 1
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  return query
  select *
  from dex_private.window_figure as figure
  where figure.market_id = market;
end
$$;
comment on function dex_private.compute_figure(integer) is
  'window_figure of one market, for where head_figure does not have it.';
revoke all on function dex_private.compute_figure(integer) from public;
grant execute on function dex_private.compute_figure(integer) to dex_reader, dex_writer;

create function dex_private.best_ended(market integer, side text) returns numeric
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  return (
    select case side when 'buy' then max(offer.price) else min(offer.price) end
    from dex_private.ended_offer as offer
    where offer.market_id = market
      and offer.act = side
  );
end
$$;
comment on function dex_private.best_ended(integer, text) is
  'The best price on one side of a market among the offers that were open at the head and have ended since; null when there is none.';
revoke all on function dex_private.best_ended(integer, text) from public;
grant execute on function dex_private.best_ended(integer, text) to dex_reader, dex_writer;

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
  coalesce(newest.price, (
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
  )) as last,
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
    case
      when as_of.block is null or as_of.block < (select last_end.block from dex_private.last_end)
        then dex_private.best_ended(pair.id, 'buy')
    end
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
    case
      when as_of.block is null or as_of.block < (select last_end.block from dex_private.last_end)
        then dex_private.best_ended(pair.id, 'sell')
    end
  ) as ask,
  day.quote_24h as quote_vol,
  day.trades_24h as trades,
  coalesce(newest.time, (
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
  )) as last_time,
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
-- Where the newest trade of a market is after the head, its last is looked up.
left join dex_private.newest_trade as newest
  on newest.market_id = pair.id
  and newest.block <= as_of.max_block
  and newest.time <= as_of.max_time
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
  cross join lateral dex_private.compute_figure(missing.market_id) as figure
) as day;
