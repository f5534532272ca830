-- The liquidity of the ticks of pools, after each block that changed it.

create table dex_private.pool_tick (
  venue text not null,
  tick integer not null,
  block integer not null,
  net numeric not null,
  gross numeric not null,
  -- Serves the ticks around a price, and each as of a block.
  constraint pool_tick_pkey primary key (venue, tick, block)
);
comment on table dex_private.pool_tick is 'Each tick of a pool with liquidity in ranges, after each block that changed it. Its net liquidity is that of the ranges that begin there, less that of those that end there; its gross liquidity is the sum of both.';
grant select on dex_private.pool_tick to dex_reader, dex_writer;

create view dex_private.derived_pool_tick as
select
  state.venue,
  split_part(given.pair, ':', 1)::integer as tick,
  state.block,
  split_part(given.pair, ':', 2)::numeric as net,
  coalesce(nullif(split_part(given.pair, ':', 3), '')::numeric, abs(split_part(given.pair, ':', 2)::numeric)) as gross
from public.dex_pool_state as state
cross join lateral string_to_table(state.nets, ' ') as given (pair)
where state.nets <> '';
comment on view dex_private.derived_pool_tick is 'The correct rows of pool_tick.';

create function dex_private.pool_ticks_at(venue text, low integer, high integer, block integer)
returns table (tick integer, net numeric, gross numeric)
language sql stable
rows 20
as $$
  -- From one tick to the next one in the index, and of each its last row: a tick can have changed in a million blocks.
  with recursive known as (
    (
      select kept.tick
      from dex_private.pool_tick as kept
      where kept.venue = pool_ticks_at.venue
        and kept.tick between pool_ticks_at.low and pool_ticks_at.high
      order by kept.tick desc
      limit 1
    )
    union all
    select earlier.tick
    from known
    cross join lateral (
      select kept.tick
      from dex_private.pool_tick as kept
      where kept.venue = pool_ticks_at.venue
        and kept.tick between pool_ticks_at.low and known.tick - 1
      order by kept.tick desc
      limit 1
    ) as earlier
  )
  select
    known.tick,
    latest.net,
    latest.gross
  from known
  cross join lateral (
    select
      kept.net,
      kept.gross
    from dex_private.pool_tick as kept
    where kept.venue = pool_ticks_at.venue
      and kept.tick = known.tick
      and kept.block <= pool_ticks_at.block
    order by kept.block desc
    limit 1
  ) as latest
  -- A contract has no tick where nothing is left: only the others end a step of a swap.
  where latest.gross > 0
$$;
comment on function dex_private.pool_ticks_at(text, integer, integer, integer) is 'The ticks of a pool from one to another, both included, at which ranges ended after this block.';
grant execute on function dex_private.pool_ticks_at(text, integer, integer, integer) to dex_reader, dex_writer;

-- The liquidity of a pool is the sum of what its ticks up to the present one have. It changes by what the block changes there, and by
-- the ticks between the one before and the present one.
create view dex_private.miscounted_pool as
select
  state.venue,
  state.block,
  state.tick,
  state.liquidity,
  counted.liquidity as right_liquidity
from public.dex_pool_state as state
left join lateral dex_private.pool_state_at(state.venue, state.block - 1) as earlier on true
cross join lateral (
  select coalesce(earlier.liquidity, 0)
    + coalesce(sum(tick.net) filter (where tick.is_now and tick.tick <= state.tick), 0)
    - coalesce(sum(tick.net) filter (where not tick.is_now and tick.tick <= earlier.tick), 0) as liquidity
  from (
    select split_part(given.pair, ':', 1)::integer as tick
    from string_to_table(state.nets, ' ') as given (pair)
    where state.nets <> ''
    union
    select crossed.tick
    from dex_private.pool_ticks_at(
      state.venue, least(earlier.tick, state.tick) + 1, greatest(earlier.tick, state.tick), state.block
    ) as crossed
    where earlier.tick <> state.tick
  ) as concerned
  cross join lateral (
    select true as is_now, now.*
    from dex_private.pool_ticks_at(state.venue, concerned.tick, concerned.tick, state.block) as now
    union all
    select false, past.*
    from dex_private.pool_ticks_at(state.venue, concerned.tick, concerned.tick, state.block - 1) as past
  ) as tick
) as counted
where state.sqrt_price is not null
  and state.liquidity <> counted.liquidity;
comment on view dex_private.miscounted_pool is 'States of pools whose liquidity does not follow from the state before by their ticks: a change of a range is missing.';
grant select on dex_private.miscounted_pool to dex_writer;
