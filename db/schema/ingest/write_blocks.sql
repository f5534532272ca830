-- Writes many blocks at once from the staging tables; the loader calls it.

create function ingest.refuse_staged(last_trade bigint) returns void
language plpgsql stable
as $$
begin
  perform ingest.refuse((
    select format('offers line %s.killed is %s: it must be 0, or a block from %s on, in which the offer was made', staged.line, staged.killed, staged.block)
    from ingest.staged_offer as staged
    where staged.killed <> 0
      and staged.killed < staged.block
    order by staged.line
    limit 1
  ));
  perform ingest.refuse((
    select found.problem
    from (
      select
        block.number,
        case
          when block.time < block.latest then
            format('block %s is at both %s and %s: a block has one time', block.number, block.time, block.latest)
          when block.hash <> block.other_hash then
            format('block %s has both the hash %s and the hash %s', block.number, block.hash, block.other_hash)
          when block.parent <> block.other_parent then
            format('block %s has both the parent %s and the parent %s', block.number, block.parent, block.other_parent)
          else ingest.block_problem(
            block.number, block.time, block.hash, block.parent, block.number_before, block.time_before, block.hash_before
          )
        end as problem
      from ingest.staged_head as block
    ) as found
    where found.problem is not null
    order by found.number
    limit 1
  ));
  perform ingest.refuse((
    select 'only some trades have an id or an idx: give it to every trade or to none'
    from ingest.staged_trade as staged
    having count(staged.id) not in (0, count(*))
      or count(staged.idx) not in (0, count(*))
  ));
  perform ingest.refuse((
    select format('id %s of block %s, idx %s is not greater than %s: ids increase with block and idx, and are above the highest ever used', trade.id, trade.block, trade.idx, trade.id_before)
    from (
      select
        staged.id,
        staged.block,
        staged.idx,
        lag(staged.id, 1, last_trade) over (order by staged.block, staged.idx, staged.line) as id_before
      from ingest.staged_trade as staged
      where staged.id is not null
    ) as trade
    where trade.id <= trade.id_before
    limit 1
  ));
end
$$;
comment on function ingest.refuse_staged(bigint) is 'Raises an error if the staged blocks cannot be the next ones.';

-- A batch is of 1,000 rows, because a jsonb value has at most 1 GB.
create function ingest.refuse_staged_rows() returns void
language sql stable
as $$
  select ingest.refuse_rows(batch.listed, jsonb_agg(batch.value order by batch.line), null, null)
  from (
    select
      staged_row.listed,
      staged_row.line,
      (
        select jsonb_object_agg(field.key, field.value)
        from jsonb_each_text(staged_row.value - '{filled,killed}'::text[]) as field
      ) as value
    from (
      select
        'offers' as listed,
        staged.line,
        to_jsonb(staged) as value
      from ingest.staged_offer as staged
      union all
      select
        'trades',
        staged.line,
        to_jsonb(staged)
      from ingest.staged_trade as staged
    ) as staged_row
  ) as batch
  group by
    batch.listed,
    batch.line / 1000
  order by
    batch.listed,
    batch.line / 1000;
  select ingest.refuse_known_offers(
    array_agg(staged.line order by staged.line),
    array_agg(staged.id order by staged.line),
    array_agg(staged.block order by staged.line)
  )
  from ingest.staged_offer as staged;
  select ingest.refuse_known_trades(
    array_agg(staged.line order by staged.line),
    array_agg(staged.tx order by staged.line),
    array_agg(staged.idx order by staged.line)
  )
  from (
    select
      trade.line,
      trade.tx,
      coalesce(trade.idx, row_number() over (partition by trade.block order by trade.line) - 1) as idx
    from ingest.staged_trade as trade
  ) as staged
$$;
comment on function ingest.refuse_staged_rows() is 'Raises an error that names the line if a staged offer or trade is invalid, recorded already or staged twice.';

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
  made integer[];
begin
  analyze ingest.staged_offer;
  analyze ingest.staged_trade;
  perform ingest.refuse_staged(before.last_trade);

  perform ingest.cancel_offers(array_agg(ended.offer_id), array_agg(ended.block))
  from ingest.staged_end as ended;
  perform dex_private.leave_book(array(
    select staged.offer_id
    from ingest.staged_cancellation as staged
  ));
  begin
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
      label.lot_gem,
      label.lot_tkn,
      dex_private.as_amount(staged.lot_amt),
      label.bid_gem,
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

    insert into public.dex_block (number, hash, parent, time, first_trade, has_rows)
    select
      block.number,
      block.hash,
      block.parent,
      block.time,
      coalesce(
        min(trade.first_trade) over (order by block.number desc),
        (select max(trade.id) + 1 from public.dex_trade as trade),
        before.last_trade + 1
      ),
      block.has_rows
    from ingest.staged_head as block
    left join (
      select
        trade.block,
        min(trade.id) as first_trade
      from public.dex_trade as trade
      where trade.id > before.last_trade
      group by trade.block
    ) as trade on trade.block = block.number;

    perform dex_private.leave_book(ingest.take_from_offers(before.last_trade + 1));
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
      label.lot_gem,
      label.lot_tkn,
      dex_private.as_amount(staged.lot_amt),
      label.bid_gem,
      label.bid_tkn,
      dex_private.as_amount(staged.bid_amt),
      dex_private.price_of(label.act, staged.lot_amt, staged.bid_amt),
      staged.time,
      staged.tx,
      staged.filled,
      staged.filled
    from ingest.staged_offer as staged
    left join dex_private.cancellation on cancellation.offer_id = staged.id
    cross join lateral dex_private.labels_of(staged.lot_gem, staged.bid_gem, null, null) as label
    order by
      staged.block,
      staged.line;
  exception
    when check_violation or data_exception or unique_violation then
      perform ingest.refuse_staged_rows();
      raise;
  end;
  made := array(
    select staged.id
    from ingest.staged_offer as staged
  );
  perform ingest.refuse_contradictions(before.last_trade + 1, made);
  perform dex_private.keep_left(made);
  perform dex_private.enter_book(made);

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
