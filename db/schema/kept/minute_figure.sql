-- Sums of each market by minute and by hour.

create table dex_private.minute_figure (
  market_id integer not null,
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
  constraint minute_figure_pkey primary key (market_id, start)
)
with (fillfactor = 80);
comment on table dex_private.minute_figure is 'Sums and prices of each market for each minute with a trade.';
comment on column dex_private.minute_figure.trades is 'Number of trades, including those without a price.';
comment on column dex_private.minute_figure.open is 'The price of the first trade that has a price. Null, like high, low and close, if no trade has one.';
comment on column dex_private.minute_figure.unpriced_trades is 'Number of trades with a base amount of 0, which have no price.';
comment on column dex_private.minute_figure.unpriced_quote_amt is 'The sum of the quote amounts of these trades.';
grant select on dex_private.minute_figure to dex_reader, dex_writer;

create table dex_private.hour_figure (
  like dex_private.minute_figure,
  constraint hour_figure_pkey primary key (market_id, start)
)
with (fillfactor = 80);
comment on table dex_private.hour_figure is 'Sums and prices of each market for each hour with a trade, with the columns of minute_figure.';
grant select on dex_private.hour_figure to dex_reader, dex_writer;

-- The materialized step keeps `market_id is not null` away from the trades: with it the planner would scan
-- the whole index by market.
create function dex_private.figures_from(first_trade bigint, unit interval, market integer default null)
returns setof dex_private.minute_figure
language sql stable
as $$
  with dealt as materialized (
    select
      trade.market_id,
      trade.id,
      date_bin(unit, trade.time, 'epoch') as start,
      trade.price,
      dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt) as base_amt,
      dex_private.quote_of(trade.act, trade.lot_amt, trade.bid_amt) as quote_amt
    from public.dex_trade as trade
    where trade.id >= first_trade
      and (figures_from.market is null or trade.market_id = figures_from.market)
  )
  select
    dealt.market_id,
    dealt.start,
    count(*)::integer,
    sum(dealt.base_amt),
    sum(dealt.quote_amt),
    (array_agg(dealt.price order by dealt.id) filter (where dealt.price is not null))[1],
    max(dealt.price),
    min(dealt.price),
    (array_agg(dealt.price order by dealt.id desc) filter (where dealt.price is not null))[1],
    (count(*) filter (where dealt.price is null))::integer,
    coalesce(sum(dealt.quote_amt) filter (where dealt.price is null), 0.000000000000000000)
  from dealt
  where dealt.market_id is not null
  group by
    dealt.market_id,
    dealt.start
$$;
comment on function dex_private.figures_from(bigint, interval, integer) is 'Computes the minutes or hours of all markets, or of one, from the trades from this id on.';

create function dex_private.keep_figures(first_trade bigint) returns void
language plpgsql
as $$
begin
  with minutes as materialized (
    select *
    from dex_private.figures_from(first_trade, '1 minute')
  ),
  kept_minutes as (
    insert into dex_private.minute_figure as kept
    select *
    from minutes
    on conflict (market_id, start) do update
    set
      trades = kept.trades + excluded.trades,
      base_amt = kept.base_amt + excluded.base_amt,
      quote_amt = kept.quote_amt + excluded.quote_amt,
      open = coalesce(kept.open, excluded.open),
      high = greatest(kept.high, excluded.high),
      low = least(kept.low, excluded.low),
      close = coalesce(excluded.close, kept.close),
      unpriced_trades = kept.unpriced_trades + excluded.unpriced_trades,
      unpriced_quote_amt = kept.unpriced_quote_amt + excluded.unpriced_quote_amt
  )
  insert into dex_private.hour_figure as kept
  select
    figure.market_id,
    dex_private.hour_of(figure.start),
    sum(figure.trades),
    sum(figure.base_amt),
    sum(figure.quote_amt),
    (array_agg(figure.open order by figure.start) filter (where figure.open is not null))[1],
    max(figure.high),
    min(figure.low),
    (array_agg(figure.close order by figure.start desc) filter (where figure.close is not null))[1],
    sum(figure.unpriced_trades),
    sum(figure.unpriced_quote_amt)
  from minutes as figure
  group by
    figure.market_id,
    dex_private.hour_of(figure.start)
  on conflict (market_id, start) do update
  set
    trades = kept.trades + excluded.trades,
    base_amt = kept.base_amt + excluded.base_amt,
    quote_amt = kept.quote_amt + excluded.quote_amt,
    open = coalesce(kept.open, excluded.open),
    high = greatest(kept.high, excluded.high),
    low = least(kept.low, excluded.low),
    close = coalesce(excluded.close, kept.close),
    unpriced_trades = kept.unpriced_trades + excluded.unpriced_trades,
    unpriced_quote_amt = kept.unpriced_quote_amt + excluded.unpriced_quote_amt;
end
$$;
comment on function dex_private.keep_figures(bigint) is 'Adds the newest trades, which start at this id, to the minutes and hours.';
