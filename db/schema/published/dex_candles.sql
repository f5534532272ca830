-- The candles of a market, computed from its minutes and hours.

create type dex_candle as (
  time timestamptz,
  open numeric,
  high numeric,
  low numeric,
  close numeric,
  vol numeric,
  quote_vol numeric,
  trades integer,
  complete boolean
);
comment on type dex_candle is 'What was traded in a market in one interval of time, as far as trades have a price.';
comment on column dex_candle.time is E'@notNull\nThe start of the interval, which is in it; its end is not. Intervals are counted from the Unix epoch.';
comment on column dex_candle.open is E'@notNull\nPrice of the first trade, quote per base: by block time, then by block and log index.';
comment on column dex_candle.high is E'@notNull\nHighest price of a trade, quote per base.';
comment on column dex_candle.low is E'@notNull\nLowest price of a trade, quote per base.';
comment on column dex_candle.close is E'@notNull\nPrice of the last trade, quote per base.';
comment on column dex_candle.vol is E'@notNull\nVolume in base units.';
comment on column dex_candle.quote_vol is E'@notNull\nVolume in quote units.';
comment on column dex_candle.trades is E'@notNull\nNumber of trades.';
comment on column dex_candle.complete is E'@notNull\nWhether the interval is over as of the head. While it is not, the candle is of its trades up to the head.';

-- Reads hours for intervals from 1h on, minutes for shorter ones. `parts` is the number of them in an interval,
-- so `limit` × `parts` of them are enough for `limit` candles.
create function dex_candles(
  base text,
  quote text,
  "interval" text default '1h',
  "from" timestamptz default null,
  "to" timestamptz default null,
  "limit" integer default 100,
  empty text default 'omit'
) returns setof dex_candle
language plpgsql stable
rows 100
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  minutes constant integer := case coalesce("interval", '1h')
    when '1m' then 1
    when '5m' then 5
    when '15m' then 15
    when '30m' then 30
    when '1h' then 60
    when '4h' then 240
    when '1d' then 1440
  end;
  most constant integer := coalesce("limit", 100);
  span constant interval := make_interval(mins => minutes);
  epoch constant timestamptz := 'epoch';
  part_minutes constant integer := case when minutes < 60 then 1 else 60 end;
  parts constant integer := minutes / part_minutes;
  is_newest constant boolean := "from" is null;
  is_flat constant boolean := coalesce(empty, 'omit') = 'flat';
  is_past constant boolean := dex_private.is_past();
  market integer;
  moment dex_private.last_moment;
  -- Candles start at or after `lowest` and before `beyond`.
  lowest timestamptz := '-infinity';
  beyond timestamptz;
  oldest timestamptz;
  -- Those before it are read whole.
  whole_beyond timestamptz;
  cut dex_private.period_figure[];
