-- The offers that are not open any more, by the blocks in which they were: the books of the past.

create table dex_private.ended_offer (
  market_id integer not null,
  node integer not null,
  made integer not null,
  offer_id integer not null,
  act text not null,
  price numeric not null,
  ended integer not null,
  -- Serves the book as of a block, without a look at the table.
  constraint ended_offer_pkey primary key (market_id, node, made, offer_id) include (act, price, ended)
);
comment on table dex_private.ended_offer is 'The offers of registered markets that had a price, were open after a block, and are not any more.';
comment on column dex_private.ended_offer.node is 'What block_node gives for the blocks after which the offer was open.';
comment on column dex_private.ended_offer.made is 'The block in which the offer was made: after it, it was open.';
comment on column dex_private.ended_offer.ended is 'The first block after which it was not.';
grant select on dex_private.ended_offer to dex_reader, dex_writer;

-- Numbers are the nodes of a binary tree: odd ones its leaves, and above each pair the even number between them. Every
-- range has one node that is in it and above all others of it. So the ranges that a block is in have a node on the
-- way from the block up, which are 31 of any number of them.
create function dex_private.block_node(first_block integer, last_block integer) returns integer
language plpgsql immutable parallel safe
as $$
declare
  -- All bits from the highest one that differs.
  below integer := first_block # last_block;
begin
  below := below | (below >> 1);
  below := below | (below >> 2);
  below := below | (below >> 4);
  below := below | (below >> 8);
  below := below | (below >> 16);
  -- 0 is no node: the range of block 0 alone is at 1, the first one on its way up.
  return greatest(1, last_block & (~(below >> 1)));
end
$$;
comment on function dex_private.block_node(integer, integer) is 'The number in this range of blocks that the highest power of two divides; 1 for block 0 alone.';
grant execute on function dex_private.block_node(integer, integer) to dex_reader, dex_writer;

create function dex_private.block_nodes(block integer) returns setof integer
language sql immutable parallel safe
rows 31
as $$
  select ((block >> (bit + 1)) << (bit + 1)) | (1 << bit)
  from generate_series(0, 30) as bit
$$;
comment on function dex_private.block_nodes(integer) is 'What block_node can give for a range with this block in it.';
grant execute on function dex_private.block_nodes(integer) to dex_reader, dex_writer;

create view dex_private.derived_ended_offer as
select
  offer.market_id,
  dex_private.block_node(offer.block, offer.ended - 1) as node,
  offer.block as made,
  offer.id as offer_id,
  offer.act,
  offer.price,
  offer.ended
from public.dex_offer as offer
where offer.market_id is not null
  and offer.price is not null
  and offer.ended > offer.block;
comment on view dex_private.derived_ended_offer is 'The correct rows of ended_offer.';

create function dex_private.enter_past_books(offers integer[]) returns void
language plpgsql
as $$
begin
  insert into dex_private.ended_offer
  select derived.*
  from unnest(offers) as given (id)
  join dex_private.derived_ended_offer as derived on derived.offer_id = given.id
  on conflict do nothing;
end
$$;
comment on function dex_private.enter_past_books(integer[]) is 'Adds those of these offers that have ended to the books of the past.';

create function dex_private.leave_past_books(offers integer[]) returns void
language plpgsql
as $$
begin
  delete from dex_private.ended_offer as past
  using unnest(offers) as given (id)
  join dex_private.derived_ended_offer as derived on derived.offer_id = given.id
  where past.market_id = derived.market_id
    and past.node = derived.node
    and past.made = derived.made
    and past.offer_id = derived.offer_id;
end
$$;
comment on function dex_private.leave_past_books(integer[]) is 'Removes these offers from the books of the past, before what ended them is undone.';
