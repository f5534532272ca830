--! Previous: sha1:94d4470b48c67e690ec9a69731c22a587e75b5b4
--! Hash: sha1:a1555c8d8faa6b5302616c780923e9b91516156b
--! Message: candles

-- Candles of a market, from the sums of its minutes and hours.

create view dex_private.minute_piece as
select
  figure.market_id,
  figure.minute as start,
  figure.base_amt,
  figure.quote_amt - coalesce(figure.unpriced_quote_amt, 0) as quote_amt,
  figure.low,
  figure.high,
  figure.trades - coalesce(figure.unpriced_trades, 0) as trades
from dex_private.as_of
join dex_private.minute_figure as figure
  on figure.minute <= as_of.time - interval '1 minute'
  and figure.max_block <= as_of.max_block
where figure.low is not null
union all
-- A minute that the head cuts, or with trades after the head.
select
  cut.market_id,
  cut.minute,
  trade.base_amt,
  trade.quote_amt,
  trade.price,
  trade.price,
  1
from dex_private.as_of
join dex_private.minute_figure as cut
  on cut.minute <= as_of.time
  and (cut.minute > as_of.time - interval '1 minute' or cut.max_block > as_of.max_block)
cross join lateral (
  select *
  from dex_private.market_row as trades
  where trades.market_id = cut.market_id
    and trades.time >= cut.minute
    and trades.time < cut.minute + interval '1 minute'
  offset 0
) as trade
where trade.time <= as_of.time
  and trade.block <= as_of.max_block
  and trade.price is not null;
comment on view dex_private.minute_piece is
  'The minutes of each market up to the head, as far as trades have a price; where they are cut, by trades.';

create view dex_private.hour_piece as
select
  figure.market_id,
  figure.hour as start,
  figure.base_amt,
  figure.quote_amt - coalesce(figure.unpriced_quote_amt, 0) as quote_amt,
  figure.low,
  figure.high,
  figure.trades - coalesce(figure.unpriced_trades, 0) as trades
from dex_private.as_of
join dex_private.hour_figure as figure
  on figure.hour <= as_of.time - interval '1 hour'
  and figure.max_block <= as_of.max_block
where figure.low is not null
union all
-- An hour that the head cuts, or with trades after the head.
select
  cut.market_id,
  cut.hour,
  piece.base_amt,
  piece.quote_amt,
  piece.low,
  piece.high,
  piece.trades
from dex_private.as_of
join dex_private.hour_figure as cut
  on cut.hour <= as_of.time
  and (cut.hour > as_of.time - interval '1 hour' or cut.max_block > as_of.max_block)
cross join lateral (
  select *
  from dex_private.minute_piece as pieces
  where pieces.market_id = cut.market_id
    and pieces.start >= cut.hour
    and pieces.start < cut.hour + interval '1 hour'
  offset 0
) as piece;
comment on view dex_private.hour_piece is
  'The hours of each market up to the head, as far as trades have a price; where they are cut, by minutes and trades.';

-- The trades that candles are made of.
create view dex_private.priced_trade as
select
  trade.market_id,
  trade.price,
  trade.block,
  trade.idx,
  trade.id,
  trade.time
from dex_private.market_row as trade
cross join dex_private.as_of
where trade.price is not null
  and trade.block <= as_of.max_block
  and trade.time <= as_of.time;
comment on view dex_private.priced_trade is
  'The trades of registered markets up to the head, by block and by time, that have a price.';

create view dex_private.priced_minute as
select
  figure.market_id,
  figure.minute as start
from dex_private.minute_figure as figure
cross join dex_private.as_of
where figure.low is not null
  and (
    (figure.minute <= as_of.time - interval '1 minute' and figure.max_block <= as_of.max_block)
    or exists (
      select
      from dex_private.priced_trade as trade
      where trade.market_id = figure.market_id
        and trade.time >= figure.minute
        and trade.time < figure.minute + interval '1 minute'
    )
  );
comment on view dex_private.priced_minute is
  'The minutes of each market in which it has a trade with a price up to the head.';

create view dex_private.priced_hour as
select
  figure.market_id,
  figure.hour as start
from dex_private.hour_figure as figure
cross join dex_private.as_of
where figure.low is not null
  and (
    (figure.hour <= as_of.time - interval '1 hour' and figure.max_block <= as_of.max_block)
    or exists (
      select
      from dex_private.priced_trade as trade
      where trade.market_id = figure.market_id
        and trade.time >= figure.hour
        and trade.time < figure.hour + interval '1 hour'
    )
  );
comment on view dex_private.priced_hour is
  'The hours of each market in which it has a trade with a price up to the head.';
grant select on
  dex_private.minute_piece,
  dex_private.hour_piece,
  dex_private.priced_trade,
  dex_private.priced_minute,
  dex_private.priced_hour
to dex_reader, dex_writer;

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
comment on type dex_candle is
  'What was traded in a market in one interval of time, as far as trades have a price.';
comment on column dex_candle.time is E'@notNull\nThe start of the interval, which is in it; its end is not. Intervals are counted from the Unix epoch.';
comment on column dex_candle.open is E'@notNull\nPrice of the first trade, quote per base: by block time, then by block and log index.';
comment on column dex_candle.high is E'@notNull\nHighest price of a trade, quote per base.';
comment on column dex_candle.low is E'@notNull\nLowest price of a trade, quote per base.';
comment on column dex_candle.close is E'@notNull\nPrice of the last trade, quote per base.';
comment on column dex_candle.vol is E'@notNull\nVolume in base units.';
comment on column dex_candle.quote_vol is E'@notNull\nVolume in quote units.';
comment on column dex_candle.trades is E'@notNull\nNumber of trades.';
comment on column dex_candle.complete is E'@notNull\nWhether the interval is over as of the head. While it is not, the candle is of its trades up to the head.';

