-- Staging tables of write_blocks, which empties them. Unlogged: a crash empties them too.

create unlogged table ingest.staged_block (
  number integer not null,
  time timestamptz not null,
  hash text,
  parent text
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
  tx text not null
);
comment on table ingest.staged_offer is 'Offers to write, with the columns of offers.csv. `line` gives the order of the offers of one block.';

create unlogged table ingest.staged_cancellation (
  block integer not null,
  offer_id integer not null
);
comment on table ingest.staged_cancellation is 'Cancellations to write, of offers that are not in staged_offer.';

create unlogged table ingest.staged_trade (
  line integer not null,
  id bigint,
  offer_id integer not null,
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
  idx integer
);
comment on table ingest.staged_trade is 'Trades to write, with the columns of trades.csv. All have an id or none has, and likewise an idx.';

grant select, insert, update, delete on
  ingest.staged_block,
  ingest.staged_offer,
  ingest.staged_cancellation,
  ingest.staged_trade
to dex_writer;

create view ingest.staged_moment as
select
  staged.number,
  staged.time,
  staged.hash,
  staged.parent,
  false as is_row
from ingest.staged_block as staged
union all
select
  staged.block,
  staged.time,
  null,
  null,
  true
from ingest.staged_offer as staged
union all
select
  staged.block,
  staged.time,
  null,
  null,
  true
from ingest.staged_trade as staged
union all
select
  staged.killed,
  null,
  null,
  null,
  true
from ingest.staged_offer as staged
where staged.killed > 0
union all
select
  staged.block,
  null,
  null,
  null,
  true
from ingest.staged_cancellation as staged;
comment on view ingest.staged_moment is 'The block number of each staged row, with the time and hashes that the row gives; a cancellation gives no time.';
