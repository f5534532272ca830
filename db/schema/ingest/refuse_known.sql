-- Names the offers and trades of a refused write that are recorded already, or listed twice.

-- Elements of a block have no line and are named by their place. Not `exists`: its plan, if made for an empty
-- table, scans the whole table once it has grown.
create function ingest.refuse_known_offers(lines integer[], ids integer[], blocks integer[]) returns void
language sql stable
as $$
  select ingest.refuse(
    (
      select format('offers%s: offer %s %s', coalesce(' line ' || offer.line, format('[%s]', offer.ordinality - 1)), offer.id, coalesce('was cancelled in block ' || cancelled.block, 'exists already'))
      from (
        select
          listed.*,
          row_number() over (partition by listed.id order by listed.ordinality) as occurrence
        from unnest(lines, ids, blocks) with ordinality as listed (line, id, block, ordinality)
      ) as offer
      left join dex_private.cancellation as cancelled
        on cancelled.offer_id = offer.id
        and cancelled.block < offer.block
      where offer.occurrence > 1
        or cancelled.block is not null
        or (select kept.id from public.dex_offer as kept where kept.id = offer.id) is not null
      order by offer.ordinality
      limit 1
    ),
    'unique_violation'
  )
$$;
comment on function ingest.refuse_known_offers(integer[], integer[], integer[]) is 'Raises an error that names the first of these offers that is listed before, recorded, or cancelled in an earlier block than its own.';

create function ingest.refuse_known_trades(lines integer[], txs text[], idxs bigint[]) returns void
language sql stable
as $$
  select ingest.refuse(
    (
      select format('trades%s exists already: tx %s, idx %s', coalesce(' line ' || trade.line, format('[%s]', trade.ordinality - 1)), trade.tx, trade.idx)
      from (
        select
          listed.*,
          row_number() over (partition by listed.tx, listed.idx order by listed.ordinality) as occurrence
        from unnest(lines, txs, idxs) with ordinality as listed (line, tx, idx, ordinality)
      ) as trade
      where trade.occurrence > 1
        or (select kept.id from public.dex_trade as kept where kept.tx = trade.tx and kept.idx = trade.idx) is not null
      order by trade.ordinality
      limit 1
    ),
    'unique_violation'
  )
$$;
comment on function ingest.refuse_known_trades(integer[], text[], bigint[]) is 'Raises an error that names the first of these trades that is listed before or recorded.';
