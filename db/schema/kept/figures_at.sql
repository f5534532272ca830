-- The figures of a market as of any block: for past blocks, and to derive those of the head.

-- In a transaction each expression and each statement of plpgsql takes longer to begin than to find a row. So the functions
-- that every past block needs are one statement each.

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
comment on type dex_private.window_figures is 'The last price, the one of 24 hours before, the lowest and the highest since, and the sums of the windows (t - W, t].';

-- One scan for all edges, and no aggregates: to begin either takes longer than to find a row. `offset 0` has each row read once. The
-- prices of the day are in the last row, unless a trade that had one of them has left the window since.
create function dex_private.windows_at(market integer, moment dex_private.last_moment) returns dex_private.window_figures
language plpgsql stable strict parallel safe
as $$
begin
  return (
    select row(
      (up_to.now).last,
      (up_to.now).last_time,
      (up_to.day).last,
      case when up_to.is_moved then (up_to.range).low when up_to.is_traded then (up_to.now).day_low end,
      case when up_to.is_moved then (up_to.range).high when up_to.is_traded then (up_to.now).day_high end,
      (coalesce((up_to.now).trades, 0) - coalesce((up_to.day).trades, 0))::integer,
      coalesce((up_to.now).base_amt, up_to.none) - coalesce((up_to.day).base_amt, up_to.none),
      coalesce((up_to.now).quote_amt, up_to.none) - coalesce((up_to.day).quote_amt, up_to.none),
      coalesce((up_to.now).base_amt, up_to.none) - coalesce((up_to.half_day).base_amt, up_to.none),
      coalesce((up_to.now).quote_amt, up_to.none) - coalesce((up_to.half_day).quote_amt, up_to.none),
      coalesce((up_to.now).base_amt, up_to.none) - coalesce((up_to.quarter_day).base_amt, up_to.none),
      coalesce((up_to.now).quote_amt, up_to.none) - coalesce((up_to.quarter_day).quote_amt, up_to.none),
      coalesce((up_to.now).base_amt, up_to.none) - coalesce((up_to.hour).base_amt, up_to.none),
      coalesce((up_to.now).quote_amt, up_to.none) - coalesce((up_to.hour).quote_amt, up_to.none)
    )::dex_private.window_figures
    from (
      select
        edges.*,
        case when edges.is_moved then dex_private.range_at(market, moment) end as range,
        0.000000000000000000 as none
      from (
        select
          kept.rows[1] as now,
          kept.rows[2] as day,
          kept.rows[3] as half_day,
          kept.rows[4] as quarter_day,
          kept.rows[5] as hour,
          kept.rows[1].time > moment.time - interval '24 hours' as is_traded,
          kept.rows[1].time > moment.time - interval '24 hours'
            and kept.rows[2].time > kept.rows[1].time - interval '24 hours'
            and case
              -- Many may have left in that time.
              when kept.rows[1].time < moment.time - interval '10 minutes' then true
              else (
                select min(gone.low) <= kept.rows[1].day_low or max(gone.high) >= kept.rows[1].day_high
                from dex_private.running_sum as gone
                where gone.market_id = windows_at.market
                  and gone.time > kept.rows[1].time - interval '24 hours'
                  and gone.time <= moment.time - interval '24 hours'
              )
            end as is_moved
        from (
          select array(
            select (
              select summed
              from dex_private.running_sum as summed
              where summed.market_id = windows_at.market
                and (summed.time, summed.block) <= (edge.time, edge.block)
              order by
                summed.time desc,
                summed.block desc
              limit 1
            )
            from (
              values
                (moment.time, coalesce(moment.block, 2147483647)),
                (moment.time - interval '24 hours', 2147483647),
                (moment.time - interval '12 hours', 2147483647),
                (moment.time - interval '6 hours', 2147483647),
                (moment.time - interval '1 hour', 2147483647)
            ) as edge (time, block)
          ) as rows
          offset 0
        ) as kept
        offset 0
      ) as edges
      offset 0
    ) as up_to
  );
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
