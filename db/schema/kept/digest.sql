-- The digest of a block: SHA-256 over the digest before it and its facts in the canonical form of docs/digests.md.

create function dex_private.first_digest() returns bytea
language sql immutable parallel safe
as $$
  select '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea
$$;
comment on function dex_private.first_digest() is 'The digest before the first block with rows: 32 zero bytes.';
grant execute on function dex_private.first_digest() to dex_reader, dex_writer;

create function dex_private.digest_before(height bigint) returns bytea
language plpgsql stable parallel safe
as $$
declare
  before bytea;
begin
  select block.digest
  into before
  from public.dex_block as block
  where block.number < height
  order by block.number desc
  limit 1;
  return case when found then before else dex_private.first_digest() end;
end
$$;
comment on function dex_private.digest_before(bigint) is 'The digest of the last block below this height: null where that block has none.';

-- An id from 2^30 on depends on what else the database has. A ref is any text: as a JSON string it has no line end.
create function dex_private.order_name(offer_id integer) returns text
language plpgsql stable parallel safe
as $$
begin
  return coalesce(
    (
      select lower(known.venue collate "C") || ':' || to_json(known.ref)
      from dex_private.offer_ref as known
      where known.offer_id = order_name.offer_id
    ),
    offer_id::text
  );
end
$$;
comment on function dex_private.order_name(integer) is 'The name of an order of a contract beside the first book: the contract, and the id that it gave the order.';
grant execute on function dex_private.order_name(integer) to dex_reader, dex_writer;

-- The planner inlines it. A further kind of facts is one more `union all`, with a first word that no other kind has.
create function dex_private.fact_lines(first_block integer, last_block integer, first_trade bigint, last_trade bigint)
returns table (block integer, line text)
language sql stable parallel safe
as $$
  select offer.block, concat_ws(
    ' ',
    'offer',
    case
      when offer.ref is null then offer.id::text
      else coalesce(lower(offer.venue collate "C"), '-') || ':' || to_json(offer.ref)
    end,
    lower(offer.maker collate "C"),
    offer.pair,
    lower(offer.lot_gem collate "C"),
    trim_scale(offer.lot_amt),
    lower(offer.bid_gem collate "C"),
    trim_scale(offer.bid_amt),
    offer.tx,
    coalesce(lower(offer.venue collate "C"), '-'),
    case when offer.closed then 'closed' else 'open' end
  )
  from public.dex_offer as offer
  where offer.block between first_block and last_block
  union all
  select trade.block, concat_ws(
    ' ',
    'trade',
    trade.idx,
    case
      when trade.offer_id >= 1073741824 then dex_private.order_name(trade.offer_id)
      else coalesce(trade.offer_id::text, '-')
    end,
    lower(trade.maker collate "C"),
    lower(trade.taker collate "C"),
    trade.pair,
    lower(trade.lot_gem collate "C"),
    trim_scale(trade.lot_amt),
    lower(trade.bid_gem collate "C"),
    trim_scale(trade.bid_amt),
    trade.tx,
    coalesce(lower(trade.venue collate "C"), '-')
  )
  from public.dex_trade as trade
  where trade.id between first_trade and last_trade
    and trade.block between first_block and last_block
  union all
  select cancellation.block, concat_ws(
    ' ',
    'cancel',
    case
      when cancellation.offer_id >= 1073741824 then dex_private.order_name(cancellation.offer_id)
      else cancellation.offer_id::text
    end
  )
  from dex_private.cancellation
  where cancellation.block between first_block and last_block
  union all
  select state.block, concat_ws(
    ' ',
    case when state.nets is null then 'pool' else 'ranges' end,
    lower(state.venue collate "C"),
    lower(pool.gem0 collate "C"),
    trim_scale(state.reserve0),
    lower(pool.gem1 collate "C"),
    trim_scale(state.reserve1),
    pool.fee,
    pool.tick_spacing,
    state.sqrt_price,
    state.tick,
    state.liquidity,
    nullif(state.nets, '')
  )
  from public.dex_pool_state as state
  join public.dex_pool as pool on pool.venue = state.venue
  where state.block between first_block and last_block
