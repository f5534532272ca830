-- Pools: contracts that trade two tokens by what they have of them.

create table dex_pool (
  venue text primary key
    constraint dex_pool_venue_check check (dex_private.is_address(venue)),
  gem0 text not null
    constraint dex_pool_gem0_check check (dex_private.is_address(gem0)),
  gem1 text not null
    constraint dex_pool_gem1_check check (dex_private.is_address(gem1)),
  fee integer not null
    constraint dex_pool_fee_check check (fee between 0 and 999999),
  tick_spacing integer
    constraint dex_pool_tick_spacing_check check (tick_spacing > 0),
  block integer not null,
  market_id integer,
  act text,
  constraint dex_pool_two_tokens_check check (lower(gem0) <> lower(gem1))
);

-- An address is one thing in any letter case.
create unique index dex_pool_lower_venue_key on dex_pool (lower(venue));
-- Serves the pools of a market.
create index dex_pool_market_id_idx on dex_pool (market_id)
where market_id is not null;
-- Serves the labelling of pools whose pair is registered later.
create index dex_pool_either_way_idx on dex_pool (dex_private.either_way_key(lower(gem0), lower(gem1)));
-- Serves ingest.take_back.
create index dex_pool_block_idx on dex_pool (block);

comment on table dex_pool is E'@behavior -*\nA pool: a contract that trades two tokens by what it has of them.';
comment on column dex_pool.venue is 'Address of the contract.';
comment on column dex_pool.gem0 is 'Address of its first token.';
comment on column dex_pool.gem1 is 'Address of its second token.';
comment on column dex_pool.fee is 'What it keeps of each amount that comes in, in millionths.';
comment on column dex_pool.tick_spacing is 'Every how many ticks a range of its liquidity can begin or end. Null where it has no ranges: its liquidity is for all prices.';
comment on column dex_pool.block is 'The block of its first recorded state.';
comment on column dex_pool.market_id is 'The market of its two tokens. Null where they are no registered pair.';
comment on column dex_pool.act is '`sell` where its first token is the base of the market, `buy` where it is the quote.';
grant select on dex_pool to dex_reader, dex_writer;
