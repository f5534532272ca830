-- Makes the digests of blocks that came without the functions of ingest.

create function ingest.fill_digests(most integer default 1000) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ingest.take_turn();
  -- A writer with an older snapshot, in which the head has no digest, is refused. What is recorded of the head stays: its figures
  -- may be of an older block.
  update dex_private.write_state
  set epoch = epoch;
  return dex_private.fill_digests(fill_digests.most);
end
$$;
comment on function ingest.fill_digests(integer) is 'Makes the digests of the first blocks that have none, at most so many, and returns how many. A block that is written after one without a digest has none either, so call it until it returns 0.';
grant execute on function ingest.fill_digests(integer) to dex_writer;
