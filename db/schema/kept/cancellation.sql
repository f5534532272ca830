-- The offers that each block cancelled.

create table dex_private.cancellation (
  offer_id integer
    constraint cancellation_pkey primary key,
  block integer not null
);

-- Serves take_back.
create index cancellation_block_idx on dex_private.cancellation (block);

comment on table dex_private.cancellation is 'The cancellations of each block, including those of offers that are not recorded; take_back undoes them.';
grant select on dex_private.cancellation to dex_reader, dex_writer;
