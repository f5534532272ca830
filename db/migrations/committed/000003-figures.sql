--! Previous: sha1:e68565eaf7cbae14819ad2da450069dde0396ba1
--! Hash: sha1:ab28ce71c169ca38ab7d9067a5a1f6dd1b9ed3dc
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

-- The trades of registered markets up to the head, with base and quote in place of lot and bid.
create view dex_private.market_trade as
select
  trade.id,
  trade.market_id,
  trade.price,
  case trade.act when 'sell' then trade.lot_amt else trade.bid_amt end as base_amt,
  case trade.act when 'sell' then trade.bid_amt else trade.lot_amt end as quote_amt,
  trade.block,
  trade.idx,
  trade.time
from public.dex_trade as trade
cross join dex_private.as_of
where trade.market_id is not null
  and trade.block <= as_of.max_block
  and trade.time <= as_of.max_time;
comment on view dex_private.market_trade is
  'The trades of registered markets up to the head, by base and quote.';

-- The offers open at the head, with what is left of their lot: what was offered, less what their
-- trades up to the head took.
create view dex_private.open_offer as
select
  offer.id,
  offer.market_id,
  offer.act,
  offer.price,
  offer.lot_amt - coalesce(taken.lot_amt, 0) + later.lot_amt as lot_left
from public.dex_offer as offer
cross join dex_private.as_of
left join dex_private.offer_taken as taken on taken.offer_id = offer.id
cross join lateral (
  -- Trades after the head took nothing yet.
  select coalesce(sum(trades_after_head.lot_amt), 0) as lot_amt
  from (
    select trade.lot_amt
    from public.dex_trade as trade
    where trade.offer_id = offer.id
      and trade.block > as_of.max_block
    union all
    select trade.lot_amt
    from public.dex_trade as trade
    where as_of.block is null
      and trade.offer_id = offer.id
      and trade.time > as_of.max_time
  ) as trades_after_head
) as later
where offer.block <= as_of.max_block
  and offer.time <= as_of.max_time
  and not offer.closed
  and (offer.killed = 0 or offer.killed > as_of.max_block)
  and offer.lot_amt - coalesce(taken.lot_amt, 0) + later.lot_amt > 0;
comment on view dex_private.open_offer is
  'The offers open at the head, and what is left of each.';

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
  (
    select max(offer.price)
    from dex_private.open_offer as offer
    where offer.market_id = pair.id
      and offer.act = 'buy'
  ) as bid,
  (
    select min(offer.price)
    from dex_private.open_offer as offer
    where offer.market_id = pair.id
      and offer.act = 'sell'
  ) as ask
from public.dex_pair as pair
cross join dex_private.as_of
cross join lateral (
  select
    sum(trade.base_amt) as base_24h,
    sum(trade.quote_amt) as quote_24h,
    sum(trade.base_amt) filter (where trade.time > as_of.time - interval '12 hours') as base_12h,
    sum(trade.quote_amt) filter (where trade.time > as_of.time - interval '12 hours') as quote_12h,
    sum(trade.base_amt) filter (where trade.time > as_of.time - interval '6 hours') as base_6h,
    sum(trade.quote_amt) filter (where trade.time > as_of.time - interval '6 hours') as quote_6h,
    sum(trade.base_amt) filter (where trade.time > as_of.time - interval '1 hour') as base_1h,
    sum(trade.quote_amt) filter (where trade.time > as_of.time - interval '1 hour') as quote_1h,
    min(trade.price) as low,
    max(trade.price) as high
  from dex_private.market_trade as trade
  where trade.market_id = pair.id
    and trade.time > as_of.time - interval '24 hours'
    and trade.time <= as_of.time
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
