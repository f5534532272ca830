-- Writes the offers and the cancellations of a block.

create function ingest.cancel_offers(number integer, killed integer[]) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  refused text;
begin
  select
    case
      when listed.id < 0 then format('killed: offer %s: an id is an integer from 0', listed.id)
      when listed.id is null then 'killed: an offer id is null'
      when listed.times > 1 then format('killed: offer %s is listed twice', listed.id)
      else format('killed: offer %s was cancelled in block %s', listed.id, kept.block)
    end
  into refused
  from (
    select
      given.id,
      count(*) as times
    from unnest(cancel_offers.killed) as given (id)
    group by given.id
  ) as listed
  left join dex_private.cancellation as kept on kept.offer_id = listed.id
  where listed.id is null
    or listed.id < 0
    or listed.times > 1
    or kept.block is not null
  order by listed.id
  limit 1;
  if refused is not null then
    raise exception '%', refused
      using errcode = 'invalid_parameter_value';
  end if;

  with listed as (
    insert into dex_private.cancellation (offer_id, block)
    select
      given.id,
      cancel_offers.number
    from unnest(cancel_offers.killed) as given (id)
    returning offer_id
  )
  update public.dex_offer as offer
  set killed = cancel_offers.number
  from listed
  where offer.id = listed.offer_id;
end
$$;
comment on function ingest.cancel_offers(integer, integer[]) is 'Cancels offers in a block. Also records the cancellations of offers that are not recorded.';

create function ingest.write_offers(number integer, at timestamptz, killed integer[], offers jsonb)
returns integer[]
language plpgsql
as $$
#variable_conflict use_column
declare
  refused text;
  written integer[];
  unknown text[];
begin
  select
    case
      when cancelled.block is null then format('offers[%s]: offer %s exists already', offer.ordinality - 1, offer.id)
      else format('offers[%s]: offer %s was cancelled in block %s', offer.ordinality - 1, offer.id, cancelled.block)
    end
  into refused
  from (
    select
      listed.id,
      listed.ordinality,
      row_number() over (partition by listed.id order by listed.ordinality) as occurrence
    from rows from (
      jsonb_to_recordset(write_offers.offers) as (id integer)
    ) with ordinality as listed
  ) as offer
  left join dex_private.cancellation as cancelled
    on cancelled.offer_id = offer.id
    and cancelled.block < write_offers.number
  where offer.occurrence > 1
    or cancelled.block is not null
    -- Not `exists`: see write_trades.
    or (
      select kept.id
      from public.dex_offer as kept
      where kept.id = offer.id
    ) is not null
  order by offer.ordinality
  limit 1;
  if refused is not null then
    raise exception '%', refused
      using errcode = 'unique_violation';
  end if;

  with given as materialized (
    select
      offer.id,
      offer.pair,
      offer.maker,
      offer.lot_gem,
      offer.lot_amt,
      offer.bid_gem,
      offer.bid_amt,
      offer.tx,
      coalesce(offer.filled, false) as closed,
      case when offer.id = any (write_offers.killed) then write_offers.number else 0 end as killed,
      offer.lot_amt - coalesce(
        (
          select sum(trade.lot_amt)
          from public.dex_trade as trade
          where trade.offer_id = offer.id
        ),
        0
      ) as lot_left
    from jsonb_to_recordset(write_offers.offers) as offer (
      id integer, pair text, maker text, lot_gem text, lot_amt numeric, bid_gem text,
      bid_amt numeric, tx text, filled boolean
    )
  ),
  made as (
    insert into public.dex_offer (
      id, block, killed, market_id, market, act, pair, maker, lot_gem, lot_tkn, lot_amt,
      bid_gem, bid_tkn, bid_amt, price, time, tx, filled, closed
    )
    select
      given.id,
      write_offers.number,
      given.killed,
      label.market_id,
      label.market,
      label.act,
      given.pair,
      given.maker,
      given.lot_gem,
      label.lot_tkn,
      dex_private.as_amount(given.lot_amt),
      given.bid_gem,
      label.bid_tkn,
      dex_private.as_amount(given.bid_amt),
      label.price,
      write_offers.at,
      given.tx,
      given.closed or given.lot_left <= 0,
      given.closed
    from given
    cross join lateral dex_private.labels_of(given.lot_gem, given.bid_gem, given.lot_amt, given.bid_amt) as label
    returning id, lot_gem, lot_tkn, bid_gem, bid_tkn
  ),
  kept as (
    insert into dex_private.offer_left (offer_id, lot_amt)
    select
      given.id,
      dex_private.as_amount(given.lot_left)
    from given
  )
  select
    array_agg(made.id),
    array_agg(made.lot_gem) filter (where made.lot_tkn is null)
      || array_agg(made.bid_gem) filter (where made.bid_tkn is null)
  into
    written,
    unknown
  from made;
  if unknown is not null then
    perform ingest.refuse_other_case(unknown);
  end if;
  return coalesce(written, '{}');
end
$$;
comment on function ingest.write_offers(integer, timestamptz, integer[], jsonb) is 'Writes the offers of a block, after its trades. Returns their ids.';
