--! Previous: sha1:2da67de94d7b700a004e3bdd2f0bc53ce34fd088
--! Hash: sha1:9b4720a1d6b16afbb0fb68def460e40692f96c42
--! Message: figures

-- The head, and every market figure as of it. REST and GraphQL read these views; neither computes
-- a figure of its own.

create table dex_head (
  block integer not null
    constraint dex_head_block_check check (block >= 0),
  time timestamptz not null
);

-- There is one head, or none.
create unique index dex_head_one_row_key on dex_head ((true));

comment on table dex_head is E'@behavior -query:resource:list -query:resource:connection -query:resource:single\nThe head: the latest block that is declared complete. The service describes the exchange as of it.';
comment on column dex_head.block is
  'Height of the block.';
comment on column dex_head.time is
  'Timestamp of the block.';

-- PostGraphile takes no function that is named as a table.
create function dex_latest_head() returns dex_head
language sql stable parallel safe
as $$
  select *
  from public.dex_head
$$;
comment on function dex_latest_head() is
  E'@name dexHead\nThe latest block that is declared complete: market figures are as of it. Null where none was ever declared; they are then as of the clock.';
revoke all on function dex_latest_head() from public;
grant execute on function dex_latest_head() to dex_reader;

-- One row: the moment that all figures describe. Without a head it is the start of the reading
-- transaction. A row counts when its block is at most max_block and its time at most max_time.
create view dex_private.as_of as
select
  head.block,
  coalesce(head.time, now()) as time,
  coalesce(head.block, 2147483647) as max_block,
  case when head.block is null then now() else 'infinity' end as max_time
from (values (true)) as one (row)
left join public.dex_head as head on true;
comment on view dex_private.as_of is
  'The moment that all figures describe: the head, or the clock where no head was ever declared.';

-- The trades of registered markets up to the head.
create view dex_private.market_trade as
select
  trade.id,
  trade.market_id,
  trade.price,
  trade.base_amt,
  trade.quote_amt,
  trade.block,
  trade.idx,
  trade.time
from dex_private.market_row as trade
cross join dex_private.as_of
where trade.block <= as_of.max_block
  and trade.time <= as_of.max_time;
comment on view dex_private.market_trade is
  'The trades of registered markets up to the head, by base and quote.';

-- The windows that end at the head: W hours are (after, time].
create view dex_private.figure_window as
select
  span.hours,
  as_of.time - span.hours * interval '1 hour' as after,
  as_of.time,
  as_of.max_block
from dex_private.as_of
cross join (values (24), (12), (6), (1)) as span (hours);
comment on view dex_private.figure_window is
  'The windows that statistics are over, as of the head.';

-- The minutes of the last 24 hours that no whole hour stands for: those of the head's own hour before
-- its own minute, and those of hours with trades after the head. Found by the hour, with `offset 0`,
-- since there are none as a rule; otherwise the planner reads a day of minutes to be sure.
create view dex_private.loose_minute as
select
  figure.market_id,
  figure.minute,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high,
  figure.max_block
from dex_private.as_of
join dex_private.minute_figure as figure
  on figure.minute >= dex_private.hour_of(as_of.time)
  and figure.minute <= as_of.time - interval '1 minute'
union all
select
  late.market_id,
  figure.minute,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high,
  figure.max_block
from dex_private.as_of
join dex_private.hour_figure as late
  on late.hour >= dex_private.hour_of(as_of.time - interval '24 hours')
  and late.hour <= as_of.time - interval '1 hour'
  and late.max_block > as_of.max_block
cross join lateral (
  select *
  from dex_private.minute_figure as minutes
  where minutes.market_id = late.market_id
    and minutes.minute >= late.hour
    and minutes.minute < late.hour + interval '1 hour'
  offset 0
) as figure;
comment on view dex_private.loose_minute is
  'The minutes of the last 24 hours that no whole hour stands for.';

