-- The turn: what every write begins with and ends with.

-- Before anything else is read: the statements behind it see what the writer before has committed. At
-- repeatable read PostgreSQL refuses the row where that writer has changed it since.
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
comment on function ingest.take_turn() is 'Waits for the writer before to end. How far the history is then written. The turn lasts until the transaction ends, so that who compares rows with what is there can write what is new.';
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
comment on function ingest.written_to(bigint, bigint) is 'Says how far the history is written, its blocks being there.';

-- Changed also where nothing of it changes, so that a writer who sees an older one is refused.
create function ingest.end_turn(epoch bigint) returns void
language sql
as $$
  update dex_private.write_state
  set epoch = end_turn.epoch
$$;
comment on function ingest.end_turn(bigint) is 'Ends a turn that wrote no block.';

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
      format('number is %s: a block is an integer from 0', coalesce(number::text, 'null'))
    when at is null or not isfinite(at) then
      format('at is %s: a block has a time', coalesce(at::text, 'null'))
    when hash !~ '^0x[0-9a-f]+$' or length(hash) <> 66 then
      format('hash is %s: it must be 0x and 64 hex digits in lower case', left(hash, 90))
    when parent !~ '^0x[0-9a-f]+$' or length(parent) <> 66 then
      format('parent is %s: it must be 0x and 64 hex digits in lower case', left(parent, 90))
    when number <= head.number then
      format('block %s is not later than the head, block %s', number, head.number)
    when at < head.time then
      format('block %s is of %s, before block %s of %s', number, at, head.number, head.time)
    when parent <> head.hash then
      format('block %s follows on %s, and not on the head, block %s, %s', number, parent, head.number, head.hash)
  end;
  if problem is not null then
    raise exception '%', problem
      using errcode = 'invalid_parameter_value',
        hint = 'Blocks are written in their order. A reorganisation takes the newest back first: ingest.take_back. What is older is loaded whole into a new database.';
  end if;
end
$$;
comment on function ingest.refuse_block(integer, timestamptz, text, text) is 'Raises where this cannot be the next block.';
