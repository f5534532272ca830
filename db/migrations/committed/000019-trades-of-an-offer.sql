--! Previous: sha1:d2ad5a6d1a8acc75e955d54235e811e46e84abe0
--! Hash: sha1:5bb2b1eefb899e5c3f731e5ba950e4d899aef780
--! Message: trades of an offer

--! split: 1-current.sql
-- An offer's trades are compared and ordered by the offer too, so that only the index serves that begins
-- with it. Of a large table that was never analyzed the planner takes any offer for one of 200: it expected
-- to meet its last trade soon among all trades, from the newest backwards, and a first load of millions
-- of trades read most of them again for each offer.
set local lock_timeout = '200ms';

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
    where trade.offer_id = any (array[new.id])
      and trade.lot_amt > 0
    order by
      trade.offer_id desc,
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
        trade.offer_id,
        trade.block,
        trade.time,
        trade.idx,
        trade.id,
        sum(trade.lot_amt) over (
          partition by trade.offer_id
          order by trade.block, trade.idx, trade.id
        ) as lot_amt
      from public.dex_trade as trade
      where trade.offer_id = any (array[new.id])
    ) as running
    where running.lot_amt >= new.lot_amt
    order by
      running.offer_id,
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