-- The last 24 hours of each market, in as few pieces as the windows allow. A piece counts in the
-- windows that it starts in: in all of them, or only in that of `only_hours`.
--
-- An hour or a minute counts whole when it lies within (after, time] and all its trades are up to the
-- head. What the start of a window cuts is read finer for that window alone, since the larger windows
-- have it whole; what the head cuts, or trades after the head are in, is read finer for all.
create view dex_private.window_piece as
-- Whole hours.
select
  figure.market_id,
  figure.hour as start,
  null::integer as only_hours,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high
from dex_private.as_of
join dex_private.hour_figure as figure
  on figure.hour > as_of.time - interval '24 hours'
  and figure.hour <= as_of.time - interval '1 hour'
  and figure.max_block <= as_of.max_block
union all
-- Whole minutes of the hour in which a window starts.
select
  figure.market_id,
  figure.minute,
  span.hours,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high
from dex_private.figure_window as span
join dex_private.hour_figure as cut
  on cut.hour = dex_private.hour_of(span.after)
  and cut.max_block <= span.max_block
join dex_private.minute_figure as figure
  on figure.market_id = cut.market_id
  and figure.minute >= cut.hour
  and figure.minute > span.after
  and figure.minute < cut.hour + interval '1 hour'
union all
-- Trades of the minute in which a window starts.
select
  trade.market_id,
  trade.time,
  span.hours,
  trade.base_amt,
  trade.quote_amt,
  trade.price,
  trade.price
from dex_private.figure_window as span
join dex_private.minute_figure as cut
  on cut.minute = dex_private.minute_of(span.after)
  and cut.max_block <= span.max_block
join dex_private.market_row as trade
  on trade.market_id = cut.market_id
  and trade.time >= cut.minute
  and trade.time > span.after
  and trade.time < cut.minute + interval '1 minute'
union all
-- Whole minutes that no whole hour stands for.
select
  figure.market_id,
  figure.minute,
  null,
  figure.base_amt,
  figure.quote_amt,
  figure.low,
  figure.high
from dex_private.as_of
join dex_private.loose_minute as figure
  on figure.minute > as_of.time - interval '24 hours'
  and figure.max_block <= as_of.max_block
union all
-- Trades of the head's own minute.
select
  trade.market_id,
  trade.time,
  null,
  trade.base_amt,
  trade.quote_amt,
  trade.price,
  trade.price
from dex_private.as_of
join dex_private.market_row as trade
  on trade.time >= dex_private.minute_of(as_of.time)
  and trade.time <= as_of.time
  and trade.block <= as_of.max_block
union all
-- Trades of minutes with trades after the head.
select
  late.market_id,
  trade.time,
  null,
  trade.base_amt,
  trade.quote_amt,
  trade.price,
  trade.price
from dex_private.as_of
join dex_private.loose_minute as late on late.max_block > as_of.max_block
cross join lateral (
  select *
  from dex_private.market_row as trades
  where trades.market_id = late.market_id
    and trades.time >= late.minute
    and trades.time < late.minute + interval '1 minute'
  offset 0
) as trade
where trade.time > as_of.time - interval '24 hours'
  and trade.block <= as_of.max_block;
comment on view dex_private.window_piece is
  'The last 24 hours of each market in hours, minutes and, where these are cut, trades.';

-- The offers that were open at the head although they have ended since: cancelled after it, or taken
-- whole by trades after it.
create view dex_private.ended_offer as
select
  offer.market_id,
  offer.act,
  offer.price
from public.dex_offer as offer
cross join dex_private.as_of
where offer.killed > 0
  and not offer.closed
  and offer.spent_block is null
  and offer.killed > as_of.max_block
  and offer.block <= as_of.max_block
union all
select
  offer.market_id,
  offer.act,
  offer.price
from public.dex_offer as offer
cross join dex_private.as_of
where offer.spent_block is not null
  and not offer.closed
  and offer.spent_block > as_of.max_block
  and (offer.killed = 0 or offer.killed > as_of.max_block)
  and offer.block <= as_of.max_block
union all
-- By the clock, where no head is declared.
select
  offer.market_id,
  offer.act,
  offer.price
from public.dex_offer as offer
cross join dex_private.as_of
where offer.spent_block is not null
  and not offer.closed
  and offer.spent_time > as_of.max_time
  and offer.killed = 0
  and offer.time <= as_of.max_time;
