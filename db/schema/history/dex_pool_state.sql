-- What each pool has of its tokens, after each block that changed it.

create table dex_pool_state (
  venue text not null,
  block integer not null,
  reserve0 numeric not null
    constraint dex_pool_state_reserve0_check check (dex_private.is_amount(reserve0)),
  reserve1 numeric not null
    constraint dex_pool_state_reserve1_check check (dex_private.is_amount(reserve1)),
  -- Serves what a pool has after a block.
  constraint dex_pool_state_pkey primary key (venue, block)
);

-- Serves ingest.take_back, and the audit of the pools that have changed.
create index dex_pool_state_block_idx on dex_pool_state (block);

comment on table dex_pool_state is E'@behavior -*\nWhat a pool has of its tokens, after each block that changed it.';
comment on column dex_pool_state.venue is 'Address of the pool.';
comment on column dex_pool_state.block is 'Height of the block.';
comment on column dex_pool_state.reserve0 is 'Amount of its first token, in whole tokens.';
comment on column dex_pool_state.reserve1 is 'Amount of its second token, in whole tokens.';
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
