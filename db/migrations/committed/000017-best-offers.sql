--! Previous: sha1:0b35b948b97589ae88ec372297b7ed3d1abd0199
--! Hash: sha1:cfa86116fcbcfc876359e8332898c42d86e6a5bc
--! Message: best offers

--! split: 1-current.sql
-- The best standing offer on each side of each market is a row of its own, kept by the write: what a list
-- of all markets reads of their books is the same however many offers there are.
set local lock_timeout = '200ms';

create table dex_private.best_offer (
  market_id integer not null,
  act text not null,
  price numeric not null,
  block integer not null,
  time timestamptz not null,
  constraint best_offer_pkey primary key (market_id, act)
)
-- Rows are rewritten in place, with room for it on their page.
with (fillfactor = 50);
comment on table dex_private.best_offer is
  'The best price on each side of each market among the offers that nothing has ended, whether or not the head has come to them, and when one of that price was made. Kept by every write of offers.';
grant select on dex_private.best_offer to dex_reader, dex_writer;

create function dex_private.keep_best() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into dex_private.best_offer as kept (market_id, act, price, block, time)
  select distinct on (added.market_id, added.act)
    added.market_id,
    added.act,
    added.price,
    added.block,
    added.time
  from added
  where added.killed = 0
    and not added.filled
    and added.price is not null
  order by
    added.market_id,
    added.act,
    case added.act when 'buy' then -added.price else added.price end,
    added.block,
    added.time
  on conflict (market_id, act) do update
  set
    price = excluded.price,
    block = excluded.block,
    time = excluded.time
  where case excluded.act
    when 'buy' then excluded.price > kept.price
    else excluded.price < kept.price
  end;
  return null;
end
$$;
comment on function dex_private.keep_best() is
  'Trigger: keeps the best standing offers of each market where offers are added.';

create function dex_private.find_best(changed_markets integer[]) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  delete from dex_private.best_offer as kept
  where kept.market_id = any (changed_markets)
    and not exists (
      select
      from public.dex_offer as offer
      where offer.market_id = kept.market_id
        and offer.act = kept.act
        and offer.killed = 0
        and not offer.filled
        and offer.price is not null
    );

  -- Compared and ordered by market and side too, for the index of standing offers.
  insert into dex_private.best_offer as kept (market_id, act, price, block, time)
  select
    best.market_id,
    best.act,
    best.price,
    best.block,
    best.time
  from unnest(changed_markets) as changed (market_id)
  cross join lateral (
    (
      select *
      from public.dex_offer as offer
      where offer.market_id = any (array[changed.market_id])
        and offer.act = 'buy'
        and offer.killed = 0
        and not offer.filled
        and offer.price is not null
      order by
        offer.market_id desc,
        offer.act desc,
        offer.price desc
      limit 1
    )
    union all
    (
      select *
      from public.dex_offer as offer
      where offer.market_id = any (array[changed.market_id])
        and offer.act = 'sell'
        and offer.killed = 0
        and not offer.filled
        and offer.price is not null
      order by
        offer.market_id,
        offer.act,
        offer.price
      limit 1
    )
  ) as best
  on conflict (market_id, act) do update
  set
    price = excluded.price,
    block = excluded.block,
    time = excluded.time
  where (excluded.price, excluded.block, excluded.time) is distinct from (kept.price, kept.block, kept.time);
end
$$;
comment on function dex_private.find_best(integer[]) is
  'Finds the best standing offers of these markets anew, one look into an index for each side.';
revoke all on function dex_private.find_best(integer[]) from public;

create function dex_private.find_best_changed() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  changed_markets integer[];
begin
  if tg_op = 'TRUNCATE' then
    truncate dex_private.best_offer;
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

  if changed_markets is not null then
    perform dex_private.find_best(changed_markets);
  end if;
  return null;
end
$$;
comment on function dex_private.find_best_changed() is
  'Trigger: finds the best standing offers anew of the markets whose offers were changed or removed.';

create trigger keep_best_insert
after insert on dex_offer
referencing new table as added
for each statement execute function dex_private.keep_best();

create trigger find_best_update
after update on dex_offer
referencing old table as removed new table as added
for each statement execute function dex_private.find_best_changed();

create trigger find_best_delete
after delete on dex_offer
referencing old table as removed
for each statement execute function dex_private.find_best_changed();

create trigger find_best_truncate
after truncate on dex_offer
for each statement execute function dex_private.find_best_changed();

select dex_private.find_best(array_agg(pair.id))
from dex_pair as pair;

create function dex_private.best_standing(market integer, side text) returns numeric
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  if side = 'buy' then
    return (
      select offer.price
      from dex_private.standing_offer as offer
      where offer.market_id = any (array[market])
        and offer.act = 'buy'
      order by
        offer.market_id desc,
        offer.act desc,
        offer.price desc
      limit 1
    );
  end if;
  return (
    select offer.price
    from dex_private.standing_offer as offer
    where offer.market_id = any (array[market])
      and offer.act = 'sell'
    order by
      offer.market_id,
      offer.act,
      offer.price
    limit 1
  );
end
$$;
comment on function dex_private.best_standing(integer, text) is
  'The best price on one side of a market among the offers that were open at the head and that nothing has ended since; null when there is none.';
revoke all on function dex_private.best_standing(integer, text) from public;
grant execute on function dex_private.best_standing(integer, text) to dex_reader, dex_writer;

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
    case
      when bid.block <= as_of.max_block and bid.time <= as_of.max_time then bid.price
      when bid.market_id is not null then dex_private.best_standing(pair.id, 'buy')
    end,
    case
      when as_of.block is null or as_of.block < (select last_end.block from dex_private.last_end)
        then dex_private.best_ended(pair.id, 'buy')
    end
  ) as bid,
  least(
    case
      when ask.block <= as_of.max_block and ask.time <= as_of.max_time then ask.price
      when ask.market_id is not null then dex_private.best_standing(pair.id, 'sell')
    end,
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
-- Where the best offer was made after the head, the best before it is looked up.
left join dex_private.best_offer as bid
  on bid.market_id = pair.id
  and bid.act = 'buy'
left join dex_private.best_offer as ask
  on ask.market_id = pair.id
  and ask.act = 'sell'
left join dex_private.head_figure as kept on kept.market_id = pair.id
-- `offset 0` has the windows computed for no market but those that are missing.
left join lateral (
  select figure.*
  from dex_private.compute_figure(pair.id) as figure
  where kept.market_id is null
  offset 0
) as computed on true
cross join lateral (
  select
    coalesce(kept.base_24h, computed.base_24h) as base_24h,
    coalesce(kept.quote_24h, computed.quote_24h) as quote_24h,
    coalesce(kept.base_12h, computed.base_12h) as base_12h,
    coalesce(kept.quote_12h, computed.quote_12h) as quote_12h,
    coalesce(kept.base_6h, computed.base_6h) as base_6h,
    coalesce(kept.quote_6h, computed.quote_6h) as quote_6h,
    coalesce(kept.base_1h, computed.base_1h) as base_1h,
    coalesce(kept.quote_1h, computed.quote_1h) as quote_1h,
    coalesce(kept.low, computed.low) as low,
    coalesce(kept.high, computed.high) as high,
    coalesce(kept.trades_24h, computed.trades_24h) as trades_24h
) as day;
