-- What each market had traded up to a block: a window is the difference of two rows.

create table dex_private.running_sum (
  market_id integer not null,
  time timestamptz not null,
  block integer not null,
  trades bigint not null,
  base_amt numeric not null,
  quote_amt numeric not null,
  last numeric,
  last_time timestamptz,
  low numeric,
  high numeric,
  day_low numeric,
  day_high numeric,
  constraint running_sum_pkey primary key (market_id, time, block)
);
comment on table dex_private.running_sum is 'The sums of each market from its first trade up to each block in which it was traded.';
comment on column dex_private.running_sum.trades is 'Number of trades, including those without a price.';
comment on column dex_private.running_sum.last is 'The price of the newest trade that has a price.';
comment on column dex_private.running_sum.last_time is 'The time of that trade.';
comment on column dex_private.running_sum.low is 'The lowest price of a trade in the block itself; high likewise.';
comment on column dex_private.running_sum.day_low is 'The lowest price of a trade in the 24 hours up to the block, (t - 24 h, t]; day_high likewise.';
grant select on dex_private.running_sum to dex_reader, dex_writer;

create function dex_private.keep_running_sums_of_block(number integer, at timestamptz, figures dex_private.period_figure[])
returns void
language plpgsql
as $$
begin
  insert into dex_private.running_sum
  select
    traded.market_id,
    keep_running_sums_of_block.at,
    keep_running_sums_of_block.number,
    coalesce(before.trades, 0) + traded.trades,
    coalesce(before.base_amt, 0) + traded.base_amt,
    coalesce(before.quote_amt, 0) + traded.quote_amt,
    coalesce(traded.close, before.last),
    case when traded.close is null then before.last_time else keep_running_sums_of_block.at end,
    traded.low,
    traded.high,
    figure.low,
    figure.high
  from unnest(figures) as traded
  join dex_private.market_figure as figure on figure.market_id = traded.market_id
  left join lateral (
    select *
    from dex_private.running_sum as kept
    where kept.market_id = traded.market_id
    order by
      kept.time desc,
      kept.block desc
    limit 1
  ) as before on true
  where traded.minutes = 1;
end
$$;
comment on function dex_private.keep_running_sums_of_block(integer, timestamptz, dex_private.period_figure[]) is 'Adds the head by the minutes of its trades, after market_figure is as of it.';

