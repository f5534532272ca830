-- The state of the history, in one row. Writers lock the row to take turns.

create table dex_private.write_state (
  one_row boolean not null default true
    constraint write_state_one_row_check check (one_row)
    constraint write_state_pkey primary key,
  head integer,
  last_trade bigint not null default 0,
  epoch bigint not null default 0
);
insert into dex_private.write_state default values;
comment on table dex_private.write_state is 'The state of the history. Every writer locks its row first and then updates it, so writers wait for each other, and a writer with an older snapshot fails.';
comment on column dex_private.write_state.head is 'The last block. Null if no block was written.';
comment on column dex_private.write_state.last_trade is 'The highest trade id ever used. The id of a trade that was taken back is not used again.';
comment on column dex_private.write_state.epoch is 'Increases when recorded trades or offers get new labels, or a market another name. Otherwise a recorded trade never changes.';
grant select on dex_private.write_state to dex_reader, dex_writer;