$$;
comment on function dex_private.fact_lines(integer, integer, bigint, bigint) is 'The facts of the blocks from one to another, whose trades have these ids, a line each.';

-- Without the parent, which the hash stands for: an indexer that reads a range of blocks does not get it.
create function dex_private.canonical_form(number integer, hash text, at timestamptz, facts text) returns text
language sql immutable parallel safe
as $$
  select 'block ' || number
    || ' ' || coalesce(hash, '-')
    || ' ' || trim_scale(extract(epoch from at))
    || E'\n'
    || coalesce(facts, '')
$$;
comment on function dex_private.canonical_form(integer, text, timestamptz, text) is 'The text of a block with these lines of facts, of which its digest is made.';

-- In plpgsql, which caches the plan: it runs for every block. One plan with indexes serves all blocks, even if it was made for an
-- empty database. To start parallel workers for each block would take 12 ms.
create function dex_private.next_digest(
  before bytea,
  has_rows boolean,
  number integer,
  hash text,
  at timestamptz,
  first_trade bigint,
  last_trade bigint
) returns bytea
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set max_parallel_workers_per_gather = 0
as $$
begin
  if not has_rows then
    return before;
  end if;
  return sha256(before || convert_to(
    dex_private.canonical_form(
      number,
      hash,
      at,
      (
        select string_agg(fact.line || E'\n', '' order by fact.line collate "C")
        from dex_private.fact_lines(number, number, first_trade, last_trade) as fact
      )
    ),
    'UTF8'
  ));
end
$$;
comment on function dex_private.next_digest(bytea, boolean, integer, text, timestamptz, bigint, bigint) is 'The digest of a block, which may have no rows, after a digest: null after none.';

create function dex_private.link_digest(newest bytea, before bytea, form text) returns bytea
language plpgsql immutable parallel safe
as $$
begin
  if form is null then
    return coalesce(newest, before);
  end if;
  return sha256(coalesce(newest, before) || convert_to(form, 'UTF8'));
end
$$;
comment on function dex_private.link_digest(bytea, bytea, text) is 'The digest of a block with this canonical form, or without rows, after the newest digest, which is `before` for the first one.';

create aggregate dex_private.chained_digest(before bytea, form text) (
  sfunc = dex_private.link_digest,
  stype = bytea
);
comment on aggregate dex_private.chained_digest(bytea, text) is 'As a window function over blocks in their order: the digest of each, after the digest before the first of them. The form of a block without rows is null.';

create function dex_private.fill_digests(most integer) returns integer
language plpgsql
as $$
declare
  block public.dex_block;
  filled integer := 0;
begin
  for block in
    select *
    from public.dex_block as unfilled
    where unfilled.digest is null
    order by unfilled.number
    limit most
  loop
    update public.dex_block as recorded
    set digest = dex_private.next_digest(
      dex_private.digest_before(block.number), block.has_rows, block.number, block.hash, block.time,
      block.first_trade, dex_private.first_trade_of(block.number + 1) - 1
    )
    where recorded.number = block.number;
    filled := filled + 1;
  end loop;
  return filled;
end
$$;
comment on function dex_private.fill_digests(integer) is 'Makes the digests of the first blocks that have none, at most so many. Returns how many.';

-- Each digest is compared with that of the block before, as recorded: so a block is named whose facts differ, and none after it.
create view dex_private.misdigested_block as
select
  block.number,
  block.number_before,
  block.digest,
  block.right_digest
from (
  select
    recorded.number,
    recorded.number_before,
    recorded.digest,
    dex_private.next_digest(
      recorded.digest_before, recorded.has_rows, recorded.number, recorded.hash, recorded.time,
      recorded.first_trade, recorded.next_trade - 1
    ) as right_digest
  from (
    select
      blocks.*,
      lead(blocks.first_trade, 1, 9223372036854775807) over in_order as next_trade,
      lag(blocks.number) over in_order as number_before,
      lag(blocks.digest, 1, dex_private.first_digest()) over in_order as digest_before
    from public.dex_block as blocks
    window in_order as (order by blocks.number)
  ) as recorded
) as block
where block.digest is distinct from block.right_digest;
comment on view dex_private.misdigested_block is 'Blocks whose digest is not that of their facts after the digest of the block before.';
