-- The writer lock: every write locks the row of write_state first and updates it last.

-- Must run before any other read, so that later statements see what the previous writer committed. At
-- repeatable read PostgreSQL raises a serialization failure if that writer changed the row.
create function ingest.take_turn() returns dex_private.write_state
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  state dex_private.write_state;
  head dex_private.last_block;
begin
  select *
  into strict state
  from dex_private.write_state
  for update;
  -- A write on figures of another block would hide that they are wrong.
  select *
  into head
  from dex_private.last_block;
  if (state.head, state.head_hash) is distinct from (head.number, head.hash) then
    perform dex_private.refuse_outdated(state.head, head.number);
  end if;
  return state;
end
$$;
comment on function ingest.take_turn() is 'Waits for the previous writer, locks out others until the transaction ends, and returns the state of the history. A client that calls it first can compare its rows with the recorded ones before it writes. Raises an error if the derived data are not of the last block.';
grant execute on function ingest.take_turn() to dex_writer;

-- Updates the row even if its values stay the same, so that a writer with an older snapshot fails.
create function ingest.written_to(last_trade bigint, epoch bigint) returns void
language plpgsql
as $$
declare
  newest integer;
begin
  update dex_private.write_state as state
  set
    (head, head_hash, final_to) = (
      select
        block.number,
        block.hash,
        case
          when state.final_to > block.number then block.number
          when block.number is not null then state.final_to
        end
      from (values (true)) as one (row)
      left join dex_private.last_block as block on true
    ),
    last_trade = written_to.last_trade,
    epoch = written_to.epoch
  returning head
  into newest;

  perform ingest.drop_empty_blocks(newest);
end
$$;
comment on function ingest.written_to(bigint, bigint) is 'Records the state of the history after its blocks are written, and drops old blocks without rows.';
