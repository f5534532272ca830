-- The ranges of prices that a pool with liquidity in ranges moves through.

-- In a range, between two of its prices, it has L × 2^96 × |1 ÷ one − 1 ÷ other| of its first token. Of its second one
-- it has L × |one − other| ÷ 2^96; `counted` millionths of an amount that comes in move the price.
create function dex_private.range_amount(
  is_second boolean,
  liquidity numeric,
  one numeric,
  other numeric,
  counted integer default 1000000,
  rounds_up boolean default false
) returns numeric
language sql immutable parallel safe
as $$
  select div(
    amount.dividend + case when rounds_up then amount.divisor - 1 else 0 end,
    amount.divisor
  )
  from (
    select
      liquidity * abs(one - other) * 1000000 * case when is_second then 1 else 79228162514264337593543950336 end as dividend,
      counted * case when is_second then 79228162514264337593543950336 else one * other end as divisor
  ) as amount
$$;
comment on function dex_private.range_amount(boolean, numeric, numeric, numeric, integer, boolean) is 'How much of its first or second token a pool with this liquidity moves between two square roots of its price. In the smallest unit, rounded once.';
grant execute on function dex_private.range_amount(boolean, numeric, numeric, numeric, integer, boolean) to dex_reader, dex_writer;

-- 2 % of a price are at most 203 ticks. A contract rounds what comes in up, the fee of it too, and what goes out down, in each range.
create function dex_private.pool_ranges(
  venue text,
  block integer,
  rises boolean,
  sqrt_price numeric,
  tick integer,
  liquidity numeric,
  fee integer,
  tick_spacing integer
)
returns table (start_price numeric, end_price numeric, liquidity numeric, taken_before numeric, given_before numeric)
language sql stable
rows 5
as $$
  with edge as (
    select
      ends.place,
      sum(ends.net) as net,
      dex_private.tick_sqrt_price(min(ends.tick)) as price
    from (
      select
        near.tick,
        near.net,
        case when rises then near.tick else -near.tick end as place
      from (
        select
          ticks.tick,
          ticks.net
        from dex_private.pool_ticks_at(pool_ranges.venue, pool_ranges.tick - 250, pool_ranges.tick + 250, pool_ranges.block) as ticks
        union all
        -- A contract looks for the next tick among 256 at once, and rounds at their end too.
        select
          (word.number * 256 + case when rises then 255 else 0 end) * pool_ranges.tick_spacing,
          0
        from generate_series(
          div(pool_ranges.tick - 250, 256 * pool_ranges.tick_spacing)::integer - 1,
          div(pool_ranges.tick + 250, 256 * pool_ranges.tick_spacing)::integer + 1
        ) as word (number)
        union all
        select
          case
            when rises then least(pool_ranges.tick + 251, 887272)
            else greatest(pool_ranges.tick - 251, -887272)
          end,
          0
      ) as near (tick, net)
    ) as ends
    where ends.tick between -887272 and 887272
      and case when rises then ends.place > pool_ranges.tick else ends.place >= -pool_ranges.tick end
      and abs(ends.tick - pool_ranges.tick) <= 251
    group by ends.place
  )
  select
    step.start_price,
    step.end_price,
    step.liquidity,
    coalesce(sum(step.taken + div(step.taken * fee + 999999 - fee, 1000000 - fee)) over earlier, 0),
    coalesce(sum(step.given) over earlier, 0)
  from (
    select
      range.*,
      dex_private.range_amount(rises, range.liquidity, range.start_price, range.end_price, rounds_up => true) as taken,
      dex_private.range_amount(not rises, range.liquidity, range.start_price, range.end_price) as given
    from (
      select
        edge.place,
        lag(edge.price, 1, pool_ranges.sqrt_price) over in_order as start_price,
        edge.price as end_price,
        pool_ranges.liquidity + case when rises then 1 else -1 end * (sum(edge.net) over in_order - edge.net) as liquidity
      from edge
      window in_order as (order by edge.place)
    ) as range
  ) as step
  window earlier as (order by step.place rows between unbounded preceding and 1 preceding)
$$;
comment on function dex_private.pool_ranges(text, integer, boolean, numeric, integer, numeric, integer, integer) is 'The ranges that a pool moves through as its price rises or falls by 2 %, in their order. Each has what the pool takes and gives before it, in the smallest units.';
grant execute on function dex_private.pool_ranges(text, integer, boolean, numeric, integer, numeric, integer, integer) to dex_reader, dex_writer;

-- Of what comes in it takes as much as leads to a price, rounded down. What it gives for that is what the contract gives: it
-- rounds the new price so that it gives less.
create function dex_private.range_given(
  rises boolean,
  liquidity numeric,
  price numeric,
  taken numeric,
  fee integer
) returns numeric
language sql immutable parallel safe
as $$
  select dex_private.range_amount(
    not rises,
    liquidity,
    price,
    case
      when rises then price + div(net.taken * 79228162514264337593543950336, liquidity)
      else div(
        liquidity * 79228162514264337593543950336 * price + liquidity * 79228162514264337593543950336 + net.taken * price - 1,
        liquidity * 79228162514264337593543950336 + net.taken * price
      )
    end
  )
  from (
    select div(taken * (1000000 - fee), 1000000) as taken
  ) as net
  where liquidity > 0
$$;
comment on function dex_private.range_given(boolean, numeric, numeric, numeric, integer) is 'What a pool with this liquidity gives at this square root of its price, for an amount that does not leave its range. Null without liquidity.';
grant execute on function dex_private.range_given(boolean, numeric, numeric, numeric, integer) to dex_reader, dex_writer;
