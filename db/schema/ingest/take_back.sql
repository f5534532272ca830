-- Removes the newest blocks after a chain reorganisation.

create function ingest.take_back(to_block integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set jit = off
as $$
declare
  before constant dex_private.write_state := ingest.take_turn();
  head_before constant timestamptz := (select head.time from dex_private.last_block as head);
  head dex_private.last_block;
  first_trade bigint;
  first_minute timestamptz;
  first_hour timestamptz;
  traded integer[];
  touched integer[];
  pooled integer[];
  offers integer[];
  new_offers integer[];
  reopened integer[];
  taken_back bigint;
begin
  perform ingest.refuse(case
    when to_block is null or to_block < -1 then
      format('to_block is %s: it must be an integer from 0, or -1 for all blocks', coalesce(to_block::text, 'null'))
    when to_block > coalesce(before.head, -1) then
      format('block %s is not written: %s', to_block, coalesce('the head is block ' || before.head, 'the database has no blocks'))
  end);
  if to_block = before.head then
    return 0;
  end if;

  first_trade := dex_private.first_trade_of(to_block + 1);
  select
    array_agg(distinct trade.market_id) filter (where trade.market_id is not null),
    array_agg(distinct trade.offer_id) filter (where trade.offer_id is not null)
  into
    traded,
    offers
  from public.dex_trade as trade
  where trade.id >= first_trade;

  -- Return the amounts that the trades took, and undo the cancellations.
  update dex_private.offer_left as kept
  set lot_amt = kept.lot_amt + taken.lot_amt
  from (
    select
      trade.offer_id,
      sum(trade.lot_amt) as lot_amt
    from public.dex_trade as trade
    where trade.id >= first_trade
    group by trade.offer_id
  ) as taken
  where kept.offer_id = taken.offer_id;

  with undone as (
    delete from dex_private.cancellation as cancellation
    where cancellation.block > to_block
    returning cancellation.offer_id
  )
  select coalesce(offers, '{}') || coalesce(array_agg(undone.offer_id), '{}')
  into offers
  from undone;

  delete from public.dex_trade as trade
  where trade.id >= first_trade;
  get diagnostics taken_back = row_count;

  new_offers := array(
    select offer.id
    from public.dex_offer as offer
    where offer.block > to_block
  );
  reopened := array(
    select offer.id
    from public.dex_offer as offer
    where offer.id = any (offers)
      and offer.ended > to_block
  );
  pooled := array(
    select distinct pool.market_id
    from public.dex_pool_state as state
    join public.dex_pool as pool on pool.venue = state.venue
    where state.block > to_block
      and pool.market_id is not null
  );
  delete from dex_private.best_price as kept
  using (
    select offer.market_id
    from public.dex_offer as offer
    where offer.id = any (new_offers || reopened)
      and offer.market_id is not null
    union
    select given.market_id
    from unnest(pooled) as given (market_id)
  ) as changed
  where kept.market_id = changed.market_id
    and kept.act in ('buy', 'sell')
    and kept.block > to_block;
  touched := dex_private.leave_book(new_offers);
  perform dex_private.leave_past_books(new_offers || reopened);
  with gone as (
    delete from public.dex_offer as offer
    where offer.id = any (new_offers)
    returning offer.id
  )
  delete from dex_private.offer_left as kept
  using gone
  where kept.offer_id = gone.id;

  -- An offer that was filled before can be cancelled later.
  update public.dex_offer as offer
  set
    killed = case when offer.killed > to_block then 0 else offer.killed end,
    filled = offer.filled and offer.ended <= to_block,
    ended = case when offer.ended <= to_block then offer.ended end
  where offer.id = any (offers)
    and (offer.killed > to_block or offer.ended > to_block);
  touched := touched || dex_private.enter_book(reopened);

  delete from dex_private.pool_tick as tick
  using dex_private.derived_pool_tick as derived
  where derived.block > to_block
    and (tick.venue, tick.tick, tick.block) = (derived.venue, derived.tick, derived.block);
  delete from public.dex_pool_state as state
  where state.block > to_block;
  delete from public.dex_pool as pool
  where pool.block > to_block;
  delete from dex_private.offer_ref as known
  where known.block > to_block;
  delete from public.dex_block as block
  where block.number > to_block;
  update dex_private.index_source as source
  set
    ranged_to = least(source.ranged_to, to_block),
    audited_to = least(source.audited_to, to_block);
  select *
  into head
  from dex_private.last_block;
  -- Blocks without rows are not kept: those from the new head on are read again.
  delete from dex_private.index_contract as contract
  where contract.block > coalesce(head.number, -1);
  perform dex_private.take_back_active(head.number);
  -- Not to_block: if it is not recorded, a later block may get its number.
  insert into dex_private.reorganisation (number, to_block)
  select coalesce(max(past.number), 0) + 1, coalesce(head.number, -1)
  from dex_private.reorganisation as past;
  delete from dex_private.reorganisation as past
  where past.number <= (select max(newest.number) from dex_private.reorganisation as newest) - 10000;

  -- The new head cuts a minute and an hour: the minute is computed from its trades, the hour from its minutes.
  first_minute := coalesce(dex_private.minute_of(head.time), '-infinity');
  first_hour := coalesce(dex_private.hour_of(head.time), '-infinity');
  delete from dex_private.period_figure as kept
  where kept.market_id = any (traded)
    and kept.minutes in (1, 60)
    and kept.start >= first_hour
    and (kept.minutes = 60 or kept.start >= first_minute);
  insert into dex_private.period_figure
  select figure.*
  from dex_private.figures_from(dex_private.first_trade_from(first_minute)) as figure
  where figure.market_id = any (traded)
    and figure.minutes = 1;
  insert into dex_private.period_figure
  select
    figure.market_id,
    60,
    first_hour,
    sum(figure.trades),
    sum(figure.base_amt),
    sum(figure.quote_amt),
    (array_agg(figure.open order by figure.start) filter (where figure.open is not null))[1],
    max(figure.high),
    min(figure.low),
    (array_agg(figure.close order by figure.start desc) filter (where figure.close is not null))[1],
    sum(figure.unpriced_trades),
    sum(figure.unpriced_quote_amt)
  from dex_private.period_figure as figure
  where figure.market_id = any (traded)
    and figure.minutes = 1
    and figure.start >= first_hour
  group by figure.market_id;

  delete from dex_private.running_sum as kept
  where kept.market_id = any (traded)
    and kept.time >= coalesce(head.time, '-infinity')
    and kept.block > to_block;

  perform ingest.written_to(before.last_trade, before.epoch);
  perform dex_private.derive_market_figures(array(
    select given.market_id
    from unnest(traded || touched || pooled) as given (market_id)
    union
    -- The windows move back with the head: markets with trades that are inside a window again.
    select trade.market_id
    from (
      values (24), (12), (6), (1)
    ) as length (hours)
    cross join lateral (
      select trades.market_id
      from public.dex_trade as trades
      where trades.id >= dex_private.first_trade_from(head.time - length.hours * interval '1 hour' + interval '1 microsecond')
        and trades.id < dex_private.first_trade_from(head_before - length.hours * interval '1 hour' + interval '1 microsecond')
      offset 0
    ) as trade
    where trade.market_id is not null
  ));
  return taken_back;
end
$$;
comment on function ingest.take_back(integer) is 'Removes every block after to_block, or all blocks if it is -1: deletes its trades, offers and states of pools and undoes its cancellations. The head is then to_block, or the last recorded block before it. Returns the number of deleted trades; their ids are never used again. Raises an error if to_block is after the head.';
grant execute on function ingest.take_back(integer) to dex_writer;