-- Which intervals there are is found first, from the minutes or the hours of as many as are asked for;
-- then their sums in one go, and the first and the last price of each by a look into an index.
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
  unit constant text := case when minutes < 60 then 'minute' else 'hour' end;
  market integer;
  head_time timestamptz;
  -- Starts are from the one to before the other.
  lowest timestamptz := '-infinity';
  beyond timestamptz;
  starts timestamptz[];
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

  select as_of.time
  into head_time
  from dex_private.as_of;
  beyond := date_bin(span, head_time, epoch) + span;
  if "to" < beyond then
    beyond := date_bin(span, "to" - interval '1 microsecond', epoch) + span;
  end if;
  if "from" > '-infinity' and "from" < 'infinity' then
    lowest := date_bin(span, "from" - interval '1 microsecond', epoch) + span;
  elsif "from" = 'infinity' then
    lowest := "from";
  end if;

  if empty = 'flat' then
    select greatest(lowest, date_bin(span, oldest.time, epoch))
    into lowest
    from (
      select trade.time
      from dex_private.priced_trade as trade
      where trade.market_id = any (array[market])
      order by
        trade.market_id,
        trade.time
      limit 1
    ) as oldest;
    if not found or lowest >= beyond then
      return;
    end if;
    if "from" is null then
      lowest := greatest(lowest, beyond - most * span);
    else
      beyond := least(beyond, lowest + most * span);
    end if;
    starts := array(select generate_series(lowest, beyond - span, span));
  else
    -- Planned for these bounds. Of so many minutes or hours, as many intervals are found as are asked
    -- for, or all.
    execute format(
      $statement$
        select array_agg(listed.time)
        from (
          select distinct date_bin($1, found.start, 'epoch') as time
          from (
            select unit.start
            from dex_private.priced_%1$s as unit
            where unit.market_id = any (array[$2])
              and unit.start >= $3
              and unit.start < $4
            order by
              unit.market_id %2$s,
              unit.start %2$s
            limit $5
          ) as found
          order by time %2$s
          limit $6
        ) as listed
      $statement$,
      unit,
      case when "from" is null then 'desc' else 'asc' end
    )
    into starts
    using span, market, lowest, beyond,
      case unit when 'minute' then most * minutes else most * minutes / 60 end,
      most;
    if starts is null then
      return;
    end if;
  end if;

  return query execute format(
    $statement$
      with sums as (
        select
          date_bin($1, piece.start, 'epoch') as time,
          max(piece.high) as high,
          min(piece.low) as low,
          sum(piece.base_amt) as base_amt,
          sum(piece.quote_amt) as quote_amt,
          sum(piece.trades)::integer as trades
        from dex_private.%1$s_piece as piece
        where piece.market_id = $2
          and piece.start >= $3
          and piece.start < $4
        group by date_bin($1, piece.start, 'epoch')
      )
      select
        listed.time,
        coalesce(opening.price, closing.price),
        coalesce(sums.high, closing.price),
        coalesce(sums.low, closing.price),
        closing.price,
        coalesce(sums.base_amt, 0.000000000000000000),
        coalesce(sums.quote_amt, 0.000000000000000000),
        coalesce(sums.trades, 0),
        listed.time + $1 <= $6
      from unnest($5) as listed (time)
      left join sums on sums.time = listed.time
      -- The last price before the end, which in an interval without trades is of one before.
      cross join lateral (
        select trade.price
        from dex_private.priced_trade as trade
        where trade.market_id = any (array[$2])
          and trade.time < listed.time + $1
        order by
          trade.market_id desc,
          trade.time desc,
          trade.block desc,
          trade.idx desc,
          trade.id desc
        limit 1
      ) as closing
      left join lateral (
        select trade.price
        from dex_private.priced_trade as trade
        where sums.trades > 0
          and trade.market_id = any (array[$2])
          and trade.time >= listed.time
        order by
          trade.market_id,
          trade.time,
          trade.block,
          trade.idx,
          trade.id
        limit 1
      ) as opening on true
      order by listed.time
    $statement$,
    unit
  )
  using span,
    market,
    (select min(listed.time) from unnest(starts) as listed (time)),
    (select max(listed.time) + span from unnest(starts) as listed (time)),
    starts,
    head_time;
end
$$;
comment on function dex_candles(text, text, text, timestamptz, timestamptz, integer, text) is
  E'@argument base The base token''s symbol, in any case.\n@argument quote The quote token''s symbol, in any case.\n@argument interval How long each is: 1m, 5m, 15m, 30m, 1h, 4h or 1d; 1h if not given.\n@argument from They start at this time or after it.\n@argument to They start before this time.\n@argument limit How many at most, from 1 to 1000; 100 if not given. The first ones where `from` is given, else the last.\n@argument empty What an interval without trades gives: omit, no candle, if not given; flat, one at the price before it with nothing traded, from the first trade on.\nThe candles of a market up to the head, oldest first, of trades that have a price. Empty where the pair is not registered.';
revoke all on function dex_candles(text, text, text, timestamptz, timestamptz, integer, text) from public;
grant execute on function dex_candles(text, text, text, timestamptz, timestamptz, integer, text) to dex_reader, dex_writer;
