-- Writes what pools have after a block.

create function ingest.write_pools(given ingest.own_pool[], out touched integer[])
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
      when listed.times > 1 then format('pools: the pool %s is given twice in block %s', listed.venue, listed.block)
      when not listed.is_whole then
        format('pools: the pool %s is given in part: it has either reserve0 and reserve1, or tick_spacing, sqrt_price, tick, liquidity and nets', listed.venue)
      when listed.tick not between -887272 and 887272 then
        format('pools: the tick of the pool %s is %s: it must be an integer from -887272 to 887272', listed.venue, listed.tick)
      when listed.tick_spacing = 0 or listed.sqrt_price = 0 then
        format('pools: the pool %s has the tick_spacing %s and the sqrt_price %s: both must be above 0', listed.venue, listed.tick_spacing, listed.sqrt_price)
      else format('pools: the nets of the pool %s are %s: they must be ticks from -887272 to 887272 in their order, each once and with its net liquidity, and its gross liquidity where that is more, as -60:1000 0:400:1600 60:-1400', listed.venue, left(listed.nets, 90))
    end
    from (
      select
        pools.*,
        count(*) over (partition by lower(pools.venue), pools.block) as times,
        num_nonnulls(pools.reserve0, pools.reserve1) in (0, 2)
          and num_nonnulls(pools.tick_spacing, pools.sqrt_price, pools.tick, pools.liquidity, pools.nets)
            = case when pools.reserve0 is null then 5 else 0 end as is_whole,
        -- Of a pool that has reserves there are none to order.
        case
          when pools.nets is not null then
            coalesce(
              (
                select string_agg(concat_ws(':', net.tick, net.net, net.gross), ' ' order by net.tick)
                from (
                  select distinct
                    split_part(each.pair, ':', 1)::numeric as tick,
                    split_part(each.pair, ':', 2)::numeric as net,
                    nullif(split_part(each.pair, ':', 3), '')::numeric as gross
                  from string_to_table(pools.nets, ' ') as each (pair)
                  where pools.nets <> ''
                ) as net
                where net.tick between -887272 and 887272
                  and (net.gross is null or net.gross > abs(net.net) and (net.gross - net.net) % 2 = 0)
                having count(*) = count(distinct net.tick)
              ),
              ''
            )
        end as right_nets
      from unnest(write_pools.given) as pools
    ) as listed
    where lower(listed.gem0) = lower(listed.gem1)
      or listed.fee > 999999
      or listed.times > 1
      or not listed.is_whole
      or listed.tick not between -887272 and 887272
      or listed.tick_spacing = 0
      or listed.sqrt_price = 0
      or listed.nets <> listed.right_nets
    limit 1
  ));

  insert into public.dex_pool (venue, gem0, gem1, fee, tick_spacing, block, market_id, act)
  select distinct on (lower(pools.venue))
    pools.venue,
    pools.gem0,
    pools.gem1,
    pools.fee,
    pools.tick_spacing,
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
    select format(
      'pools: the pool %s is given with %s, %s and the fee %s%s, and recorded with %s, %s and the fee %s%s',
      pools.venue, pools.gem0, pools.gem1, pools.fee, ', tick_spacing ' || pools.tick_spacing,
      known.gem0, known.gem1, known.fee, ', tick_spacing ' || known.tick_spacing
    )
    from unnest(write_pools.given) as pools
    join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
    where (lower(known.gem0), lower(known.gem1), known.fee, known.tick_spacing)
      is distinct from (lower(pools.gem0), lower(pools.gem1), pools.fee, pools.tick_spacing)
    limit 1
  ));

  insert into public.dex_pool_state (venue, block, reserve0, reserve1, sqrt_price, tick, liquidity, nets)
  select
    known.venue,
    pools.block,
    dex_private.as_amount(pools.reserve0),
    dex_private.as_amount(pools.reserve1),
    pools.sqrt_price,
    pools.tick,
    pools.liquidity,
    pools.nets
  from unnest(write_pools.given) as pools
  join public.dex_pool as known on lower(known.venue) = lower(pools.venue);

  insert into dex_private.pool_tick
  select derived.*
  from unnest(write_pools.given) as pools
  join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
  join dex_private.derived_pool_tick as derived
    on derived.venue = known.venue
    and derived.block = pools.block
  where pools.nets <> '';
  perform ingest.refuse((
    select format('pools: the pool %s has the liquidity %s at tick %s after block %s, and %s by its ticks: a change of its liquidity is missing, or the block that made the pool', wrong.venue, wrong.liquidity, wrong.tick, wrong.block, wrong.right_liquidity)
    from unnest(write_pools.given) as pools
    join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
    join dex_private.miscounted_pool as wrong
      on wrong.venue = known.venue
      and wrong.block = pools.block
    where pools.nets is not null
    order by pools.block
    limit 1
  ));

  touched := array(
    select distinct known.market_id
    from unnest(write_pools.given) as pools
    join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
    where known.market_id is not null
  );
end
$$;
comment on function ingest.write_pools(ingest.own_pool[]) is 'Writes what these pools have after a block, and the pools that are not recorded. Returns their markets.';
