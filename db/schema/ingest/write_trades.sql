-- Writes the trades of a block.

create function ingest.write_trades(number integer, at timestamptz, last_trade bigint, trades jsonb, out last bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  doubled bigint;
begin
  -- A source with idx and without ids, which most are, needs no look at all trades.
  if write_trades.trades @? '$[*] ? (@.id != null || !(@.idx != null))' then
    perform ingest.refuse((
      select case
        when trade.with_id not in (0, trade.given) or trade.with_idx not in (0, trade.given) then
          format('trades: %s of %s have an id and %s an idx: give it to every trade of a block or to none', trade.with_id, trade.given, trade.with_idx)
        else format('trades: ids must increase with idx and be greater than %s, the highest id ever used', write_trades.last_trade)
      end
      from (
        select
          listed.id,
          count(*) over () as given,
          count(listed.id) over () as with_id,
          count(listed.idx) over () as with_idx,
          lag(listed.id, 1, write_trades.last_trade) over (order by listed.idx, listed.ordinality) as id_before
        from rows from (
          jsonb_to_recordset(write_trades.trades) as (id bigint, idx integer)
        ) with ordinality as listed
      ) as trade
      where trade.with_id not in (0, trade.given)
        or trade.with_idx not in (0, trade.given)
        or trade.id <= trade.id_before
      limit 1
    ));
  end if;

  with written as (
    insert into public.dex_trade (
      id, offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
      bid_gem, bid_tkn, bid_amt, price, block, time, tx, idx, venue
    )
    select
      coalesce(
        trade.id,
        write_trades.last_trade + row_number() over (order by trade.idx, trade.ordinality)
      ),
      trade.offer_id,
      label.market_id,
      label.market,
      label.act,
      trade.pair,
      trade.maker,
      trade.taker,
      label.lot_gem,
      label.lot_tkn,
      dex_private.as_amount(trade.lot_amt),
      label.bid_gem,
      label.bid_tkn,
      dex_private.as_amount(trade.bid_amt),
      label.price,
      write_trades.number,
      write_trades.at,
      trade.tx,
      coalesce(trade.idx, trade.ordinality - 1),
      trade.venue
    from rows from (
      jsonb_to_recordset(write_trades.trades) as (
        id bigint, offer_id integer, pair text, maker text, taker text, lot_gem text,
        lot_amt numeric, bid_gem text, bid_amt numeric, tx text, idx integer, venue text
      )
    ) with ordinality as trade
    cross join lateral dex_private.labels_of(trade.lot_gem, trade.bid_gem, trade.lot_amt, trade.bid_amt) as label
    returning
      id,
      idx
  )
  select
    max(written.id),
    count(*) - count(distinct written.idx)
  into
    last,
    doubled
  from written;
  if doubled > 0 then
    perform ingest.refuse((
      select format('trades: idx %s is given %s times: it is the log''s, of which a block has one', listed.idx, count(*))
      from jsonb_to_recordset(write_trades.trades) as listed (idx integer)
      group by listed.idx
      having count(*) > 1
      order by listed.idx
      limit 1
    ));
  end if;
exception
  when unique_violation then
    perform ingest.refuse_known_trades(null, array_agg(trade.tx), array_agg(coalesce(trade.idx, trade.ordinality - 1)))
    from rows from (jsonb_to_recordset(write_trades.trades) as (tx text, idx integer)) with ordinality as trade;
    raise;
end
$$;
comment on function ingest.write_trades(integer, timestamptz, bigint, jsonb) is 'Writes the trades of a block in the order of idx, or as listed if they have none. Returns the last id.';

create function ingest.take_from_offers(first_trade bigint, out emptied integer[])
language plpgsql
as $$
begin
  -- `offset 0` keeps the planner from the index by offer, which it would read whole for its order.
  with kept as (
    update dex_private.offer_left as kept
    set lot_amt = kept.lot_amt - taken.lot_amt
    from (
      select
        trade.offer_id,
        sum(trade.lot_amt) as lot_amt
      from (
        select
          trades.offer_id,
          trades.lot_amt
        from public.dex_trade as trades
        where trades.id >= first_trade
        offset 0
      ) as trade
      group by trade.offer_id
    ) as taken
    where kept.offer_id = taken.offer_id
    returning
      kept.offer_id,
      kept.lot_amt
  )
  select coalesce(array_agg(kept.offer_id), '{}')
  into emptied
  from kept
  where kept.lot_amt <= 0;
  if emptied <> '{}' then
    perform dex_private.end_emptied(emptied);
  end if;
end
$$;
comment on function ingest.take_from_offers(bigint) is 'Subtracts the trades from this id on from what is left of their offers. Returns the offers of which nothing is left.';
