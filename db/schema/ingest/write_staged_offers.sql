-- Writes the staged offers, with what their trades left of them.

-- The trades are written before, so each offer is written as it is after all of them, and not updated.
create function ingest.write_staged_offers(first_trade bigint) returns void
language plpgsql
as $$
begin
  with taken as materialized (
    select
      newer.offer_id,
      newer.id,
      newer.block,
      newer.lot_amt
    from public.dex_trade as newer
    where newer.id >= first_trade
      and newer.offer_id is not null
    union all
    select older.*
    from ingest.own_offer as staged
    cross join lateral (
      select
        trades.offer_id,
        trades.id,
        trades.block,
        trades.lot_amt
      from public.dex_trade as trades
      where trades.offer_id = staged.id
      offset 0
    ) as older
    where older.id < first_trade
      -- In a new database no index is there yet by which to look.
      and exists (
        select
        from public.dex_trade as trade
        where trade.id < first_trade
      )
  ),
  dealt as materialized (
    select
      running.id,
      min(running.lot_amt) as lot_amt,
      min(running.block) filter (where running.lot_amt <= 0) as emptied
    from (
      select
        staged.id,
        case when staged.lot_amt <= 0 then staged.block else greatest(staged.block, taken.block) end as block,
        dex_private.as_amount(staged.lot_amt)
          - coalesce(sum(taken.lot_amt) over (partition by staged.id order by taken.id), 0) as lot_amt
      from ingest.own_offer as staged
      left join taken on taken.offer_id = staged.id
    ) as running
    group by running.id
  ),
  kept as (
    insert into dex_private.offer_left (offer_id, lot_amt)
    select
      dealt.id,
      dealt.lot_amt
    from dealt
  )
  insert into public.dex_offer (
    id, block, killed, market_id, market, act, pair, maker, lot_gem, lot_tkn, lot_amt,
    bid_gem, bid_tkn, bid_amt, price, time, tx, venue, ref, filled, closed, ended
  )
  select
    staged.id,
    staged.block,
    coalesce(cancellation.block, 0),
    label.market_id,
    label.market,
    label.act,
    staged.pair,
    staged.maker,
    label.lot_gem,
    label.lot_tkn,
    dex_private.as_amount(staged.lot_amt),
    label.bid_gem,
    label.bid_tkn,
    dex_private.as_amount(staged.bid_amt),
    dex_private.price_of(label.act, staged.lot_amt, staged.bid_amt),
    staged.time,
    staged.tx,
    staged.venue,
    case
      when staged.id >= 1073741824 then
        (
          select known.ref
          from dex_private.offer_ref as known
          where known.offer_id = staged.id
        )
    end,
    staged.filled or dealt.lot_amt <= 0,
    staged.filled,
    least(cancellation.block, case when staged.filled then staged.block end, dealt.emptied)
  from ingest.own_offer as staged
  join dealt on dealt.id = staged.id
  left join dex_private.cancellation on cancellation.offer_id = staged.id
  cross join lateral dex_private.labels_of(staged.lot_gem, staged.bid_gem, null, null) as label
  order by
    staged.block,
    staged.line;
end
$$;
comment on function ingest.write_staged_offers(bigint) is 'Writes the staged offers, after the trades, of which those of the staged blocks begin with this id, and after the cancellations.';
