-- The prices of pools: what the smallest amount trades at, with the fee of the pool.

-- Of an amount `x` of the one token a pool with the reserves base_amt and quote_amt counts x × (1 − fee). It gives
-- the share x(1 − fee) ÷ (reserve + x(1 − fee)) of the other reserve. For the smallest x that is a price of
-- quote ÷ base × (1 − fee) where it buys base. Where it sells base, it is quote ÷ base ÷ (1 − fee).
--
-- A pool with liquidity in ranges trades the smallest amount as if it had the reserves that its price is the quotient of. That is, of the
-- second token per first one, in the smallest units, the square of sqrt_price ÷ 2^192.
create function dex_private.pools_of(market integer, block integer)
returns table (
  venue text, act text, base_amt numeric, quote_amt numeric, fee integer, bid numeric, ask numeric,
  tick_spacing integer, sqrt_price numeric, tick integer, liquidity numeric
)
language sql stable
rows 2
as $$
  select
    pool.venue,
    pool.act,
    has.base_amt,
    has.quote_amt,
    pool.fee,
    dex_private.quotient(has.quote_amt * (1000000 - pool.fee), has.base_amt * 1000000),
    dex_private.quotient(has.quote_amt * 1000000, has.base_amt * (1000000 - pool.fee)),
    pool.tick_spacing,
    state.sqrt_price,
    state.tick,
    state.liquidity
  from public.dex_pool as pool
  join public.dex_pair as pair on pair.id = pool.market_id
  cross join lateral dex_private.pool_state_at(pool.venue, pools_of.block) as state
  cross join lateral (
    select
      coalesce(
        state.reserve0,
        6277101735386680763835789423207666416102355444464034512896
          * round(10::numeric ^ dex_private.quote_of(pool.act, pair.base_precision, pair.quote_precision))
      ) as first_amt,
      coalesce(
        state.reserve1,
        state.sqrt_price * state.sqrt_price * round(10::numeric ^ dex_private.base_of(pool.act, pair.base_precision, pair.quote_precision))
      ) as second_amt
    where coalesce(state.liquidity, 1) > 0
  ) as priced
  cross join lateral (
    select
      dex_private.base_of(pool.act, priced.first_amt, priced.second_amt) as base_amt,
      dex_private.quote_of(pool.act, priced.first_amt, priced.second_amt) as quote_amt
  ) as has
  where pool.market_id = pools_of.market
    and trunc(has.base_amt, pair.base_precision) > 0
    and trunc(has.quote_amt, pair.quote_precision) > 0
$$;
comment on function dex_private.pools_of(integer, integer) is 'The pools of a market that traded after this block: with a whole smallest unit of both tokens, or with liquidity at their price. Each has the prices at which it bought and sold base: the marginal ones with the fee, rounded once.';
grant execute on function dex_private.pools_of(integer, integer) to dex_reader, dex_writer;

create function dex_private.best_pool_steps(markets integer[], after integer)
returns table (market_id integer, act text, block integer, price numeric)
language sql stable
as $$
  select
    changed.market_id,
    side.act,
    changed.block,
    case side.act when 'buy' then max(pool.bid) else min(pool.ask) end
  from (
    select distinct
      pool.market_id,
      greatest(state.block, best_pool_steps.after + 1) as block
    from public.dex_pool as pool
    join public.dex_pool_state as state on state.venue = pool.venue
    where pool.market_id = any (markets)
      and state.block >= coalesce(
        (
          select newest.block
          from dex_private.pool_state_at(pool.venue, best_pool_steps.after) as newest
        ),
        0
      )
  ) as changed
  cross join (values ('buy'), ('sell')) as side (act)
  left join lateral dex_private.pools_of(changed.market_id, changed.block) as pool on true
  group by
    changed.market_id,
    changed.block,
    side.act
$$;
comment on function dex_private.best_pool_steps(integer[], integer) is 'The best prices of the pools of these markets after each block from the next one on that changed a pool.';
