--! Previous: sha1:a43418b7380d125996ac1602ff5fa7621a093411
--! Hash: sha1:0b35b948b97589ae88ec372297b7ed3d1abd0199
--! Message: directions

--! split: 1-current.sql
-- What the database derives of each trade and offer costs one look instead of three: a market stands
-- once for each direction that it is traded in.
set local lock_timeout = '200ms';

create table dex_private.market_direction (
  lot_gem text not null,
  bid_gem text not null,
  market_id integer not null,
  market text not null,
  act text not null,
  lot_tkn text not null,
  bid_tkn text not null,
  constraint market_direction_pkey primary key (lot_gem, bid_gem)
);
comment on table dex_private.market_direction is
  'The two directions of each registered pair, with what a trade or an offer of them is labelled, kept by every write of pairs.';
grant select on dex_private.market_direction to dex_writer;

create view dex_private.registered_direction as
select
  pair.base_gem as lot_gem,
  pair.quote_gem as bid_gem,
  pair.id as market_id,
  pair.market,
  'sell' as act,
  base.symbol as lot_tkn,
  quote.symbol as bid_tkn
from public.dex_pair as pair
join public.dex_token as base on base.address = pair.base_gem
join public.dex_token as quote on quote.address = pair.quote_gem
union all
select
  pair.quote_gem,
  pair.base_gem,
  pair.id,
  pair.market,
  'buy',
  quote.symbol,
  base.symbol
from public.dex_pair as pair
join public.dex_token as base on base.address = pair.base_gem
join public.dex_token as quote on quote.address = pair.quote_gem;
comment on view dex_private.registered_direction is
  'What market_direction holds: a maker whose lot is the base token sells, one whose bid is the base token buys.';

insert into dex_private.market_direction
select *
from dex_private.registered_direction;

create function dex_private.keep_directions() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate dex_private.market_direction;
    return null;
  end if;

  if tg_op <> 'INSERT' then
    delete from dex_private.market_direction as kept
    where (kept.lot_gem = old.base_gem and kept.bid_gem = old.quote_gem)
      or (kept.lot_gem = old.quote_gem and kept.bid_gem = old.base_gem);
  end if;
  if tg_op <> 'DELETE' then
    insert into dex_private.market_direction
    select *
    from dex_private.registered_direction as given
    where given.market_id = new.id;
  end if;
  return null;
end
$$;
comment on function dex_private.keep_directions() is
  'Trigger: keeps the two directions of each pair.';

-- Named to run before relabel_*, which derives labels from what this keeps.
create trigger keep_directions
after insert or update or delete on dex_pair
for each row execute function dex_private.keep_directions();

create trigger keep_directions_truncate
after truncate on dex_pair
for each statement execute function dex_private.keep_directions();

create or replace function dex_private.derive_labels() returns trigger
language plpgsql
as $$
begin
  -- Most amounts come with their 18 digits, and to call a function takes longer than to see that.
  if new.lot_amt < 0 or new.lot_amt >= 1e78 or scale(new.lot_amt) <> 18 then
    new.lot_amt := dex_private.exact_amount('lot_amt', new.lot_amt);
  end if;
  if new.bid_amt < 0 or new.bid_amt >= 1e78 or scale(new.bid_amt) <> 18 then
    new.bid_amt := dex_private.exact_amount('bid_amt', new.bid_amt);
  end if;

  select kept.market_id, kept.market, kept.act, kept.lot_tkn, kept.bid_tkn
  into new.market_id, new.market, new.act, new.lot_tkn, new.bid_tkn
  from dex_private.market_direction as kept
  where kept.lot_gem = new.lot_gem
    and kept.bid_gem = new.bid_gem;

  if new.act = 'sell' then
    new.price := dex_private.quotient(new.bid_amt, new.lot_amt);
  elsif new.act = 'buy' then
    new.price := dex_private.quotient(new.lot_amt, new.bid_amt);
  else
    new.price := null;
    select token.symbol into new.lot_tkn from public.dex_token as token where token.address = new.lot_gem;
    select token.symbol into new.bid_tkn from public.dex_token as token where token.address = new.bid_gem;
  end if;
  return new;
end
$$;

-- As before, but where trades took exactly the lot, as they do of nearly every offer that is filled,
-- the last of them is looked up rather than their sums run through.
create or replace function dex_private.derive_state() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  taken numeric;
begin
  if tg_op = 'INSERT' or new.filled <> old.filled then
    new.closed := new.filled;
  end if;

  select kept.lot_amt
  into taken
  from dex_private.offer_taken as kept
  where kept.offer_id = new.id;

  if new.lot_amt = 0 then
    new.spent_block := new.block;
    new.spent_time := new.time;
  elsif taken = new.lot_amt then
    select
      trade.block,
      trade.time
    into
      new.spent_block,
      new.spent_time
    from public.dex_trade as trade
    where trade.offer_id = new.id
      and trade.lot_amt > 0
    order by
      trade.block desc,
      trade.idx desc,
      trade.id desc
    limit 1;
  elsif taken > new.lot_amt then
    -- The trade with which the offer's trades, oldest first, reach the whole lot.
    select
      running.block,
      running.time
    into
      new.spent_block,
      new.spent_time
    from (
      select
        trade.block,
        trade.time,
        trade.idx,
        trade.id,
        sum(trade.lot_amt) over (order by trade.block, trade.idx, trade.id) as lot_amt
      from public.dex_trade as trade
      where trade.offer_id = new.id
    ) as running
    where running.lot_amt >= new.lot_amt
    order by
      running.block,
      running.idx,
      running.id
    limit 1;
  else
    new.spent_block := null;
    new.spent_time := null;
  end if;

  new.filled := new.closed or new.spent_block is not null;
  return new;
end
$$;
