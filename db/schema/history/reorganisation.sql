-- Reorganisations, so that a client that follows the data learns which blocks became void while it was away.

create table dex_private.reorganisation (
  number bigint
    constraint reorganisation_pkey primary key,
  to_block integer not null
);
comment on table dex_private.reorganisation is 'The newest 10,000 reorganisations.';
comment on column dex_private.reorganisation.number is 'Increases by one.';
comment on column dex_private.reorganisation.to_block is 'The head that was left; the blocks after it were taken back. -1 if none was left.';
grant select on dex_private.reorganisation to dex_reader, dex_writer;
