--! Previous: sha1:a1555c8d8faa6b5302616c780923e9b91516156b
--! Hash: sha1:3c216faf74eaa4ba2c0a85b7f003c99d92e92d46
--! Message: book-plans

-- As good as every standing offer is of a block up to the head, but the planner takes a third to be, and
-- read the whole book by its blocks. `+ 0` keeps it from the indexes on block: the prices are to lead.
create or replace view dex_private.standing_offer as
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id,
  offer.lot_amt,
  offer.bid_amt
from public.dex_offer as offer
cross join dex_private.as_of
where offer.killed = 0
  and not offer.filled
  and offer.price is not null
  and offer.block + 0 <= as_of.max_block
  and offer.time + interval '0' <= as_of.max_time;

-- Nor is the whole table to be read where it is small: a session keeps its plans while it grows.
alter function dex_book(text, text, integer)
set enable_seqscan = off;