begin
  if minutes is null then
    raise exception 'interval must be 1m, 5m, 15m, 30m, 1h, 4h or 1d, not %', "interval"
      using errcode = 'invalid_parameter_value';
  end if;
  if most not between 1 and 1000 then
    raise exception 'limit must be an integer from 1 to 1000, not %', most
      using errcode = 'invalid_parameter_value';
  end if;
  if coalesce(empty, 'omit') not in ('omit', 'flat') then
    raise exception 'empty must be omit or flat, not %', empty
      using errcode = 'invalid_parameter_value';
  end if;

  select pair.id
  into market
  from public.dex_pair as pair
  where pair.base = upper(dex_candles.base)
    and pair.quote = upper(dex_candles.quote);
  if market is null then
    return;
  end if;

  moment := (select asked.moment from dex_private.asked);
  beyond := date_bin(span, moment.time, epoch) + span;
  if "to" < beyond then
    beyond := date_bin(span, "to" - interval '1 microsecond', epoch) + span;
  end if;
  if "from" > '-infinity' and "from" < 'infinity' then
    lowest := date_bin(span, "from" - interval '1 microsecond', epoch) + span;
  elsif "from" = 'infinity' then
    lowest := "from";
  end if;

  if is_flat then
    select figure.start
    into oldest
    from dex_private.period_figure as figure
    where figure.market_id = market
      and figure.minutes = 1
      and figure.low is not null
      and (not is_past or figure.start < dex_private.minute_of(moment.time))
    order by figure.start
    limit 1;
    if oldest is null and is_past then
      oldest := (
        select dex_private.minute_of(summed.last_time)
        from dex_private.running_sum as summed
        where summed.market_id = market
          and (summed.time, summed.block) <= (moment.time, moment.block)
        order by
          summed.time desc,
          summed.block desc
        limit 1
      );
    end if;
    lowest := greatest(lowest, date_bin(span, oldest, epoch));
    if oldest is null or lowest >= beyond then
      return;
    end if;
    if "from" is null then
      lowest := greatest(lowest, beyond - most * span);
    else
      beyond := least(beyond, lowest + most * span);
    end if;
  end if;

  -- As of a past block, the last period may be cut, and the interval may have later ones.
  whole_beyond := beyond;
  if is_past and beyond > moment.time then
    cut := dex_private.cut_period(market, part_minutes, moment);
    whole_beyond := date_bin(make_interval(mins => part_minutes), moment.time, epoch);
    if cut is null then
      whole_beyond := whole_beyond + make_interval(mins => part_minutes);
    end if;
  end if;

  -- Of the two ways to read the whole periods, one runs. Both stand in one statement, so that it is planned once for a connection.
  return query
  with part as materialized (
    select
      date_bin(span, figure.start, epoch) as time,
      figure.*
    from (
      (
        select *
        from dex_private.period_figure as whole
        where is_newest
          and whole.market_id = market
          and whole.minutes = part_minutes
          and whole.start >= lowest
          and whole.start < whole_beyond
          and whole.low is not null
        order by whole.start desc
        limit most * parts
      )
      union all
      (
        select *
        from dex_private.period_figure as whole
        where not is_newest
          and whole.market_id = market
          and whole.minutes = part_minutes
          and whole.start >= lowest
          and whole.start < whole_beyond
          and whole.low is not null
        order by whole.start
        limit most * parts
      )
      union all
      select *
      from unnest(cut) as last
      where last.start >= lowest
        and last.low is not null
    ) as figure
  ),
  candle as materialized (
    select
      part.time,
      (array_agg(part.open order by part.start))[1] as open,
      max(part.high) as high,
      min(part.low) as low,
      (array_agg(part.close order by part.start))[count(*)] as close,
      sum(part.base_amt) as vol,
      sum(part.quote_amt - part.unpriced_quote_amt) as quote_vol,
      sum(part.trades - part.unpriced_trades)::integer as trades
    from part
    group by part.time
  )
  select
    listed.*,
    listed.time + span <= moment.time
  from (
    (
      select *
      from candle
      where not is_flat
      order by
        case when is_newest then candle.time end desc,
        candle.time
      limit most
    )
    union all
    select
      flat.time,
      coalesce(candle.open, before.close),
      coalesce(candle.high, before.close),
      coalesce(candle.low, before.close),
      coalesce(candle.close, before.close),
      coalesce(candle.vol, 0.000000000000000000),
      coalesce(candle.quote_vol, 0.000000000000000000),
      coalesce(candle.trades, 0)
    from generate_series(case when is_flat then lowest end, beyond - span, span) as flat (time)
    left join candle on candle.time = flat.time
    left join lateral (
      select figure.close
      from dex_private.period_figure as figure
      where candle.time is null
        and figure.market_id = market
        and figure.minutes = part_minutes
        and figure.start < flat.time
        and figure.low is not null
      order by figure.start desc
      limit 1
    ) as before on true
    where is_flat
  ) as listed
  order by listed.time;
end
$$;
comment on function dex_candles(text, text, text, timestamptz, timestamptz, integer, text) is E'@argument base The base token''s symbol, in any case.\n@argument quote The quote token''s symbol, in any case.\n@argument interval How long each is: 1m, 5m, 15m, 30m, 1h, 4h or 1d; 1h if not given.\n@argument from They start at this time or after it.\n@argument to They start before this time.\n@argument limit How many at most, from 1 to 1000; 100 if not given. The first ones where `from` is given, else the last.\n@argument empty What an interval without trades gives: omit, no candle, if not given; flat, one at the price before it with nothing traded, from the first trade on.\nThe candles of a market up to the head, oldest first, of trades that have a price. Empty where the pair is not registered.';
grant execute on function dex_candles(text, text, text, timestamptz, timestamptz, integer, text) to dex_reader, dex_writer;
