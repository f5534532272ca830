-- Writes the trades of a block.

create function ingest.write_trades(number integer, at timestamptz, last_trade bigint, trades jsonb)
returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
  refused record;
begin
  select
    case
      when trade.with_id not in (0, trade.given) or trade.with_idx not in (0, trade.given) then
        format('trades: %s of %s have an id and %s an idx: give it to every trade of a block or to none', trade.with_id, trade.given, trade.with_idx)
      when trade.id <= trade.id_before then
        format('trades: ids must increase with idx and be greater than %s, the highest id ever used', write_trades.last_trade)
      else format('trades[%s] exists already: tx %s, idx %s', trade.place, trade.tx, trade.idx)
    end as problem,
    trade.with_id in (0, trade.given)
      and trade.with_idx in (0, trade.given)
      and coalesce(trade.id > trade.id_before, true) as is_duplicate
  into refused
  from (
    select
      listed.id,
      listed.tx,
      coalesce(listed.idx, listed.ordinality - 1) as idx,
      listed.ordinality - 1 as place,
      count(*) over () as given,
      count(listed.id) over () as with_id,
      count(listed.idx) over () as with_idx,
      lag(listed.id, 1, write_trades.last_trade) over (order by listed.idx, listed.ordinality) as id_before,
      row_number() over (
        partition by listed.tx, coalesce(listed.idx, listed.ordinality - 1)
        order by listed.ordinality
      ) as occurrence
    from rows from (
      jsonb_to_recordset(write_trades.trades) as (id bigint, tx text, idx integer)
    ) with ordinality as listed
  ) as trade
  where trade.with_id not in (0, trade.given)
    or trade.with_idx not in (0, trade.given)
    or trade.id <= trade.id_before
    or trade.occurrence > 1
    -- Not `exists`: its plan, if made for an empty table, scans the whole table once it has grown.
    or (
      select kept.id
      from public.dex_trade as kept
      where kept.tx = trade.tx
        and kept.idx = trade.idx
    ) is not null
  order by
    is_duplicate,
    trade.place
  limit 1;
  if found then
    perform ingest.refuse(
      refused.problem,
      case when refused.is_duplicate then 'unique_violation' else 'invalid_parameter_value' end
    );
  end if;

  insert into public.dex_trade (
    id, offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
    bid_gem, bid_tkn, bid_amt, price, block, time, tx, idx
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
    coalesce(trade.idx, trade.ordinality - 1)
  from rows from (
    jsonb_to_recordset(write_trades.trades) as (
      id bigint, offer_id integer, pair text, maker text, taker text, lot_gem text,
      lot_amt numeric, bid_gem text, bid_amt numeric, tx text, idx integer
    )
  ) with ordinality as trade
  cross join lateral dex_private.labels_of(trade.lot_gem, trade.bid_gem, trade.lot_amt, trade.bid_amt) as label;

  return (select max(trade.id) from public.dex_trade as trade);
end
$$;
comment on function ingest.write_trades(integer, timestamptz, bigint, jsonb) is 'Writes the trades of a block in the order of idx, or as listed if they have none. Returns the last id.';

create function ingest.take_from_offers(first_trade bigint) returns integer[]
language plpgsql
as $$
declare
  filled integer[];
begin
  with taken as materialized (
    select
      trade.offer_id,
      sum(trade.lot_amt) as lot_amt
    from public.dex_trade as trade
    where trade.id >= first_trade
    group by trade.offer_id
  ),
  kept as (
    update dex_private.offer_left as kept
    set lot_amt = kept.lot_amt - taken.lot_amt
    from taken
    where kept.offer_id = taken.offer_id
    returning
      kept.offer_id,
      kept.lot_amt
  ),
  ended as (
    update public.dex_offer as offer
    set filled = true
    from kept
    where kept.lot_amt <= 0
      and offer.id = kept.offer_id
      and not offer.filled
    returning offer.id
  )
  select array_agg(ended.id)
  into filled
  from ended;
  return coalesce(filled, '{}');
end
$$;
comment on function ingest.take_from_offers(bigint) is 'Subtracts the trades from this id on from what is left of their offers. Returns the offers that are filled by this.';

create function ingest.refuse_contradictions(first_trade bigint, offers integer[]) returns void
language plpgsql
as $$
begin
  perform ingest.refuse((
    select format('trade with tx %s, idx %s: its %s is %s, but that of its offer %s is %s', trade.tx, trade.idx, fact.name, fact.here, offer.id, fact.there)
    from (
      select newer.*
      from public.dex_trade as newer
      where newer.id >= first_trade
      union all
      select older.*
      from unnest(offers) as given (id)
      cross join lateral (
        select *
        from public.dex_trade as trades
        where trades.offer_id = given.id
        offset 0
      ) as older
      where older.id < first_trade
    ) as trade
    join public.dex_offer as offer on offer.id = trade.offer_id
    cross join lateral (
      values
        ('maker', trade.maker, offer.maker),
        ('lot_gem', trade.lot_gem, offer.lot_gem),
        ('bid_gem', trade.bid_gem, offer.bid_gem)
    ) as fact (name, here, there)
    where fact.here <> fact.there
      and lower(fact.here) <> lower(fact.there)
    limit 1
  ));
end
$$;
comment on function ingest.refuse_contradictions(bigint, integer[]) is 'Raises an error if a trade from this id on, or an earlier one of these new offers, has another maker or other tokens than its offer.';
