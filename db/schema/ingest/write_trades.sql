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

create function ingest.refuse_contradictions(first_trade bigint, offers integer[]) returns void
language plpgsql
as $$
begin
  perform ingest.refuse((
    select format('trade with tx %s, idx %s: its offer %s was cancelled in block %s, before its block %s', trade.tx, trade.idx, trade.offer_id, cancelled.block, trade.block)
    from (
      select trades.offer_id, trades.tx, trades.idx, trades.block
      from public.dex_trade as trades
      where trades.id >= first_trade
      offset 0
    ) as trade
    join dex_private.cancellation as cancelled on cancelled.offer_id = trade.offer_id
    where cancelled.block < trade.block
    limit 1
  ));
  perform ingest.refuse((
    select format('trade with tx %s, idx %s: its %s is %s, but that of its offer %s is %s', trade.tx, trade.idx, fact.name, fact.here, offer.id, fact.there)
    from (
      select newer.id, newer.offer_id, newer.tx, newer.idx, newer.maker, newer.pair, newer.lot_gem, newer.bid_gem, newer.venue
      from public.dex_trade as newer
      where newer.id >= first_trade
      union all
      select older.*
      from unnest(offers) as given (id)
      cross join lateral (
        select trades.id, trades.offer_id, trades.tx, trades.idx, trades.maker, trades.pair, trades.lot_gem, trades.bid_gem, trades.venue
        from public.dex_trade as trades
        where trades.offer_id = given.id
        offset 0
      ) as older
      where older.id < first_trade
    ) as trade
    -- Mostly the two rows agree: so no list is made for them.
    join public.dex_offer as offer
      on offer.id = trade.offer_id
      and (
        trade.maker <> offer.maker
        or trade.lot_gem <> offer.lot_gem
        or trade.bid_gem <> offer.bid_gem
        or trade.pair <> offer.pair
        or trade.venue <> offer.venue
      )
    cross join lateral (
      values
        ('maker', trade.maker, offer.maker),
        ('lot_gem', trade.lot_gem, offer.lot_gem),
        ('bid_gem', trade.bid_gem, offer.bid_gem),
        ('pair', trade.pair, offer.pair),
        ('venue', trade.venue, offer.venue)
    ) as fact (name, here, there)
    where fact.here <> fact.there
      and lower(fact.here) <> lower(fact.there)
    limit 1
  ));
  -- Where one contract alone has offers, its ids may be any.
  perform ingest.refuse((
    select case
      when known.offer_id is null then
        format('%s: offer %s was not given its id by ingest.offer_ids, which gives those from 1073741824 on', given.name, given.id)
      when lower(known.venue) is distinct from lower(given.venue) then
        format('%s: offer %s is order %s of the contract %s, and its venue is %s', given.name, given.id, known.ref, known.venue, coalesce(given.venue, 'null'))
      else
        format('%s: offer %s got its id for block %s, and is of block %s', given.name, given.id, known.block, given.block)
    end
    from (
      select
        format('trade with tx %s, idx %s', trade.tx, trade.idx) as name,
        trade.offer_id as id,
        trade.venue,
        trade.block
      from public.dex_trade as trade
      where trade.id >= first_trade
        and trade.offer_id >= 1073741824
      union all
      select
        'offers',
        offer.id,
        offer.venue,
        offer.block
      from unnest(offers) as made (id)
      join public.dex_offer as offer on offer.id = made.id
      where made.id >= 1073741824
    ) as given
    left join dex_private.offer_ref as known on known.offer_id = given.id
    where case
      when known.offer_id is null then exists (select from dex_private.offer_ref)
      else lower(known.venue) is distinct from lower(given.venue) or given.block < known.block
    end
    limit 1
  ));
end
$$;
comment on function ingest.refuse_contradictions(bigint, integer[]) is 'Raises an error if one of these rows has an id from 2^30 on that was given to another order. Likewise if a trade from this id on, or an earlier one of these new offers, has another maker, other tokens, another pair hash or another venue than its offer. Likewise if a trade from this id on is of an offer that an earlier block cancelled.';
