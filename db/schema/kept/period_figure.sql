-- Sums of each market by minute and by hour.

create table dex_private.period_figure (
  market_id integer not null,
  minutes integer not null,
  start timestamptz not null,
  trades integer not null,
  base_amt numeric not null,
  quote_amt numeric not null,
  open numeric,
  high numeric,
  low numeric,
  close numeric,
  unpriced_trades integer not null,
  unpriced_quote_amt numeric not null,
  constraint period_figure_pkey primary key (market_id, minutes, start)
)
with (fillfactor = 80);

comment on table dex_private.period_figure is 'Sums and prices of each market for each minute and each hour with a trade.';
comment on column dex_private.period_figure.minutes is 'The length of the period: 1 or 60.';
comment on column dex_private.period_figure.trades is 'Number of trades, including those without a price.';
comment on column dex_private.period_figure.open is 'The price of the first trade that has a price. Null, like high, low and close, if no trade has one.';
comment on column dex_private.period_figure.unpriced_trades is 'Number of trades with a base amount of 0, which have no price.';
comment on column dex_private.period_figure.unpriced_quote_amt is 'The sum of the quote amounts of these trades.';
grant select on dex_private.period_figure to dex_reader, dex_writer;

-- `offset 0` keeps `market_id is not null` away from the trades: with it the planner would scan the whole
-- index by market.
create function dex_private.figures_from(
  first_trade bigint,
  market integer default null,
  beyond bigint default 9223372036854775807
)
returns setof dex_private.period_figure
language sql stable
as $$
  select
    dealt.market_id,
    period.minutes,
    date_bin(period.minutes * interval '1 minute', dealt.time, 'epoch'),
    count(*)::integer,
    sum(dealt.base_amt),
    sum(dealt.quote_amt),
    (array_agg(dealt.price order by dealt.id) filter (where dealt.price is not null))[1],
    max(dealt.price),
    min(dealt.price),
    (array_agg(dealt.price order by dealt.id desc) filter (where dealt.price is not null))[1],
    (count(*) filter (where dealt.price is null))::integer,
    coalesce(sum(dealt.quote_amt) filter (where dealt.price is null), 0.000000000000000000)
  from (
    select
      trade.market_id,
      trade.id,
      trade.time,
      trade.price,
      dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt) as base_amt,
      dex_private.quote_of(trade.act, trade.lot_amt, trade.bid_amt) as quote_amt
    from public.dex_trade as trade
    where trade.id >= first_trade
      and trade.id < figures_from.beyond
      and (figures_from.market is null or trade.market_id = figures_from.market)
    offset 0
  ) as dealt
  cross join unnest('{1,60}'::integer[]) as period (minutes)
  where dealt.market_id is not null
  group by 1, 2, 3
$$;
comment on function dex_private.figures_from(bigint, integer, bigint) is 'Computes the minutes and hours of all markets, or of one, from the trades from this id on, and below the other.';
grant execute on function dex_private.figures_from(bigint, integer, bigint) to dex_reader, dex_writer;

-- A block's figures are given, because its running sums need them too. Those of a whole history would be more than an array can have.
create function dex_private.keep_figures(first_trade bigint, figures dex_private.period_figure[] default null) returns void
language plpgsql
as $$
begin
  merge into dex_private.period_figure as kept
  using (
    select *
    from unnest(keep_figures.figures)
    union all
    select *
    from dex_private.figures_from(first_trade)
    where keep_figures.figures is null
  ) as added
  on kept.market_id = added.market_id
    and kept.minutes = added.minutes
    and kept.start = added.start
  when matched then
    update
    set
      trades = kept.trades + added.trades,
      base_amt = kept.base_amt + added.base_amt,
      quote_amt = kept.quote_amt + added.quote_amt,
      open = coalesce(kept.open, added.open),
      high = greatest(kept.high, added.high),
      low = least(kept.low, added.low),
      close = coalesce(added.close, kept.close),
      unpriced_trades = kept.unpriced_trades + added.unpriced_trades,
      unpriced_quote_amt = kept.unpriced_quote_amt + added.unpriced_quote_amt
  when not matched then
    insert
    values (
      added.market_id,
      added.minutes,
      added.start,
      added.trades,
      added.base_amt,
      added.quote_amt,
      added.open,
      added.high,
      added.low,
      added.close,
      added.unpriced_trades,
      added.unpriced_quote_amt
    );
end
$$;
comment on function dex_private.keep_figures(bigint, dex_private.period_figure[]) is 'Adds the newest trades, which start at this id, to the minutes and hours. `figures` are those of these trades, where they are known.';

-- Mostly the market was not traded again in the same minute. Each statement takes longer to begin than to read its rows, so one finds
-- when it was traded again, and sums the minutes.
create function dex_private.cut_period(market integer, minutes integer, moment dex_private.last_moment)
returns dex_private.period_figure[]
language plpgsql stable
as $$
declare
  next_minute constant timestamptz := dex_private.minute_of(moment.time) + interval '1 minute';
  traded_next timestamptz;
  cut dex_private.period_figure[];
begin
  select
    later.time,
    case
      when later.time < later.start + make_interval(mins => cut_period.minutes) then array(
        select row(
          market,
          cut_period.minutes,
          later.start,
          sum(figure.trades),
          sum(figure.base_amt),
          sum(figure.quote_amt),
          (array_agg(figure.open order by figure.start) filter (where figure.open is not null))[1],
          max(figure.high),
          min(figure.low),
          (array_agg(figure.close order by figure.start desc) filter (where figure.close is not null))[1],
          sum(figure.unpriced_trades),
          sum(figure.unpriced_quote_amt)
        )::dex_private.period_figure
        from dex_private.period_figure as figure
        where figure.market_id = market
          and figure.minutes = 1
          and figure.start >= later.start
          and figure.start < case when later.time < next_minute then next_minute - interval '1 minute' else next_minute end
        having count(*) > 0
      )
    end
  into
    traded_next,
    cut
  from (
    select
      date_bin(make_interval(mins => cut_period.minutes), moment.time, 'epoch') as start,
      (
        select summed.time
        from dex_private.running_sum as summed
        where summed.market_id = market
          and (summed.time, summed.block) > (moment.time, moment.block)
        order by
          summed.time,
          summed.block
        limit 1
      ) as time
    offset 0
  ) as later;
  if cut is not null and traded_next < next_minute then
    cut := cut || array(
      select figure
      from dex_private.figures_from(
        dex_private.first_trade_from(next_minute - interval '1 minute'),
        market,
        dex_private.first_trade_of(moment.block + 1)
      ) as figure
      where figure.minutes = 1
    );
  end if;
  return cut;
end
$$;
comment on function dex_private.cut_period(integer, integer, dex_private.last_moment) is 'The minute, or the hour, of a market that this moment is in, up to it, in up to two parts. Empty where it has no trade, null where that is all of it.';
grant execute on function dex_private.cut_period(integer, integer, dex_private.last_moment) to dex_reader, dex_writer;

create function dex_private.market_of(tokens text[]) returns text
language sql stable parallel safe
as $$
  select pair.market
  from public.dex_pair as pair
  where (least(pair.base_gem, pair.quote_gem), greatest(pair.base_gem, pair.quote_gem)) = (least(tokens[1], tokens[2]), greatest(tokens[1], tokens[2]))
$$;
comment on function dex_private.market_of(text[]) is 'The market of two tokens, whichever is base: its trades are exactly those of both tokens. Null where they are no registered pair, or are spelled otherwise.';
grant execute on function dex_private.market_of(text[]) to dex_reader;
