-- Writes many blocks at once from the staging tables; the loader calls it.

create function ingest.write_blocks() returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set default_statistics_target = 10
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set work_mem = '32MB'
as $$
declare
  before constant dex_private.write_state := ingest.take_turn();
  digest_before constant bytea := dex_private.digest_before(2147483648);
  written bigint;
  indexes text[] := '{}';
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
    -- By the times of three loads: to make the indexes of four times as many trades as are staged takes as long as to add these to them.
    if (select count(*) from ingest.own_trade as staged)
      >= greatest(10000, (select (max(trade.id) - min(trade.id)) / 3 from public.dex_trade as trade)) then
      indexes := ingest.drop_bulk_indexes();
    end if;
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
    made := array(
      select staged.id
      from ingest.own_offer as staged
    );
    perform ingest.write_staged_offers(before.last_trade + 1);
    perform ingest.make_bulk_indexes(indexes);
    pooled := ingest.write_pools(array(
      select staged
      from ingest.own_pool as staged
    ));

    -- After the rows, of which the digests are made.
    insert into public.dex_block (number, hash, parent, time, first_trade, has_rows, digest)
    select
      block.number,
      block.hash,
      block.parent,
      block.time,
      block.first_trade,
      block.has_rows,
      dex_private.chained_digest(
        digest_before,
        case
          when block.has_rows then
            dex_private.canonical_form(block.number, block.hash, block.time, facts.lines)
        end
      ) over (order by block.number)
    -- Without the lines, which would be sorted once more.
    from (
      select
        staged.*,
        coalesce(
          min(trade.first_id) over (order by staged.number desc),
          -- An id that was taken back is not given again.
          greatest(before.last_trade + 1, (select max(trade.id) + 1 from public.dex_trade as trade))
        ) as first_trade
      from ingest.staged_head as staged
      left join (
        select
          trade.block,
          min(trade.id) as first_id
        from public.dex_trade as trade
        where trade.id > before.last_trade
        group by trade.block
      ) as trade on trade.block = staged.number
    ) as block
    left join (
      select
        fact.block,
        string_agg(fact.line || E'\n', '' order by fact.line collate "C") as lines
      from dex_private.fact_lines(coalesce(before.head, -1) + 1, 2147483647, before.last_trade + 1, 9223372036854775807) as fact
      group by fact.block
    ) as facts on facts.block = block.number;
  exception
    when check_violation or data_exception or unique_violation then
      perform ingest.refuse_staged_rows();
      raise;
  end;
  perform ingest.refuse_contradictions(before.last_trade + 1, made);
  perform dex_private.leave_book(ended);
  perform dex_private.enter_book(made);
  perform dex_private.enter_past_books(ended || made, coalesce(before.head, -1));
  perform dex_private.derive_best_prices(
    array(
      select distinct offer.market_id
      from unnest(ended || made) as given (id)
      join public.dex_offer as offer on offer.id = given.id
      where offer.market_id is not null
    ) || pooled,
    coalesce(before.head, -1),
    -- Of many offers it is faster to read what has just been entered.
    case when cardinality(indexes) = 0 then ended || made end
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
