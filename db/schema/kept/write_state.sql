-- How far the history is written. Its one row is the turn of those who write.

create table dex_private.write_state (
  one_row boolean not null default true
    constraint write_state_one_row_check check (one_row)
    constraint write_state_pkey primary key,
  head integer,
  last_trade bigint not null default 0,
  epoch bigint not null default 0
);
insert into dex_private.write_state default values;
comment on table dex_private.write_state is 'How far the history is written. Who writes locks its row first, and changes it: writers wait for one another, and one that goes on seeing what was before another wrote is refused.';
comment on column dex_private.write_state.head is 'The last block. Null where none is written.';
comment on column dex_private.write_state.last_trade is 'The highest id that was ever given to a trade. A trade that is taken back leaves its id unused.';
comment on column dex_private.write_state.epoch is 'Grows when trades that stand are labelled anew. Else a trade stays as it is as long as it stands.';
grant select on dex_private.write_state to dex_reader, dex_writer;
