-- Staging tables of write_blocks. Unlogged: a crash empties them.

-- Each row carries the transaction that staged it. No writer can set these two columns: the views own_… show a
-- transaction its rows alone, whatever another one commits beside it. Not xmin, which a savepoint changes.

create unlogged table ingest.staged_block (
  number integer not null,
  time timestamptz not null,
  hash text,
  parent text,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_block is 'Blocks to write. Needed only to give a hash, or the time of a block without offers and trades.';

create unlogged table ingest.staged_offer (
  line integer not null,
  id integer not null,
  pair text not null,
  maker text not null,
  lot_gem text not null,
  lot_amt numeric not null,
  bid_gem text not null,
  bid_amt numeric not null,
  killed integer not null default 0,
  filled boolean not null default false,
  block integer not null,
  time timestamptz not null,
  tx text not null,
  venue text,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_offer is 'Offers to write, with the columns of offers.csv. `line` gives the order of the offers of one block.';

create unlogged table ingest.staged_cancellation (
  block integer not null,
  offer_id integer not null,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_cancellation is 'Cancellations to write, also of offers in staged_offer that have no `killed`.';

create unlogged table ingest.staged_trade (
  line integer not null,
  id bigint,
  offer_id integer,
  pair text not null,
  maker text not null,
  taker text not null,
  lot_gem text not null,
  lot_amt numeric not null,
  bid_gem text not null,
  bid_amt numeric not null,
  block integer not null,
  time timestamptz not null,
  tx text not null,
  venue text,
  idx integer,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_trade is 'Trades to write, with the columns of trades.csv. All have an id or none has, and likewise an idx.';

create unlogged table ingest.staged_pool (
  venue text not null,
  gem0 text not null,
  reserve0 numeric,
  gem1 text not null,
  reserve1 numeric,
  fee integer not null,
  tick_spacing integer,
  sqrt_price numeric,
  tick integer,
  liquidity numeric,
  nets text,
  block integer not null,
  time timestamptz not null,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_pool is 'What pools have after blocks, to write: once for each block that changed a pool.';

create view ingest.own_block as
select *
from ingest.staged_block as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_block is 'The blocks that the present transaction staged.';

create view ingest.own_offer as
select *
from ingest.staged_offer as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_offer is 'The offers that the present transaction staged.';

create view ingest.own_cancellation as
select *
from ingest.staged_cancellation as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_cancellation is 'The cancellations that the present transaction staged.';

create view ingest.own_trade as
select *
from ingest.staged_trade as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_trade is 'The trades that the present transaction staged.';

create view ingest.own_pool as
select *
from ingest.staged_pool as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_pool is 'What pools have, as the present transaction staged it.';

grant select, delete on
  ingest.staged_block,
  ingest.staged_offer,
  ingest.staged_cancellation,
  ingest.staged_trade,
  ingest.staged_pool
to dex_writer;
grant insert (number, time, hash, parent) on ingest.staged_block to dex_writer;
grant insert (line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, killed, filled, block, time, tx, venue) on ingest.staged_offer to dex_writer;
grant insert (block, offer_id) on ingest.staged_cancellation to dex_writer;
grant insert (line, id, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx, venue) on ingest.staged_trade to dex_writer;
grant insert (venue, gem0, reserve0, gem1, reserve1, fee, tick_spacing, sqrt_price, tick, liquidity, nets, block, time) on ingest.staged_pool to dex_writer;
grant select, delete on
  ingest.own_block,
  ingest.own_offer,
  ingest.own_cancellation,
  ingest.own_trade,
  ingest.own_pool
to dex_writer;
grant update (number, time, hash, parent) on ingest.own_block to dex_writer;
grant update (line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, killed, filled, block, time, tx, venue) on ingest.own_offer to dex_writer;
grant update (block, offer_id) on ingest.own_cancellation to dex_writer;
grant update (line, id, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx, venue) on ingest.own_trade to dex_writer;
grant update (venue, gem0, reserve0, gem1, reserve1, fee, tick_spacing, sqrt_price, tick, liquidity, nets, block, time) on ingest.own_pool to dex_writer;

create view ingest.staged_end as
select
  staged.offer_id,
  staged.block
from ingest.own_cancellation as staged
union all
select
  staged.id,
  staged.killed
from ingest.own_offer as staged
where staged.killed > 0;
comment on view ingest.staged_end is 'The staged cancellations of all offers, staged or not, of the present transaction.';

-- A block with only cancellations has no row with a time: it gets the time of the block before it.
create view ingest.staged_head as
select
  listed.number,
  coalesce(listed.time, max(listed.time) over earlier, head.time, min(listed.time) over ()) as time,
  listed.latest,
  listed.hash,
  listed.other_hash,
  listed.parent,
  listed.other_parent,
  listed.has_rows,
  lag(listed.number, 1, head.number) over in_order as number_before,
  coalesce(max(listed.latest) over earlier, head.time) as time_before,
  lag(listed.hash, 1, head.hash) over in_order as hash_before
from (
  select
    moment.number,
    min(moment.time) as time,
    max(moment.time) as latest,
    max(moment.hash) as hash,
    min(moment.hash) as other_hash,
    max(moment.parent) as parent,
    min(moment.parent) as other_parent,
    bool_or(moment.is_row) as has_rows
  from (
    select staged.number, staged.time, staged.hash, staged.parent, false as is_row
    from ingest.own_block as staged
    union all
    select staged.block, staged.time, null as hash, null as parent, true
    from ingest.own_offer as staged
    union all
    select staged.block, staged.time, null as hash, null as parent, true
    from ingest.own_trade as staged
    union all
    select staged.block, staged.time, null as hash, null as parent, true
    from ingest.own_pool as staged
    union all
    select ended.block, null as time, null as hash, null as parent, true
    from ingest.staged_end as ended
  ) as moment
  group by moment.number
) as listed
left join dex_private.last_block as head on true
window
  in_order as (order by listed.number),
  earlier as (in_order rows between unbounded preceding and 1 preceding);
comment on view ingest.staged_head is 'The blocks of the rows that the present transaction staged, each with what its rows say of it and with the block before it.';
