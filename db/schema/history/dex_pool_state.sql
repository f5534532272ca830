-- What each pool has, after each block that changed it.

create table dex_pool_state (
  venue text not null,
  block integer not null,
  reserve0 numeric
    constraint dex_pool_state_reserve0_check check (dex_private.is_amount(reserve0)),
  reserve1 numeric
    constraint dex_pool_state_reserve1_check check (dex_private.is_amount(reserve1)),
  sqrt_price numeric
    constraint dex_pool_state_sqrt_price_check check (sqrt_price > 0 and dex_private.is_units(sqrt_price)),
  tick integer
    constraint dex_pool_state_tick_check check (tick between -887273 and 887272),
  liquidity numeric
    constraint dex_pool_state_liquidity_check check (dex_private.is_units(liquidity)),
  nets text,
  constraint dex_pool_state_kind_check check (
    num_nulls(reserve0, reserve1) = 0 and num_nonnulls(sqrt_price, tick, liquidity, nets) = 0
    or num_nonnulls(reserve0, reserve1) = 0 and num_nulls(sqrt_price, tick, liquidity, nets) = 0
  ),
  -- Serves what a pool has after a block.
  constraint dex_pool_state_pkey primary key (venue, block)
);

-- Serves ingest.take_back, and the audit of the pools that have changed.
create index dex_pool_state_block_idx on dex_pool_state (block);

comment on table dex_pool_state is E'@behavior -*\nWhat a pool has after each block that changed it: reserves of its tokens, or a price with liquidity in ranges of prices.';
comment on column dex_pool_state.venue is 'Address of the pool.';
comment on column dex_pool_state.block is 'Height of the block.';
comment on column dex_pool_state.reserve0 is 'Amount of its first token, in whole tokens.';
comment on column dex_pool_state.reserve1 is 'Amount of its second token, in whole tokens.';
comment on column dex_pool_state.sqrt_price is 'The square root of its price, times 2^96: of the second token per first one, in their smallest units.';
comment on column dex_pool_state.tick is 'Its tick: the price is from 1.0001^tick to below 1.0001^(tick + 1), or 1.0001^(tick + 1) where it has come down to it.';
comment on column dex_pool_state.liquidity is 'The liquidity of all ranges that the tick is in. It is the root of the product of both amounts that it stands for, in the smallest units.';
comment on column dex_pool_state.nets is 'The ticks whose liquidity the block changed, in their order, each with its net liquidity after the block, as `-60:1000 60:-1000`. Where ranges begin and end at a tick, its gross liquidity follows: `0:400:1600`. A tick where none is left has `60:0`.';
grant select on dex_pool_state to dex_reader, dex_writer;

create function dex_private.pool_state_at(venue text, block integer) returns setof public.dex_pool_state
language sql stable
rows 1
as $$
  select *
  from public.dex_pool_state as state
  where state.venue = pool_state_at.venue
    and state.block <= pool_state_at.block
  order by state.block desc
  limit 1
$$;
comment on function dex_private.pool_state_at(text, integer) is 'What this pool had after this block; no row before its first state.';
grant execute on function dex_private.pool_state_at(text, integer) to dex_reader, dex_writer;
