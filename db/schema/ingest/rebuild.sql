-- Rebuilds all derived data from the history, for example after a partial restore.

create function ingest.rebuild() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
  before dex_private.write_state;
begin
  insert into dex_private.write_state default values
  on conflict do nothing;
  -- Not take_turn, which refuses to go on from figures of another block.
  select *
  into strict before
  from dex_private.write_state
  for update;

  -- Copied or replicated rows do not advance the sequence.
  perform setval('public.dex_pair_id_seq', greatest(max(pair.id), 1), count(*) > 0)
  from public.dex_pair as pair;
  perform ingest.refresh_pairs(array(
    select pair.id
    from public.dex_pair as pair
  ));

  update public.dex_trade as trade
  set (lot_gem, bid_gem, market_id, market, act, lot_tkn, bid_tkn, price) =
    (derived.lot_gem, derived.bid_gem, derived.market_id, derived.market, derived.act, derived.lot_tkn, derived.bid_tkn, derived.price)
  from dex_private.mislabelled_trade as derived
  where trade.id = derived.id;
  update public.dex_pool as pool
  set (market_id, act) = (derived.market_id, derived.act)
  from dex_private.mislabelled_pool as derived
  where pool.venue = derived.venue;
  delete from dex_private.pool_tick;
  insert into dex_private.pool_tick
  select *
  from dex_private.derived_pool_tick;
  delete from dex_private.offer_left;
  insert into dex_private.offer_left
  select *
  from dex_private.derived_offer_left;
  update public.dex_offer as offer
  set
    (lot_gem, bid_gem, market_id, market, act, lot_tkn, bid_tkn, price) =
      (derived.lot_gem, derived.bid_gem, derived.market_id, derived.market, derived.act, derived.lot_tkn, derived.bid_tkn, derived.price),
    filled = derived.filled
  from dex_private.mislabelled_offer as derived
  where offer.id = derived.id;
  update public.dex_offer as offer
  set ended = derived.ended
  from dex_private.derived_offer_end as derived
  where offer.id = derived.offer_id
    and offer.ended is distinct from derived.ended;
  -- Keeps cancellations of offers that are not recorded: no other table has them.
  delete from dex_private.cancellation as kept
  using public.dex_offer as offer
  where offer.id = kept.offer_id
    and offer.killed <> kept.block;
  insert into dex_private.cancellation (offer_id, block)
  select
    offer.id,
    offer.killed
  from public.dex_offer as offer
  where offer.killed > 0
  on conflict do nothing;
  -- Keeps those of orders that are not recorded, for the same reason.
  delete from dex_private.offer_ref as known
  using public.dex_offer as offer
  where offer.id = known.offer_id;
  insert into dex_private.offer_ref (venue, ref, offer_id, block)
  select
    lower(offer.venue),
    offer.ref,
    offer.id,
    least(
      offer.block,
      (
        select min(trade.block)
        from public.dex_trade as trade
        where trade.offer_id = offer.id
      )
    )
  from public.dex_offer as offer
  where offer.ref is not null
  on conflict (venue, ref) do update
  set
    offer_id = excluded.offer_id,
    block = excluded.block;
  delete from dex_private.standing_offer;
  insert into dex_private.standing_offer
  select *
  from dex_private.derived_standing_offer;
  delete from dex_private.ended_offer;
  insert into dex_private.ended_offer
  select *
  from dex_private.derived_ended_offer;

  insert into public.dex_block as block (number, time, first_trade, has_rows)
  select
    derived.number,
    coalesce(
      derived.right_time,
      (
        select earlier.time
        from public.dex_block as earlier
        where earlier.number < derived.number
        order by earlier.number desc
        limit 1
      ),
      (select min(later.time) from public.dex_block as later)
    ),
    derived.right_first_trade,
    derived.right_has_rows
  from dex_private.misplaced_block as derived
  on conflict (number) do update
  set
    time = excluded.time,
    first_trade = excluded.first_trade,
    has_rows = excluded.has_rows;
  -- Keeps those that there are: only they show that a fact was changed.
  perform dex_private.fill_digests(2147483647);
  perform ingest.written_to(
    (
      select derived.last_trade
      from dex_private.derived_write_state as derived
    ),
    -- From the clock, so that a service that runs through a restore never sees a known epoch again.
    greatest(before.epoch + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
  );
  delete from dex_private.best_price;
  perform dex_private.derive_best_prices(
    array(
      select pair.id
      from public.dex_pair as pair
    ),
    -1
  );
  delete from dex_private.period_figure;
  perform dex_private.keep_figures(1);
  delete from dex_private.running_sum;
  perform dex_private.keep_running_sums(1);
  delete from dex_private.market_figure;
  perform dex_private.derive_market_figures(array(
    select pair.id
    from public.dex_pair as pair
  ));
end
$$;
comment on function ingest.rebuild() is 'Rebuilds all derived data from tokens, pairs, blocks, offers and trades, for example after a restore of these tables alone. For dex_owner.';
