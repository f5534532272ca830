-- The state of the history, in one row. Writers lock the row to take turns.

create table dex_private.write_state (
  one_row boolean not null default true
    constraint write_state_one_row_check check (one_row)
    constraint write_state_pkey primary key,
  head integer,
  head_hash text,
  last_trade bigint not null default 0,
  epoch bigint not null default 0,
  final_to integer
);
insert into dex_private.write_state default values;
-- The planner expects thousands of rows in a table that was never analyzed.
analyze dex_private.write_state;
comment on table dex_private.write_state is 'The state of the history. Every writer locks its row first and then updates it, so writers wait for each other, and a writer with an older snapshot fails.';
comment on column dex_private.write_state.head is 'The last block. Null if no block was written.';
comment on column dex_private.write_state.head_hash is 'Its hash. Null if the source has none.';
comment on column dex_private.write_state.last_trade is 'The highest trade id ever used. The id of a trade that was taken back is not used again.';
comment on column dex_private.write_state.epoch is 'Increases when recorded trades or offers get new labels, or a market another name or other prices of pools. Otherwise a recorded trade never changes.';
comment on column dex_private.write_state.final_to is 'The block up to which files or another service said that nothing is taken back, where no indexer is recorded: -1 for none. Null if neither said so.';
grant select on dex_private.write_state to dex_reader, dex_writer;

create function dex_private.refuse_outdated(figures_of integer, head integer) returns boolean
language plpgsql stable
as $$
begin
  raise exception 'The figures are not of the head: % and the last block is %',
      case
        when figures_of is null then 'they are of no block'
        when figures_of = head then format('they are of another block %s', head)
        else format('they are of block %s', figures_of)
      end,
      coalesce(head::text, 'none')
    using
      errcode = 'DX001',
      hint = 'Blocks were written without the functions of ingest, for example by logical replication. As dex_owner: select ingest.rebuild().';
end
$$;
comment on function dex_private.refuse_outdated(integer, integer) is 'Raises an error that says of which block the derived data are.';
grant execute on function dex_private.refuse_outdated(integer, integer) to dex_reader, dex_writer;
