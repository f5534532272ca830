-- Writes many blocks at once from the staging tables; the loader calls it.

create function ingest.refuse_staged() returns void
language plpgsql stable
as $$
declare
  head dex_private.last_block;
  refused text;
begin
  select *
  into head
  from dex_private.last_block;

  select case
    when block.number <= head.number then
      format('block %s is not after the head, block %s', block.number, head.number)
    when block.number < 0 then
      format('block %s is negative', block.number)
    when not isfinite(block.time) or not isfinite(block.latest) then
      format('block %s is at %s: its time must be a finite timestamp', block.number, block.latest)
    when block.time < block.latest then
      format('block %s is at both %s and %s: a block has one time', block.number, block.time, block.latest)
    when block.time < coalesce(block.time_before, head.time) then
      format('block %s is at %s, before an earlier block at %s', block.number, block.time, coalesce(block.time_before, head.time))
    when block.hash <> block.other_hash then
      format('block %s has both the hash %s and the hash %s', block.number, block.hash, block.other_hash)
    when block.parent <> block.other_parent then
      format('block %s has both the parent %s and the parent %s', block.number, block.parent, block.other_parent)
    when block.parent <> block.hash_before then
      format('block %s has the parent %s, but the block before it has the hash %s', block.number, block.parent, block.hash_before)
    else 'only some trades have an id or an idx: give it to every trade or to none'
  end
  into refused
  from (
    select
      listed.*,
      max(listed.latest) over before as time_before,
      lag(listed.hash, 1, head.hash) over (order by listed.number) as hash_before
    from (
      select
        moment.number,
        min(moment.time) as time,
        max(moment.time) as latest,
        max(moment.hash) as hash,
        min(moment.hash) as other_hash,
        max(moment.parent) as parent,
        min(moment.parent) as other_parent
      from ingest.staged_moment as moment
      group by moment.number
    ) as listed
    window before as (
      order by listed.number
      rows between unbounded preceding and 1 preceding
    )
  ) as block
  where block.number <= head.number
    or block.number < 0
    or not isfinite(block.time)
    or not isfinite(block.latest)
    or block.time < block.latest
    or block.time < coalesce(block.time_before, head.time)
    or block.hash <> block.other_hash
    or block.parent <> block.other_parent
    or block.parent <> block.hash_before
    or exists (
      select
      from ingest.staged_trade as staged
      having count(staged.id) not in (0, count(*))
        or count(staged.idx) not in (0, count(*))
    )
  order by block.number
  limit 1;
  if refused is null then
    select format('%s is %s: it must be an integer from 0', listed.name, listed.id)
    into refused
    from (
      select
        'an offer''s id' as name,
        staged.id
      from ingest.staged_offer as staged
      union all
      select
        'the killed of offer ' || staged.id,
        staged.killed
      from ingest.staged_offer as staged
      union all
      select
        'the offer_id of a trade',
        staged.offer_id
      from ingest.staged_trade as staged
      union all
      select
        'the offer_id of a cancellation',
        staged.offer_id
      from ingest.staged_cancellation as staged
    ) as listed
    where listed.id < 0
    limit 1;
  end if;
  if refused is not null then
    raise exception '%', refused
      using errcode = 'invalid_parameter_value',
        hint = 'Write blocks in order. After a chain reorganisation call ingest.take_back first. Load older data whole into a new database.';
  end if;
end
$$;
comment on function ingest.refuse_staged() is 'Raises an error if the staged blocks cannot be the next ones.';

create function ingest.refuse_disorder(last_trade bigint) returns void
language plpgsql stable
as $$
declare
  refused text;
begin
  select case
    when trade.id_before is null then
      format('id %s is not greater than %s, the highest id ever used', trade.id, last_trade)
    else format('id %s of block %s, idx %s is not greater than id %s of block %s, idx %s: ids increase with block and idx', trade.id, trade.block, trade.idx, trade.id_before, trade.block_before, trade.idx_before)
  end
  into refused
  from (
    select
      staged.id,
      staged.block,
      staged.idx,
      lag(staged.id) over in_order as id_before,
      lag(staged.block) over in_order as block_before,
      lag(staged.idx) over in_order as idx_before
    from ingest.staged_trade as staged
    where staged.id is not null
    window in_order as (order by staged.block, staged.idx, staged.line)
  ) as trade
  where trade.id <= coalesce(trade.id_before, last_trade)
  limit 1;
  if refused is not null then
    raise exception '%', refused
      using errcode = 'invalid_parameter_value';
  end if;
end
$$;
comment on function ingest.refuse_disorder(bigint) is 'Raises an error unless the ids of staged trades increase with block and idx.';

create function ingest.write_blocks() returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set default_statistics_target = 10
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  before constant dex_private.write_state := ingest.take_turn();
  written bigint;
