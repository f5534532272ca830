-- The figures of a market as of any block: for past blocks, and to derive those of the head.

-- In a transaction each expression and each statement of plpgsql takes longer to begin than to find a row. So the functions
-- that every past block needs have one statement each.

create type dex_private.price_range as (
  low numeric,
  high numeric
);
comment on type dex_private.price_range is 'The lowest and the highest price of the trades of some time.';

-- From whole hours, and at both ends from minutes and blocks.
create function dex_private.range_at(market integer, moment dex_private.last_moment) returns dex_private.price_range
language plpgsql stable strict parallel safe
as $$
declare
  first_time constant timestamptz := moment.time - interval '24 hours';
  first_minute constant timestamptz := dex_private.minute_of(first_time) + interval '1 minute';
  first_hour constant timestamptz := dex_private.hour_of(first_time) + interval '1 hour';
  last_minute constant timestamptz := dex_private.minute_of(moment.time);
  last_hour constant timestamptz := dex_private.hour_of(moment.time);
begin
  return (
    select row(min(part.low), max(part.high))::dex_private.price_range
    from (
      select
        figure.low,
        figure.high
      from (
        values
          (60, first_hour, last_hour),
          (1, first_minute, first_hour),
          (1, last_hour, last_minute)
      ) as span (minutes, start, beyond)
      cross join lateral (
        select
          min(figures.low) as low,
          max(figures.high) as high
        from dex_private.period_figure as figures
        where figures.market_id = range_at.market
          and figures.minutes = span.minutes
          and figures.start >= span.start
          and figures.start < span.beyond
      ) as figure
      union all
      select
        block.low,
        block.high
      from (
        values
          (first_time, 2147483647, first_minute, -1),
          (last_minute, -1, moment.time, coalesce(moment.block, 2147483647))
      ) as span (time, block, last_time, last_block)
      cross join lateral (
        select
          min(summed.low) as low,
          max(summed.high) as high
        from dex_private.running_sum as summed
        where summed.market_id = range_at.market
          and (summed.time, summed.block) > (span.time, span.block)
          and (summed.time, summed.block) <= (span.last_time, span.last_block)
      ) as block
    ) as part
  );
end
$$;
comment on function dex_private.range_at(integer, dex_private.last_moment) is 'The lowest and the highest price of a market in the 24 hours up to a moment, where no row of running_sum has them.';
grant execute on function dex_private.range_at(integer, dex_private.last_moment) to dex_reader, dex_writer;

create type dex_private.window_figures as (
  last numeric,
  last_time timestamptz,
  open numeric,
  low numeric,
  high numeric,
  trades_24h integer,
  base_24h numeric,
  quote_24h numeric,
  base_12h numeric,
  quote_12h numeric,
  base_6h numeric,
  quote_6h numeric,
  base_1h numeric,
  quote_1h numeric
);
comment on type dex_private.window_figures is 'The last price, the one of 24 hours before, the lowest and the highest since, and the sums of the windows (t - W, t]. Lowest, highest and the sums of 24 hours are null where nothing was traded in them.';

-- Where the time of a block is given alone, an index finds the last row in less time than with the block beside it.
create function dex_private.sums_up_to(market integer, moment dex_private.last_moment) returns dex_private.running_sum
language plpgsql stable parallel safe
as $$
begin
  return (
    select summed
    from dex_private.running_sum as summed
    where summed.market_id = sums_up_to.market
      and (summed.time, summed.block) <= (moment.time, moment.block)
    order by
      summed.time desc,
      summed.block desc
    limit 1
  );
end
$$;
comment on function dex_private.sums_up_to(integer, dex_private.last_moment) is 'The sums of a market as of a moment, where later blocks have its time. Null if there are none.';
grant execute on function dex_private.sums_up_to(integer, dex_private.last_moment) to dex_reader, dex_writer;

-- The times are hidden in subqueries: else PostgreSQL would plan the statement for each of them.
create function dex_private.is_range_gone(market integer, last dex_private.running_sum, moment dex_private.last_moment) returns boolean
language plpgsql stable parallel safe
as $$
begin
  -- Many may have left in that time.
  if last.time < moment.time - interval '10 minutes' then
    return true;
  end if;
  return (
    select min(gone.low) <= last.day_low or max(gone.high) >= last.day_high
    from dex_private.running_sum as gone
    where gone.market_id = is_range_gone.market
      and gone.time > (select last.time - interval '24 hours')
      and gone.time <= (select moment.time - interval '24 hours')
  );
