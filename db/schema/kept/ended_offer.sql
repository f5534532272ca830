-- The offers that are not open any more, by the blocks in which they were: the books of the past.

create table dex_private.ended_offer (
  market_id integer not null,
  node integer not null,
  made integer not null,
  offer_id integer not null,
  act text not null,
  price numeric not null,
  ended integer not null,
  -- Serves the book as of a block, from the best prices of each node on, without a look at the table.
  constraint ended_offer_pkey primary key (market_id, node, act, price, offer_id) include (made, ended)
);
comment on table dex_private.ended_offer is 'The offers of registered markets that had a price, were open after a block, and are not any more.';
comment on column dex_private.ended_offer.node is 'What block_node gives for the blocks after which the offer was open.';
comment on column dex_private.ended_offer.made is 'The block in which the offer was made: after it, it was open.';
comment on column dex_private.ended_offer.ended is 'The first block after which it was not.';
grant select on dex_private.ended_offer to dex_reader, dex_writer;

-- For each power of two from 2 on, the blocks are in cells of as many. An offer belongs to the cell in which it was made, of the
-- smallest power that is not below the number of its blocks. So of each power, the offers that were open after a block are in
-- its cell or in the one before. There they are a good part of all. A node is the middle of a cell, which no other cell has.
create function dex_private.block_node(first_block integer, last_block integer) returns integer
language plpgsql immutable parallel safe
as $$
declare
  -- All bits below the power.
  below integer := last_block - first_block;
begin
  below := below | (below >> 1);
  below := below | (below >> 2);
  below := below | (below >> 4);
  below := below | (below >> 8);
  below := below | (below >> 16);
  below := below | 1;
  return (first_block & ~below) | ((below >> 1) + 1);
end
$$;
comment on function dex_private.block_node(integer, integer) is 'The cell of blocks to which this range of blocks belongs.';
grant execute on function dex_private.block_node(integer, integer) to dex_reader, dex_writer;

create function dex_private.block_nodes(block integer) returns setof integer
language sql immutable parallel safe
rows 50
as $$
  select (((block >> (bit + 1)) - back) << (bit + 1)) | (1 << bit)
  from generate_series(0, 30) as bit
  cross join generate_series(0, 1) as back
  where block >> (bit + 1) >= back
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

-- An offer that was filled before can be cancelled later: it is in the books already.
create function dex_private.enter_past_books(offers integer[], after integer) returns void
language plpgsql
as $$
begin
  insert into dex_private.ended_offer
  select derived.*
  from (
    select distinct listed.id
    from unnest(offers) as listed (id)
  ) as given
  join dex_private.derived_ended_offer as derived on derived.offer_id = given.id
  where derived.ended > after;
end
$$;
comment on function dex_private.enter_past_books(integer[], integer) is 'Adds those of these offers that have ended after this block to the books of the past.';

create function dex_private.leave_past_books(offers integer[]) returns void
language plpgsql
as $$
begin
  delete from dex_private.ended_offer as past
  using unnest(offers) as given (id)
  join dex_private.derived_ended_offer as derived on derived.offer_id = given.id
  where past.market_id = derived.market_id
    and past.node = derived.node
    and past.act = derived.act
    and past.price = derived.price
    and past.offer_id = derived.offer_id;
end
$$;
comment on function dex_private.leave_past_books(integer[]) is 'Removes these offers from the books of the past, before what ended them is undone.';