comment on view dex_private.ended_offer is
  'The offers that were open at the head and have ended since.';

-- Every figure of every registered market, once. A window of W hours is (t - W, t]; vwap is
-- Σ quote ÷ Σ base. The views below show parts of it, and what they leave out is not computed.
create view dex_private.market_figure as
select
  pair.id,
  pair.base,
  pair.quote,
  pair.base || '/' || pair.quote as pair,
  pair.active,
  day.base_24h as vol,
  day.low,
  day.high,
  dex_private.quotient(day.quote_24h, day.base_24h) as vwap24h,
  dex_private.quotient(day.quote_12h, day.base_12h) as vwap12h,
  dex_private.quotient(day.quote_6h, day.base_6h) as vwap6h,
  dex_private.quotient(day.quote_1h, day.base_1h) as vwap1h,
  (
    -- Compared with any (...) and ordered by market_id too: with a plain = the planner may walk back
    -- through the trades of all markets, the whole history for one that never traded.
    select trade.price
    from dex_private.market_trade as trade
    where trade.market_id = any (array[pair.id])
      and trade.price is not null
    order by
      trade.market_id desc,
      trade.block desc,
      trade.idx desc,
      trade.id desc
    limit 1
  ) as last,
  -- The best of the offers that nothing has ended, and of those that something ended after the head.
  greatest(
    (
      select offer.price
      from public.dex_offer as offer
      where offer.market_id = any (array[pair.id])
        and offer.act = 'buy'
        and offer.killed = 0
        and not offer.filled
        and offer.price is not null
        and offer.block <= as_of.max_block
        and offer.time <= as_of.max_time
      order by
        offer.market_id desc,
        offer.act desc,
        offer.price desc
      limit 1
    ),
    (
      select max(offer.price)
      from dex_private.ended_offer as offer
      where offer.market_id = pair.id
        and offer.act = 'buy'
    )
  ) as bid,
  least(
    (
      select offer.price
      from public.dex_offer as offer
      where offer.market_id = any (array[pair.id])
        and offer.act = 'sell'
        and offer.killed = 0
        and not offer.filled
        and offer.price is not null
        and offer.block <= as_of.max_block
        and offer.time <= as_of.max_time
      order by
        offer.market_id,
        offer.act,
        offer.price
      limit 1
    ),
    (
      select min(offer.price)
      from dex_private.ended_offer as offer
      where offer.market_id = pair.id
        and offer.act = 'sell'
    )
  ) as ask
from public.dex_pair as pair
cross join dex_private.as_of
cross join lateral (
  select
    sum(piece.base_amt) filter (where counts.in_24h) as base_24h,
    sum(piece.quote_amt) filter (where counts.in_24h) as quote_24h,
    sum(piece.base_amt) filter (where counts.in_12h) as base_12h,
    sum(piece.quote_amt) filter (where counts.in_12h) as quote_12h,
    sum(piece.base_amt) filter (where counts.in_6h) as base_6h,
    sum(piece.quote_amt) filter (where counts.in_6h) as quote_6h,
    sum(piece.base_amt) filter (where counts.in_1h) as base_1h,
    sum(piece.quote_amt) filter (where counts.in_1h) as quote_1h,
    min(piece.low) filter (where counts.in_24h) as low,
    max(piece.high) filter (where counts.in_24h) as high
  from dex_private.window_piece as piece
  cross join lateral (
    select
      coalesce(piece.only_hours = 24, true) as in_24h,
      piece.start > as_of.time - interval '12 hours' and coalesce(piece.only_hours = 12, true) as in_12h,
      piece.start > as_of.time - interval '6 hours' and coalesce(piece.only_hours = 6, true) as in_6h,
      piece.start > as_of.time - interval '1 hour' and coalesce(piece.only_hours = 1, true) as in_1h
  ) as counts
  where piece.market_id = pair.id
) as day;
comment on view dex_private.market_figure is
  'Every figure of every registered market as of the head.';

create view dex_market as
select
  figure.pair,
  figure.base,
  figure.quote,
  figure.vwap6h as price,
  figure.last,
  figure.vol,
  figure.ask,
  figure.bid,
  figure.low,
  figure.high,
  figure.active
