-- Writes what pools have after a block.

create type ingest.given_pool as (
  venue text,
  gem0 text,
  gem1 text,
  fee integer,
  block integer,
  reserve0 numeric,
  reserve1 numeric
);
comment on type ingest.given_pool is 'What a pool has after a block, as it is given.';

create function ingest.write_pools(given ingest.given_pool[], out touched integer[])
language plpgsql
as $$
#variable_conflict use_column
begin
  perform ingest.refuse((
    select case
      when lower(listed.gem0) = lower(listed.gem1) then
        format('pools: both tokens of the pool %s are %s: it is of two tokens', listed.venue, listed.gem0)
      when listed.fee > 999999 then
        format('pools: the fee of the pool %s is %s: it must be an integer from 0 to 999999, in millionths', listed.venue, listed.fee)
      else format('pools: the pool %s is given twice in block %s', listed.venue, listed.block)
    end
    from (
      select
        pools.*,
        count(*) over (partition by lower(pools.venue), pools.block) as times
      from unnest(write_pools.given) as pools
    ) as listed
    where lower(listed.gem0) = lower(listed.gem1)
      or listed.fee > 999999
      or listed.times > 1
    limit 1
  ));

  insert into public.dex_pool (venue, gem0, gem1, fee, block, market_id, act)
  select distinct on (lower(pools.venue))
    pools.venue,
    pools.gem0,
    pools.gem1,
    pools.fee,
    pools.block,
    label.market_id,
    label.act
  from unnest(write_pools.given) as pools
  left join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
  cross join lateral dex_private.labels_of(pools.gem0, pools.gem1, null, null) as label
  where known.venue is null
  order by
    lower(pools.venue),
    pools.block;

  perform ingest.refuse((
    select format('pools: the pool %s is given with %s, %s and the fee %s, and recorded with %s, %s and the fee %s', pools.venue, pools.gem0, pools.gem1, pools.fee, known.gem0, known.gem1, known.fee)
    from unnest(write_pools.given) as pools
    join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
    where (lower(known.gem0), lower(known.gem1), known.fee) <> (lower(pools.gem0), lower(pools.gem1), pools.fee)
    limit 1
  ));

  insert into public.dex_pool_state (venue, block, reserve0, reserve1)
  select
    known.venue,
    pools.block,
    dex_private.as_amount(pools.reserve0),
    dex_private.as_amount(pools.reserve1)
  from unnest(write_pools.given) as pools
  join public.dex_pool as known on lower(known.venue) = lower(pools.venue);

  touched := array(
    select distinct known.market_id
    from unnest(write_pools.given) as pools
    join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
    where known.market_id is not null
  );
end
$$;
comment on function ingest.write_pools(ingest.given_pool[]) is 'Writes what these pools have after a block, and the pools that are not recorded. Returns their markets.';
