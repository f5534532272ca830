-- Refuses a trade or an offer that contradicts what is recorded of its order.

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
  if not exists (select from dex_private.offer_ref) then
    return;
  end if;
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
    where known.offer_id is null
      or lower(known.venue) is distinct from lower(given.venue)
      or given.block < known.block
    limit 1
  ));
end
$$;
comment on function ingest.refuse_contradictions(bigint, integer[]) is 'Raises an error if one of these rows has an id from 2^30 on that was given to another order. Likewise if a trade from this id on, or an earlier one of these new offers, has another maker, other tokens, another pair hash or another venue than its offer. Likewise if a trade from this id on is of an offer that an earlier block cancelled.';