-- A day that ends with a row begins in the bucket of 24 hours before the row's, or has no row before its bucket. So its lowest
-- price is that of a part at the end of one bucket, and a part at the start of the next. A window frame of 24 hours would read a whole
-- day for each row.
create function dex_private.keep_running_sums(first_trade bigint, market integer default null) returns void
language plpgsql
as $$
begin
  insert into dex_private.running_sum
  -- `offset 0` keeps `market_id is not null` away from the trades: with it the planner would scan the whole index by market.
  with added as materialized (
    select
      summed.market_id,
      summed.time,
      summed.block,
      coalesce(before.trades, 0) + summed.trades as trades,
      coalesce(before.base_amt, 0) + summed.base_amt as base_amt,
      coalesce(before.quote_amt, 0) + summed.quote_amt as quote_amt,
      coalesce(summed.last, before.last) as last,
      coalesce(summed.last_time, before.last_time) as last_time,
      summed.low,
      summed.high,
      null::numeric as day_low,
      null::numeric as day_high
    from (
      select
        traded.market_id,
        traded.time,
        traded.block,
        min(traded.time) over market as first_time,
        min(traded.block) over market as first_block,
        (sum(traded.trades) over so_far)::bigint as trades,
        sum(traded.base_amt) over so_far as base_amt,
        sum(traded.quote_amt) over so_far as quote_amt,
        first_value(traded.last) over since_priced as last,
        case when first_value(traded.last) over since_priced is not null then first_value(traded.time) over since_priced end
          as last_time,
        traded.low,
        traded.high
      from (
        select
          by_block.*,
          count(by_block.last) over (
            partition by by_block.market_id
            order by by_block.block
          ) as priced_blocks
        from (
          select
            dealt.market_id,
            dealt.time,
            dealt.block,
            count(*) as trades,
            sum(dealt.base_amt) as base_amt,
            sum(dealt.quote_amt) as quote_amt,
            (array_agg(dealt.price order by dealt.id desc) filter (where dealt.price is not null))[1] as last,
            min(dealt.price) as low,
            max(dealt.price) as high
          from (
            select
              trade.market_id,
              trade.id,
              trade.block,
              trade.time,
              trade.price,
              dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt) as base_amt,
              dex_private.quote_of(trade.act, trade.lot_amt, trade.bid_amt) as quote_amt
            from public.dex_trade as trade
            where trade.id >= keep_running_sums.first_trade
              and (keep_running_sums.market is null or trade.market_id = keep_running_sums.market)
            offset 0
          ) as dealt
          where dealt.market_id is not null
          group by
            dealt.market_id,
            dealt.time,
            dealt.block
        ) as by_block
      ) as traded
      window
        market as (partition by traded.market_id),
        so_far as (partition by traded.market_id order by traded.block),
        since_priced as (partition by traded.market_id, traded.priced_blocks order by traded.block)
    ) as summed
    left join lateral (
      select *
      from dex_private.running_sum as kept
      where kept.market_id = summed.market_id
        and (kept.time, kept.block) < (summed.first_time, summed.first_block)
      order by
        kept.time desc,
        kept.block desc
      limit 1
    ) as before on true
  ),
  listed as (
    select
      rows.*,
      date_bin(interval '24 hours', rows.time, 'epoch') as bucket
    from (
      select
        added.*,
        true as is_added
      from added
      union all
      select
        kept.*,
        false
      from (
        select
          added.market_id,
          min(added.time) as time
        from added
        group by added.market_id
      ) as first
      join dex_private.running_sum as kept
        on kept.market_id = first.market_id
        and kept.time > first.time - interval '24 hours'
    ) as rows
  ),
  parted as (
    select
      listed.*,
      min(listed.low) over up_to as first_low,
      max(listed.high) over up_to as first_high,
      min(listed.low) over onward as rest_low,
      max(listed.high) over onward as rest_high
    from listed
    window
      up_to as (partition by listed.market_id, listed.bucket order by listed.time, listed.block rows unbounded preceding),
      -- Blocks of one time have the same rest: `day` is ordered by time alone.
      onward as (partition by listed.market_id, listed.bucket order by listed.time desc)
  ),
  opened as (
    select
      parted.*,
      first_value(parted.bucket) over day < parted.bucket as is_of_two,
      first_value(parted.rest_low) over day as opening_low,
      first_value(parted.rest_high) over day as opening_high
    from parted
    window day as (
      partition by parted.market_id
      order by parted.time
      range between interval '24 hours' - interval '1 microsecond' preceding and current row
    )
  )
  select
    opened.market_id,
    opened.time,
    opened.block,
    opened.trades,
    opened.base_amt,
    opened.quote_amt,
    opened.last,
    opened.last_time,
    opened.low,
    opened.high,
    least(opened.first_low, case when opened.is_of_two then opened.opening_low end),
    greatest(opened.first_high, case when opened.is_of_two then opened.opening_high end)
  from opened
  where opened.is_added;
end
$$;
comment on function dex_private.keep_running_sums(bigint, integer) is 'Adds the newest trades, which start at this id, or all those of a market that has no row.';

create function dex_private.trades_of(market text) returns bigint
language sql stable parallel safe
as $$
  select coalesce(sum(summed.trades), 0)::bigint
    + (
      select count(*)
      from public.dex_trade as trade
      where trade.market_id is null
        and trades_of.market is null
        and trade.id < (select as_of.beyond from dex_private.as_of)
    )
  from dex_private.as_of
  cross join public.dex_pair as pair
  cross join lateral (
    select kept.trades
    from dex_private.running_sum as kept
    where kept.market_id = pair.id
      and (kept.time, kept.block) <= (as_of.time, as_of.block)
    order by
      kept.time desc,
      kept.block desc
    limit 1
  ) as summed
  where pair.market = coalesce(trades_of.market, pair.market)
$$;
comment on function dex_private.trades_of(text) is 'How many trades a market has, or for null how many there are, as of what as_of names. Reads one row a market, and the trades of no market.';
grant execute on function dex_private.trades_of(text) to dex_reader;
