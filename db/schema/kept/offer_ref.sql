-- The ids of the orders of every contract but the first book, whose ids may be the same.

create table dex_private.offer_ref (
  -- In one letter case, so that an order has one id.
  venue text not null
    constraint offer_ref_venue_check check (venue = lower(venue)),
  ref text not null
    constraint offer_ref_ref_check check (length(ref) between 1 and 100),
  offer_id integer not null
    constraint offer_ref_offer_id_key unique
    constraint offer_ref_offer_id_check check (offer_id >= 1073741824),
  block integer not null,
  constraint offer_ref_pkey primary key (venue, ref)
);

-- Serves the last order with an id that a contract gives again, by what is before the ":" of its ref.
create index offer_ref_venue_own_idx on dex_private.offer_ref (venue, split_part(ref, ':', 1), offer_id);
-- Serves take_back.
create index offer_ref_block_idx on dex_private.offer_ref (block);

comment on table dex_private.offer_ref is 'The orders of contracts beside the first book, including those that are not recorded: the contract''s own id, and the id of its rows.';
comment on column dex_private.offer_ref.venue is 'Address of the contract, in lower case.';
comment on column dex_private.offer_ref.ref is 'The id that the contract gave the order. Where it gave the id of an earlier order again, a ":" and the block and log are behind it.';
comment on column dex_private.offer_ref.offer_id is 'The id of the order''s rows: from 2^30 on in the order of appearance, so that the same blocks give the same ids.';
comment on column dex_private.offer_ref.block is 'Height of the block that has the first row of the order.';
grant select on dex_private.offer_ref to dex_reader, dex_writer;
