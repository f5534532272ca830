-- Writes the offers and the cancellations of a block.

create function ingest.cancel_offers(killed integer[], blocks integer[]) returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  perform ingest.refuse((
    select case
      when listed.id < 0 then format('killed: offer %s: an id is an integer from 0', listed.id)
      when listed.id is null then 'killed: an offer id is null'
      when listed.times > 1 then format('killed: offer %s is listed twice', listed.id)
      else format('killed: offer %s was cancelled in block %s', listed.id, kept.block)
    end
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
    limit 1
  ));

  with listed as (
    insert into dex_private.cancellation (offer_id, block)
    select
      given.id,
      given.block
    from unnest(cancel_offers.killed, cancel_offers.blocks) as given (id, block)
    returning
      offer_id,
      block
  )
  update public.dex_offer as offer
  set
    killed = listed.block,
    ended = coalesce(offer.ended, listed.block)
  from listed
  where offer.id = listed.offer_id;
end
$$;
comment on function ingest.cancel_offers(integer[], integer[]) is 'Cancels each offer in the block at the same place. Also records the cancellations of offers that are not recorded.';

create function ingest.write_offers(number integer, at timestamptz, offers jsonb, out made integer[])
language plpgsql
as $$
#variable_conflict use_column
begin
  with written as (
    insert into public.dex_offer (
      id, block, killed, market_id, market, act, pair, maker, lot_gem, lot_tkn, lot_amt,
      bid_gem, bid_tkn, bid_amt, price, time, tx, venue, ref, filled, closed, ended
    )
    select
      offer.id,
      write_offers.number,
      coalesce(cancellation.block, 0),
      label.market_id,
      label.market,
      label.act,
      offer.pair,
      offer.maker,
      label.lot_gem,
      label.lot_tkn,
      dex_private.as_amount(offer.lot_amt),
      label.bid_gem,
      label.bid_tkn,
      dex_private.as_amount(offer.bid_amt),
      label.price,
      write_offers.at,
      offer.tx,
      offer.venue,
      case
        when offer.id >= 1073741824 then
          (
            select known.ref
            from dex_private.offer_ref as known
            where known.offer_id = offer.id
          )
      end,
      coalesce(offer.filled, false),
      coalesce(offer.filled, false),
      case when offer.filled then write_offers.number else cancellation.block end
    from jsonb_to_recordset(write_offers.offers) as offer (
      id integer, pair text, maker text, lot_gem text, lot_amt numeric, bid_gem text,
      bid_amt numeric, tx text, filled boolean, venue text
    )
    left join dex_private.cancellation on cancellation.offer_id = offer.id
    cross join lateral dex_private.labels_of(offer.lot_gem, offer.bid_gem, offer.lot_amt, offer.bid_amt) as label
    returning id
  )
  select array_agg(written.id)
  into made
  from written;
exception
  when unique_violation or check_violation then
    perform ingest.refuse_known_offers(null, array_agg(offer.id), array_agg(write_offers.number))
    from jsonb_to_recordset(write_offers.offers) as offer (id integer);
    raise;
end
$$;
comment on function ingest.write_offers(integer, timestamptz, jsonb) is 'Writes the offers of a block, after its trades and cancellations. Returns their ids.';
