// Finds rows of the history that no writer could have written, and wrong digests: the rules of ingest, each as a separate
// query that shares no function with it, the digests apart.
import type { Client } from "../connect.ts";
import type { Differences } from "./differences.ts";
import { verifySpellings } from "./spellings.ts";

/** Each query returns the key of a wrong row, the row as JSON, and what it should be, in words. */
const RULES: readonly string[] = [
  // Blocks are in the order of number, time and first trade.
  `select 'dex_block ' || block.number as row, to_json(block)::text as kept,
    'not before block ' || block.number_before || ', at ' || block.time_before || ' with first_trade ' || block.first_before as right
  from (
    select
      blocks.*,
      lag(blocks.number) over in_order as number_before,
      lag(blocks.time) over in_order as time_before,
      lag(blocks.first_trade) over in_order as first_before
    from dex_block as blocks
    window in_order as (order by blocks.number)
  ) as block
  where block.time < block.time_before
    or block.first_trade < block.first_before
  order by block.number`,
  // A hash is one block's, and another number can follow each.
  `select 'dex_block ' || block.number as row, to_json(block)::text as kept,
    case when block.number_before is null then 'below 2147483647' else 'without the hash of block ' || block.number_before end as right
  from (
    select
      blocks.*,
      lag(blocks.number) over (partition by blocks.hash order by blocks.number) as number_before
    from dex_block as blocks
    where blocks.hash is not null
      or blocks.number = 2147483647
  ) as block
  where block.number = 2147483647
    or block.number_before is not null
  order by block.number`,
  // The ids of trades are in the order of block and idx, and of no other block's range.
  `select 'dex_trade ' || trade.id as row,
    json_build_object('id', trade.id, 'block', trade.block, 'idx', trade.idx)::text as kept,
    'after trade ' || trade.id_before || ' of block ' || trade.block_before || ', idx ' || trade.idx_before as right
  from (
    select
      trades.id,
      trades.block,
      trades.idx,
      lag(trades.id) over in_order as id_before,
      lag(trades.block) over in_order as block_before,
      lag(trades.idx) over in_order as idx_before
    from dex_trade as trades
    window in_order as (order by trades.id)
  ) as trade
  where (trade.block, trade.idx) <= (trade.block_before, trade.idx_before)
  order by trade.id`,
  `select 'dex_trade ' || trade.id as row,
    json_build_object('id', trade.id, 'block', trade.block)::text as kept,
    'from ' || trade.first_trade || coalesce(' to ' || trade.next_trade - 1, ' on') || ', the ids of its block' as right
  from (
    select
      trades.id,
      trades.block,
      block.first_trade,
      block.next_trade
    from dex_trade as trades
    join (
      select
        blocks.number,
        blocks.first_trade,
        lead(blocks.first_trade) over (order by blocks.number) as next_trade
      from dex_block as blocks
    ) as block on block.number = trades.block
  ) as trade
  where trade.id < trade.first_trade
    or trade.id >= trade.next_trade
  order by trade.id`,
  // No row is outside a block, or at another time. So none is later than the head, the last block.
  ...[
    ["dex_trade", "id", "block", "time"],
    ["dex_offer", "id", "block", "time"],
    ["dex_private.cancellation", "offer_id", "block", "null::timestamptz"],
    ["dex_pool_state", "venue", "block", "null::timestamptz"],
  ].map(
    ([table, key, block, time]) => `
  select '${table} ' || placed.key as row,
    json_build_object('block', placed.block, 'time', placed.time)::text as kept,
    coalesce('at ' || block.time || ', the time of its block', 'of a block, which block ' || placed.block || ' is not') as right
  from (select ${key} as key, ${block} as block, ${time} as time from ${table}) as placed
  left join dex_block as block on block.number = placed.block
  where block.number is null
    or block.time <> placed.time
  order by placed.key`,
  ),
  // A pool has states, the first one of its block, and a state has a pool.
  `select 'dex_pool ' || coalesce(pool.venue, state.venue) as row, to_json(pool)::text as kept,
    coalesce('of block ' || state.block || ', the first with a state of it', 'without it, as there is no state of it') as right
  from dex_pool as pool
  full join (select venue, min(block) as block from dex_pool_state group by venue) as state using (venue)
  where pool.block is distinct from state.block
  order by 1`,
  // The liquidity that a pool has last is what all its ticks up to the present one have.
  `select 'dex_pool_state ' || state.venue as row, json_build_object('block', state.block, 'tick', state.tick, 'liquidity', state.liquidity)::text as kept,
    'with the liquidity ' || counted.liquidity || ' by the ticks of the pool' as right
  from (
    select distinct on (venue) *
    from dex_pool_state
    order by venue, block desc
  ) as state
  cross join lateral (
    select coalesce(sum(newest.net), 0) as liquidity
    from (
      select distinct on (split_part(given.pair, ':', 1)) split_part(given.pair, ':', 2)::numeric as net
      from dex_pool_state as past
      cross join lateral string_to_table(nullif(past.nets, ''), ' ') as given (pair)
      where past.venue = state.venue
        and split_part(given.pair, ':', 1)::integer <= state.tick
      order by split_part(given.pair, ':', 1), past.block desc
    ) as newest
  ) as counted
  where state.liquidity <> counted.liquidity
  order by state.venue`,
  `select 'dex_private.write_state' as row, to_json(state)::text as kept,
    'of head ' || coalesce(head.number::text, 'null') || ' and last_trade from ' || coalesce(trade.id, 0) || ' on' as right
  from dex_private.write_state as state
  cross join (select max(number) as number from dex_block) as head
  cross join (select max(id) as id from dex_trade) as trade
  where state.head is distinct from head.number
    or state.last_trade < trade.id`,
  // What a market was up to a block, is of a market and of a block up to the head.
  `select 'dex_private.active_until ' || until.market_id || ' ' || until.block as row, to_json(until)::text as kept,
    case when pair.id is null then 'of a market, which ' || until.market_id || ' is not' else 'up to a block of 0 to ' || coalesce(head.number::text, 'none') end as right
  from dex_private.active_until as until
  cross join (select max(number) as number from dex_block) as head
  left join dex_pair as pair on pair.id = until.market_id
  where pair.id is null
    or until.block < 0
    or until.block > coalesce(head.number, -1)
  order by until.market_id, until.block`,
  // A source that gives a hash gives the hash of every later block.
  `select 'dex_block ' || block.number as row, to_json(block)::text as kept,
    'with a hash, as block ' || block.number_before || ' before it has one' as right
  from (
    select
      blocks.number,
      blocks.hash,
      lag(blocks.number) over in_order as number_before,
      lag(blocks.hash) over in_order as hash_before
    from dex_block as blocks
    window in_order as (order by blocks.number)
  ) as block
  where block.hash is null
    and block.hash_before is not null
  order by block.number`,
  `select 'dex_block ' || block.number as row, to_json(block)::text as kept,
    'with the parent ' || block.hash_before || ', the hash of block ' || block.number - 1 as right
  from (
    select
      blocks.number,
      blocks.parent,
      lag(blocks.number) over in_order as number_before,
      lag(blocks.hash) over in_order as hash_before
    from dex_block as blocks
    window in_order as (order by blocks.number)
  ) as block
  where block.number = block.number_before + 1
    and block.parent <> block.hash_before
  order by block.number`,
  // An offer and its trades agree, and a cancelled offer has no later trade.
  `select 'dex_trade ' || trade.id as row,
    json_build_object('maker', trade.maker, 'lot_gem', trade.lot_gem, 'bid_gem', trade.bid_gem, 'venue', trade.venue)::text as kept,
    json_build_object('maker', offer.maker, 'lot_gem', offer.lot_gem, 'bid_gem', offer.bid_gem, 'venue', offer.venue)::text as right
  from dex_trade as trade
  join dex_offer as offer on offer.id = trade.offer_id
  where lower(trade.maker) <> lower(offer.maker)
    or lower(trade.lot_gem) <> lower(offer.lot_gem)
    or lower(trade.bid_gem) <> lower(offer.bid_gem)
    or lower(trade.venue) <> lower(offer.venue)
  order by trade.id`,
  `select 'dex_trade ' || trade.id as row,
    json_build_object('offer_id', trade.offer_id, 'block', trade.block)::text as kept,
    'of a block up to ' || cancelled.block || ', which cancelled the offer' as right
  from dex_trade as trade
  join dex_private.cancellation as cancelled on cancelled.offer_id = trade.offer_id
  where cancelled.block < trade.block
  order by trade.id`,
  // An order has one id, in whatever letter case its contract was given.
  `select 'dex_private.offer_ref ' || known.offer_id as row, to_json(known)::text as kept,
    'without the order of offer ' || known.first_id as right
  from (
    select
      refs.*,
      min(refs.offer_id) over (partition by lower(refs.venue), refs.ref) as first_id
    from dex_private.offer_ref as refs
  ) as known
  where known.offer_id > known.first_id
  order by known.offer_id`,
];

/** The blocks whose facts are not those that their digests were made of. */
const DIGESTS = `
  select
    'dex_block ' || block.number as row,
    coalesce('of the digest 0x' || encode(block.digest, 'hex'), 'without a digest') as kept,
    case
      when block.right_digest is null then 'without a digest, as block ' || block.number_before || ' before it has none'
      else 'of the digest 0x' || encode(block.right_digest, 'hex')
        || ', which its facts have after that of ' || coalesce('block ' || block.number_before, '32 zero bytes')
    end as right
  from dex_private.misdigested_block as block
  order by block.number`;

/** Finds the rows that contradict a rule. `ingest.rebuild()` mends none of trades, offers and digests. */
export async function verifyHistory(client: Client, found: Differences): Promise<void> {
  for (const text of RULES) await found.add(client, { text });
  await verifySpellings(client, found);
  await found.add(client, { text: DIGESTS });
}
