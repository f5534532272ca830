-- Which markets were active, for past blocks.

create table dex_private.active_until (
  market_id integer not null,
  block integer not null,
  active boolean not null,
  constraint active_until_pkey primary key (market_id, block)
);
comment on table dex_private.active_until is 'What `active` of a market was up to a block, and is not after it. A change holds from the block after the head at which it was made.';
comment on column dex_private.active_until.block is 'The last block with this value.';
grant select on dex_private.active_until to dex_reader, dex_writer;

create function dex_private.past_active(market integer) returns boolean
language plpgsql stable
as $$
begin
  return (
    select until.active
    from dex_private.active_until as until
    where until.market_id = market
      and until.block >= (select past.block from dex_private.past_moment() as past)
    order by until.block
    limit 1
  );
end
$$;
comment on function dex_private.past_active(integer) is 'Whether a market was active as of the block that `dex.as_of_block` names, if that has changed since.';
grant execute on function dex_private.past_active(integer) to dex_reader, dex_writer;

-- The planner inlines it.
create function dex_private.active_of(market integer, active boolean) returns boolean
language sql stable
as $$
  select case when dex_private.is_past() then coalesce(dex_private.past_active(market), active) else active end
$$;
comment on function dex_private.active_of(integer, boolean) is 'Whether a market is active, as of what as_of names, given whether it is now.';
grant execute on function dex_private.active_of(integer, boolean) to dex_reader, dex_writer;

create function dex_private.keep_active(market integer, block integer) returns void
language sql
as $$
  -- The first change after a block counts: what it ended was so as of the block.
  insert into dex_private.active_until (market_id, block, active)
  select
    pair.id,
    keep_active.block,
    pair.active
  from public.dex_pair as pair
  where pair.id = keep_active.market
    and keep_active.block is not null
  on conflict do nothing
$$;
comment on function dex_private.keep_active(integer, integer) is 'Records that `active` of a market is about to change at this head.';

create function dex_private.take_back_active(head integer) returns void
language plpgsql
as $$
begin
  -- What was so up to the new head, is recorded by the first change after it.
  with later as (
    delete from dex_private.active_until as until
    where until.block > head
      or head is null
    returning
      until.market_id,
      until.block,
      until.active
  )
  insert into dex_private.active_until (market_id, block, active)
  select distinct on (later.market_id)
    later.market_id,
    head,
    later.active
  from later
  where head is not null
  order by
    later.market_id,
    later.block
  on conflict do nothing;
end
$$;
comment on function dex_private.take_back_active(integer) is 'Has the changes of `active` after this head hold from the block after it.';