end
$$;
comment on function dex_private.is_range_gone(integer, dex_private.running_sum, dex_private.last_moment) is 'Whether a trade may have left the 24 hours up to a moment that had the lowest or the highest price of the last row before it.';
grant execute on function dex_private.is_range_gone(integer, dex_private.running_sum, dex_private.last_moment) to dex_reader, dex_writer;

-- One scan finds the rows of all edges. PostgreSQL makes the expressions ready once for a transaction, and a statement for each
-- market. So the differences are no part of the statement, and what few markets need is in other functions.
create function dex_private.windows_at(market integer, moment dex_private.last_moment) returns dex_private.window_figures
language plpgsql stable strict parallel safe
as $$
declare
  -- As of the moment, and of 24, 12, 6 hours and 1 hour before.
  edges dex_private.running_sum[] := array(
    select coalesce(
      (
        select case when summed.block > moment.block then dex_private.sums_up_to(market, moment) else summed end
        from dex_private.running_sum as summed
        where summed.market_id = windows_at.market
          and summed.time <= moment.time - edge.span
        order by
          summed.time desc,
          summed.block desc
        limit 1
      ),
      row(null, null, null, 0, 0.000000000000000000, 0.000000000000000000, null, null, null, null, null, null)::dex_private.running_sum
    )
    from (
      values
        (interval '0'),
        ('24 hours'),
        ('12 hours'),
        ('6 hours'),
        ('1 hour')
    ) as edge (span)
  );
  now dex_private.running_sum := edges[1];
  day dex_private.running_sum := edges[2];
  range dex_private.price_range;
begin
  if (day.time <= now.time - interval '24 hours') is not true then
    if now.trades = day.trades then
      now.day_low := null;
      now.day_high := null;
      day.base_amt := null;
      day.quote_amt := null;
    elsif day.time is not null and dex_private.is_range_gone(market, now, moment) then
      range := dex_private.range_at(market, moment);
      now.day_low := range.low;
      now.day_high := range.high;
    end if;
  end if;
  return row(
    now.last,
    now.last_time,
    day.last,
    now.day_low,
    now.day_high,
    now.trades - day.trades,
    now.base_amt - day.base_amt,
    now.quote_amt - day.quote_amt,
    now.base_amt - (edges[3]).base_amt,
    now.quote_amt - (edges[3]).quote_amt,
    now.base_amt - (edges[4]).base_amt,
    now.quote_amt - (edges[4]).quote_amt,
    now.base_amt - (edges[5]).base_amt,
    now.quote_amt - (edges[5]).quote_amt
  )::dex_private.window_figures;
end
$$;
comment on function dex_private.windows_at(integer, dex_private.last_moment) is 'The last price and the windows of a market as of a moment.';
grant execute on function dex_private.windows_at(integer, dex_private.last_moment) to dex_reader, dex_writer;

create type dex_private.book_prices as (
  bid numeric,
  ask numeric,
  active boolean
);
comment on type dex_private.book_prices is 'The best prices of a book. `active` is null where it has not changed since.';

create function dex_private.prices_at(market integer, moment dex_private.last_moment) returns dex_private.book_prices
language plpgsql stable strict parallel safe
as $$
begin
  return (
    select row(
      (select best.price from dex_private.best_price_at(market, 'buy', moment.block) as best),
      (select best.price from dex_private.best_price_at(market, 'sell', moment.block) as best),
      (
        select until.active
        from dex_private.active_until as until
        where until.market_id = prices_at.market
          and until.block >= moment.block
        order by until.block
        limit 1
      )
    )::dex_private.book_prices
  );
end
$$;
comment on function dex_private.prices_at(integer, dex_private.last_moment) is 'The best prices of the book of a market as of a moment, and whether it was active.';
grant execute on function dex_private.prices_at(integer, dex_private.last_moment) to dex_reader, dex_writer;
