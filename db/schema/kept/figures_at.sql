-- The figures of a market as of any block: for past blocks, and to derive those of the head.

create type dex_private.window_sums as (
  last numeric,
  last_time timestamptz,
  open numeric,
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
comment on type dex_private.window_sums is 'The last price, the one of 24 hours before, and the sums of the windows (t - W, t].';

-- One scan for all edges, and no aggregates: to begin either takes longer than to find a row.
create function dex_private.sums_at(market integer, moment dex_private.last_moment) returns dex_private.window_sums
language plpgsql stable strict parallel safe
as $$
declare
  ends constant dex_private.running_sum[] := array(
    select (
      select kept
      from dex_private.running_sum as kept
      where kept.market_id = sums_at.market
        and (kept.time, kept.block) <= (edge.time, edge.block)
      order by
        kept.time desc,
        kept.block desc
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
  );
  nothing constant numeric := 0.000000000000000000;
  base_amt constant numeric := coalesce(ends[1].base_amt, nothing);
  quote_amt constant numeric := coalesce(ends[1].quote_amt, nothing);
begin
  return row(
    ends[1].last,
    ends[1].last_time,
    ends[2].last,
    (coalesce(ends[1].trades, 0) - coalesce(ends[2].trades, 0))::integer,
    base_amt - coalesce(ends[2].base_amt, nothing),
    quote_amt - coalesce(ends[2].quote_amt, nothing),
    base_amt - coalesce(ends[3].base_amt, nothing),
    quote_amt - coalesce(ends[3].quote_amt, nothing),
    base_amt - coalesce(ends[4].base_amt, nothing),
    quote_amt - coalesce(ends[4].quote_amt, nothing),
    base_amt - coalesce(ends[5].base_amt, nothing),
    quote_amt - coalesce(ends[5].quote_amt, nothing)
  );
end
$$;
comment on function dex_private.sums_at(integer, dex_private.last_moment) is 'The last price and the sums of a market as of a moment.';
grant execute on function dex_private.sums_at(integer, dex_private.last_moment) to dex_reader, dex_writer;

create type dex_private.day_prices as (
  low numeric,
  high numeric,
  bid numeric,
  ask numeric,
  active boolean
);
comment on type dex_private.day_prices is 'The lowest and the highest price of 24 hours, and the best prices of the book. `active` is null where it has not changed since.';

-- From whole hours, and at both ends from minutes and blocks.
create function dex_private.prices_at(market integer, moment dex_private.last_moment) returns dex_private.day_prices
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
    select row(
      min(part.low),
      max(part.high),
      dex_private.best_price_at(market, 'buy', moment.block),
      dex_private.best_price_at(market, 'sell', moment.block),
      (
        select until.active
        from dex_private.active_until as until
        where until.market_id = prices_at.market
          and until.block >= moment.block
        order by until.block
        limit 1
      )
    )::dex_private.day_prices
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
        where figures.market_id = prices_at.market
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
        where summed.market_id = prices_at.market
          and (summed.time, summed.block) > (span.time, span.block)
          and (summed.time, summed.block) <= (span.last_time, span.last_block)
      ) as block
    ) as part
  );
end
$$;
comment on function dex_private.prices_at(integer, dex_private.last_moment) is 'The prices of the day and of the book of a market as of a moment.';
grant execute on function dex_private.prices_at(integer, dex_private.last_moment) to dex_reader, dex_writer;