from dex_private.market_figure as figure;

comment on view dex_market is
  E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexMarket\nOverview of each registered market as of the head.';
comment on column dex_market.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_market.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_market.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_market.price is
  'Volume weighted price over the last 6 hours, quote per base. Null without a trade in them.';
comment on column dex_market.last is
  'Price of the most recent trade, however old. Null before the first.';
comment on column dex_market.vol is
  'Volume over the last 24 hours, in base units. Null without a trade in them.';
comment on column dex_market.ask is
  'Innermost ask: the lowest price of the open offers that sell base. Null when there is none.';
comment on column dex_market.bid is
  'Innermost bid: the highest price of the open offers that buy base. Null when there is none.';
comment on column dex_market.low is
  'Lowest price of a trade over the last 24 hours. Null without a trade in them.';
comment on column dex_market.high is
  'Highest price of a trade over the last 24 hours. Null without a trade in them.';
comment on column dex_market.active is E'@notNull\nWhether trading is enabled.';

create view dex_price as
select
  figure.pair,
  figure.base,
  figure.quote,
  figure.vwap24h,
  figure.vwap12h,
  figure.vwap6h,
  figure.vwap1h,
  figure.last
from dex_private.market_figure as figure;

comment on view dex_price is
  E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexPrice\nPrice statistics of each registered market as of the head.';
comment on column dex_price.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_price.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_price.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_price.vwap24h is
  E'@name vwap24h\nVolume weighted price over the last 24 hours, quote per base. Null without a trade in them.';
comment on column dex_price.vwap12h is
  E'@name vwap12h\nVolume weighted price over the last 12 hours, quote per base. Null without a trade in them.';
comment on column dex_price.vwap6h is
  E'@name vwap6h\nVolume weighted price over the last 6 hours, quote per base. Null without a trade in them.';
comment on column dex_price.vwap1h is
  E'@name vwap1h\nVolume weighted price over the last hour, quote per base. Null without a trade in it.';
comment on column dex_price.last is
  'Price of the most recent trade, however old. Null before the first.';

create view dex_volume as
select
  figure.pair,
  figure.base,
  figure.quote,
  figure.vol
from dex_private.market_figure as figure;

comment on view dex_volume is
  E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexVolume\nVolume of each registered market as of the head.';
comment on column dex_volume.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_volume.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_volume.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_volume.vol is
  'Volume over the last 24 hours, in base units. Null without a trade in them.';

grant select on dex_head to dex_reader, dex_writer;
grant insert, update, delete on dex_head to dex_writer;
grant select on dex_market, dex_price, dex_volume to dex_reader, dex_writer;
grant select on dex_private.as_of, dex_private.market_trade to dex_reader, dex_writer;

-- A chain reorganisation takes blocks back. What replaces them gets new, higher ids.
create function dex_private.take_back(last_block integer, last_time timestamptz default null)
returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  taken_back bigint;
begin
  delete from public.dex_trade as trade
  where trade.block > last_block;
  get diagnostics taken_back = row_count;

  delete from public.dex_offer as offer
  where offer.block > last_block;

  update public.dex_offer as offer
  set killed = 0
  where offer.killed > last_block;

  update public.dex_head as head
  set
    block = last_block,
    time = coalesce(
      last_time,
      greatest(
        (
          select trade.time
          from public.dex_trade as trade
          order by trade.block desc, trade.idx desc, trade.id desc
          limit 1
        ),
        (
          select offer.time
          from public.dex_offer as offer
          order by offer.block desc, offer.id desc
          limit 1
        )
      ),
      head.time
    )
  where head.block > last_block;

  return taken_back;
end
$$;
comment on function dex_private.take_back(integer, timestamptz) is
  'Takes every block after last_block back: its trades and offers are deleted, its cancellations undone, and the head, if it was later, is last_block. last_time is that block''s time; without it, that of the newest trade or offer left. How many trades were taken back.';
revoke all on function dex_private.take_back(integer, timestamptz) from public;
grant execute on function dex_private.take_back(integer, timestamptz) to dex_writer;
