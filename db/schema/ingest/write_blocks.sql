-- Writes many blocks at once from the staging tables; the loader calls it.

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
  newest_digest bytea := dex_private.digest_before(2147483648);
  made_block record;
  written bigint;
  made integer[];
  ended integer[];
  pooled integer[];
begin
  analyze ingest.staged_offer;
  analyze ingest.staged_trade;
  perform ingest.refuse_rows_of_others();
  perform ingest.refuse_staged(before.last_trade);

  perform ingest.cancel_offers(array_agg(ended.offer_id), array_agg(ended.block))
  from ingest.staged_end as ended;
  begin
    -- labels_of gets no amounts, so that the planner can memoize it by the two tokens.
    insert into public.dex_trade (
      id, offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
      bid_gem, bid_tkn, bid_amt, price, block, time, tx, idx, venue
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
      ),
      staged.venue
    from ingest.own_trade as staged
    cross join lateral dex_private.labels_of(staged.lot_gem, staged.bid_gem, null, null) as label
    order by
      staged.block,
      staged.idx,
      staged.line;
    get diagnostics written = row_count;

    ended := ingest.take_from_offers(before.last_trade + 1) || array(
      select staged.offer_id
      from ingest.own_cancellation as staged
    );
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
      staged.filled,
      staged.filled,
      case when staged.filled then staged.block else cancellation.block end
    from ingest.own_offer as staged
    left join dex_private.cancellation on cancellation.offer_id = staged.id
    cross join lateral dex_private.labels_of(staged.lot_gem, staged.bid_gem, null, null) as label
    order by
      staged.block,
      staged.line;
    pooled := ingest.write_pools(array(
      select row(staged.venue, staged.gem0, staged.gem1, staged.fee, staged.block, staged.reserve0, staged.reserve1, staged.tick_spacing, staged.sqrt_price, staged.tick, staged.liquidity, staged.nets)::ingest.given_pool
      from ingest.own_pool as staged
    ));

    -- After the rows, of which the digest of each block is made; in their order, since each follows the one before.
    for made_block in
      select
        block.number,
        block.hash,
        block.parent,
        block.time,
        coalesce(
          min(trade.first_id) over (order by block.number desc),
          -- An id that was taken back is not given again.
          greatest(before.last_trade + 1, (select max(trade.id) + 1 from public.dex_trade as trade))
        ) as first_trade,
        trade.last_id,
        block.has_rows
      from ingest.staged_head as block
      left join (
        select
          trade.block,
          min(trade.id) as first_id,
          max(trade.id) as last_id
        from public.dex_trade as trade
        where trade.id > before.last_trade
        group by trade.block
      ) as trade on trade.block = block.number
      order by block.number
    loop
      newest_digest := dex_private.chain_digest(
        newest_digest, made_block.has_rows, made_block.number, made_block.hash, made_block.time,
        made_block.first_trade, made_block.last_id
      );
      insert into public.dex_block (number, hash, parent, time, first_trade, has_rows, digest)
      values (
        made_block.number,
        made_block.hash,
        made_block.parent,
        made_block.time,
        made_block.first_trade,
        made_block.has_rows,
        newest_digest
      );
    end loop;
  exception
    when check_violation or data_exception or unique_violation then
      perform ingest.refuse_staged_rows();
      raise;
  end;
  made := array(
    select staged.id
    from ingest.own_offer as staged
  );
  perform ingest.refuse_contradictions(before.last_trade + 1, made);
  perform dex_private.keep_left(made);
  perform dex_private.leave_book(ended);
  perform dex_private.enter_book(made);
  perform dex_private.enter_past_books(ended || made);
  perform dex_private.derive_best_prices(
    array(
      select distinct offer.market_id
      from unnest(ended || made) as given (id)
      join public.dex_offer as offer on offer.id = given.id
      where offer.market_id is not null
    ) || pooled,
    coalesce(before.head, -1),
    ended || made
  );

  perform ingest.written_to(
    greatest(before.last_trade, (select max(trade.id) from public.dex_trade as trade)),
    before.epoch
  );
  perform dex_private.keep_figures(before.last_trade + 1);
  perform dex_private.keep_running_sums(before.last_trade + 1);
  perform dex_private.derive_market_figures(array(
    select pair.id
    from public.dex_pair as pair
  ));
  delete from ingest.own_block;
  delete from ingest.own_offer;
  delete from ingest.own_cancellation;
  delete from ingest.own_trade;
  delete from ingest.own_pool;
  return written;
end
$$;
comment on function ingest.write_blocks() is 'Writes the blocks that this transaction staged, in order, or nothing, and deletes what it wrote from the staging tables. Returns the number of trades written. Refuses rows that an earlier transaction staged.';
grant execute on function ingest.write_blocks() to dex_writer;
