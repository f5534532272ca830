-- The writer lock: every write locks the row of write_state first and updates it last.

-- Must run before any other read, so that later statements see what the previous writer committed. At
-- repeatable read PostgreSQL raises a serialization failure if that writer changed the row.
create function ingest.take_turn() returns dex_private.write_state
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  state dex_private.write_state;
begin
  select *
  into strict state
  from dex_private.write_state
  for update;
  return state;
end
$$;
comment on function ingest.take_turn() is 'Waits for the previous writer, locks out others until the transaction ends, and returns the state of the history. A client that calls it first can compare its rows with the recorded ones before it writes.';
grant execute on function ingest.take_turn() to dex_writer;

create function ingest.written_to(last_trade bigint, epoch bigint) returns void
language plpgsql
as $$
begin
  update dex_private.write_state as kept
  set
    head = (select head.number from dex_private.last_block as head),
    last_trade = written_to.last_trade,
    epoch = written_to.epoch;
end
$$;
comment on function ingest.written_to(bigint, bigint) is 'Records the state of the history after its blocks are written.';

-- Updates the row even if its values stay the same, so that a writer with an older snapshot fails.
create function ingest.end_turn(epoch bigint) returns void
language sql
as $$
  update dex_private.write_state
  set epoch = end_turn.epoch
$$;
comment on function ingest.end_turn(bigint) is 'Ends a write without a block.';

create function ingest.refuse_block(number integer, at timestamptz, hash text, parent text) returns void
language plpgsql stable
as $$
declare
  head dex_private.last_block;
  problem text;
begin
  select *
  into head
  from dex_private.last_block;

  problem := case
    when number is null or number < 0 then
      format('number is %s: it must be an integer from 0', coalesce(number::text, 'null'))
    when at is null or not isfinite(at) then
      format('at is %s: it must be a finite timestamp', coalesce(at::text, 'null'))
    when hash !~ '^0x[0-9a-f]+$' or length(hash) <> 66 then
      format('hash is %s: it must be 0x and 64 hex digits in lower case', left(hash, 90))
    when parent !~ '^0x[0-9a-f]+$' or length(parent) <> 66 then
      format('parent is %s: it must be 0x and 64 hex digits in lower case', left(parent, 90))
    when number <= head.number then
      format('block %s is not after the head, block %s', number, head.number)
    when at < head.time then
      format('block %s is at %s, before block %s at %s', number, at, head.number, head.time)
    when parent <> head.hash then
      format('block %s has the parent %s, but the head, block %s, has the hash %s', number, parent, head.number, head.hash)
  end;
  if problem is not null then
    raise exception '%', problem
      using errcode = 'invalid_parameter_value',
        hint = 'Write blocks in order. After a chain reorganisation call ingest.take_back first. Load older data whole into a new database.';
  end if;
end
$$;
comment on function ingest.refuse_block(integer, timestamptz, text, text) is 'Raises an error if this cannot be the next block.';