begin
  analyze ingest.staged_offer;
  analyze ingest.staged_trade;
  perform ingest.refuse_staged();
  perform ingest.refuse_disorder(before.last_trade);
  perform ingest.refuse_other_case(array(
    select staged.lot_gem
    from ingest.staged_trade as staged
    union
    select staged.bid_gem
    from ingest.staged_trade as staged
    union
    select staged.lot_gem
    from ingest.staged_offer as staged
    union
    select staged.bid_gem
    from ingest.staged_offer as staged
  ));

  -- labels_of gets no amounts, so that the planner can memoize it by the two tokens.
  insert into public.dex_trade (
    id, offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
    bid_gem, bid_tkn, bid_amt, price, block, time, tx, idx
  )
  select
    coalesce(
      staged.id,
      before.last_trade + row_number() over (order by staged.block, staged.idx, staged.line)
    ),
    staged.offer_id,
    label.market_id,
    label.market,
    label.act,
    staged.pair,
    staged.maker,
    staged.taker,
    staged.lot_gem,
    label.lot_tkn,
    dex_private.as_amount(staged.lot_amt),
    staged.bid_gem,
    label.bid_tkn,
    dex_private.as_amount(staged.bid_amt),
    dex_private.price_of(label.act, staged.lot_amt, staged.bid_amt),
    staged.block,
    staged.time,
    staged.tx,
    coalesce(
      staged.idx,
      row_number() over (partition by staged.block order by staged.idx, staged.line) - 1
    )
  from ingest.staged_trade as staged
  cross join lateral dex_private.labels_of(staged.lot_gem, staged.bid_gem, null, null) as label
  order by
    staged.block,
    staged.idx,
    staged.line;
  get diagnostics written = row_count;

  -- A block with only cancellations has no row with a time: it gets the time of the block before it.
  insert into public.dex_block (number, hash, parent, time, first_trade, has_rows)
  select
    listed.number,
    listed.hash,
    listed.parent,
    coalesce(
      max(listed.time) over (order by listed.number),
      (select head.time from dex_private.last_block as head),
      min(listed.time) over ()
    ),
    coalesce(
      min(listed.first_trade) over (order by listed.number desc),
      (select max(trade.id) + 1 from public.dex_trade as trade),
      before.last_trade + 1
    ),
    listed.has_rows
  from (
    select
      row_block.number,
      max(row_block.hash) as hash,
      max(row_block.parent) as parent,
      max(row_block.time) as time,
      bool_or(row_block.is_row) as has_rows,
      min(row_block.first_trade) as first_trade
    from (
      select
        moment.*,
        null::bigint as first_trade
      from ingest.staged_moment as moment
      union all
      select
        trade.block,
        null,
        null,
        null,
        true,
        min(trade.id)
      from public.dex_trade as trade
      where trade.id > before.last_trade
      group by trade.block
    ) as row_block
    group by row_block.number
  ) as listed;

  perform dex_private.leave_book(ingest.take_from_offers(before.last_trade + 1));
  insert into dex_private.cancellation (offer_id, block)
  select
    staged.offer_id,
    staged.block
  from ingest.staged_cancellation as staged
  union all
  select
    staged.id,
    staged.killed
  from ingest.staged_offer as staged
  where staged.killed > 0;
  update public.dex_offer as offer
  set killed = staged.block
  from ingest.staged_cancellation as staged
  where offer.id = staged.offer_id;
  perform dex_private.leave_book(array(
    select staged.offer_id
    from ingest.staged_cancellation as staged
  ));
  insert into dex_private.offer_left (offer_id, lot_amt)
  select
    staged.id,
    dex_private.as_amount(staged.lot_amt) - taken.lot_amt
  from ingest.staged_offer as staged
  cross join lateral (
    select coalesce(sum(trade.lot_amt), 0) as lot_amt
    from public.dex_trade as trade
    where trade.offer_id = staged.id
    offset 0
  ) as taken;
  insert into public.dex_offer (
    id, block, killed, market_id, market, act, pair, maker, lot_gem, lot_tkn, lot_amt,
    bid_gem, bid_tkn, bid_amt, price, time, tx, filled, closed
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
    staged.lot_gem,
    label.lot_tkn,
    dex_private.as_amount(staged.lot_amt),
    staged.bid_gem,
    label.bid_tkn,
    dex_private.as_amount(staged.bid_amt),
    dex_private.price_of(label.act, staged.lot_amt, staged.bid_amt),
    staged.time,
    staged.tx,
    staged.filled or kept.lot_amt <= 0,
    staged.filled
  from ingest.staged_offer as staged
  join dex_private.offer_left as kept on kept.offer_id = staged.id
  left join dex_private.cancellation on cancellation.offer_id = staged.id
  cross join lateral dex_private.labels_of(staged.lot_gem, staged.bid_gem, null, null) as label
  order by
    staged.block,
    staged.line;
  perform dex_private.enter_book(array(
    select staged.id
    from ingest.staged_offer as staged
  ));

  perform ingest.thin_out();
  perform ingest.written_to(
    greatest(before.last_trade, (select max(trade.id) from public.dex_trade as trade)),
    before.epoch
  );
  perform dex_private.keep_figures(before.last_trade + 1);
  perform dex_private.derive_market_figures(array(
    select pair.id
    from public.dex_pair as pair
  ));
  delete from ingest.staged_block;
  delete from ingest.staged_offer;
  delete from ingest.staged_cancellation;
  delete from ingest.staged_trade;
  return written;
end
$$;
comment on function ingest.write_blocks() is 'Writes all staged blocks in order, or nothing. Returns the number of trades written. Copy the rows in the same transaction, so that no other session sees them: see db/load/README.md.';
grant execute on function ingest.write_blocks() to dex_writer;
