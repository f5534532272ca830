-- Writes one block; an indexer calls it for each block.

-- Every statement looks up its rows by the few rows of the block. So one generic plan with indexes and nested
-- loops fits all blocks, even if it was made for an empty database.
create function ingest.write_block(
  number integer,
  at timestamptz,
  hash text default null,
  parent text default null,
  offers jsonb default '[]',
  trades jsonb default '[]',
  killed integer[] default '{}',
  pools jsonb default '[]'
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashagg = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_memoize = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  head constant dex_private.last_block := (select head from dex_private.last_block as head);
  has_rows constant boolean := write_block.offers <> '[]'
    or write_block.trades <> '[]'
    or write_block.killed <> '{}'
    or write_block.pools <> '[]';
  digest_before constant bytea := case when head.number is null then dex_private.first_digest() else head.digest end;
  problem text := ingest.block_problem(
    write_block.number, write_block.at, write_block.hash, write_block.parent, head.number, head.time, head.hash
  );
  last_trade bigint := before.last_trade;
  figures dex_private.period_figure[];
  touched integer[] := '{}';
  made integer[] := '{}';
  ended integer[] := write_block.killed;
begin
  if problem is null and write_block.hash is not null then
    problem := (
      select ingest.hash_problem(write_block.number, write_block.hash, block.number)
      from public.dex_block as block
      where block.hash = write_block.hash
      limit 1
    );
  end if;
  perform ingest.refuse(coalesce(problem, case
    when write_block.killed is null then 'killed is null: it must be an array'
    when array_ndims(write_block.killed) > 1 then
      format('killed has %s dimensions: it must be an array of one', array_ndims(write_block.killed))
  end));
  if write_block.offers is distinct from '[]' then
    perform ingest.refuse_rows('offers', write_block.offers, write_block.number, write_block.at);
  end if;
  if write_block.trades is distinct from '[]' then
    perform ingest.refuse_rows('trades', write_block.trades, write_block.number, write_block.at);
  end if;
  if write_block.pools is distinct from '[]' then
    perform ingest.refuse_rows('pools', write_block.pools, write_block.number, write_block.at);
  end if;

  if write_block.trades <> '[]' then
    last_trade := ingest.write_trades(write_block.number, write_block.at, before.last_trade, write_block.trades);
    ended := ended || ingest.take_from_offers(before.last_trade + 1);
  end if;
  if write_block.killed <> '{}' then
    perform ingest.cancel_offers(
      write_block.killed,
      array_fill(write_block.number, array[cardinality(write_block.killed)])
    );
  end if;
  if ended <> '{}' then
    touched := dex_private.leave_book(ended);
    perform dex_private.enter_past_books(ended, write_block.number - 1);
  end if;
  if write_block.offers <> '[]' then
    made := ingest.write_offers(write_block.number, write_block.at, write_block.offers);
    perform dex_private.keep_left(made);
    touched := touched || dex_private.enter_book(made);
  end if;
  if write_block.trades <> '[]' or made <> '{}' then
    perform ingest.refuse_contradictions(before.last_trade + 1, made);
  end if;
  if write_block.pools <> '[]' then
    touched := touched || ingest.write_pools(array(
      select jsonb_populate_record(null::ingest.own_pool, listed.value || jsonb_build_object('block', write_block.number))
      from jsonb_array_elements(write_block.pools) as listed
    ));
  end if;

  insert into public.dex_block (number, hash, parent, time, first_trade, has_rows, digest)
  values (
    write_block.number,
    write_block.hash,
    write_block.parent,
    write_block.at,
    before.last_trade + 1,
    has_rows,
    dex_private.next_digest(
      digest_before, has_rows, write_block.number, write_block.hash, write_block.at,
      before.last_trade + 1, last_trade
    )
  );
  perform ingest.written_to(last_trade, before.epoch);
  if write_block.trades <> '[]' then
    figures := array(
      select figure
      from dex_private.figures_from(before.last_trade + 1) as figure
    );
    perform dex_private.keep_figures(before.last_trade + 1, figures);
  end if;
  perform dex_private.keep_market_figures(
    write_block.number, before.last_trade + 1, head.time, write_block.at, touched
  );
  if write_block.trades <> '[]' then
    perform dex_private.keep_running_sums_of_block(write_block.number, write_block.at, figures);
  end if;
end
$$;
comment on function ingest.write_block(integer, timestamptz, text, text, jsonb, jsonb, integer[], jsonb) is 'Writes a whole block or nothing: its offers and trades, the ids of the offers that it cancels, and what each pool that it changed has after it. An offer or trade is an object with the columns of the CSV files: decimals as strings, block and time optional. The block becomes the head. Raises an error that names the element if the input is invalid: see db/README.md.';
grant execute on function ingest.write_block(integer, timestamptz, text, text, jsonb, jsonb, integer[], jsonb)
to dex_writer;
