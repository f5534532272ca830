-- Drops old blocks without rows: on a quiet exchange most blocks have none.

-- A reorganisation is never as deep as 1,000 blocks.
create function ingest.drop_empty_blocks(newest integer) returns void
language plpgsql
as $$
begin
  delete from public.dex_block as block
  where not block.has_rows
    and block.number < newest - 1000;
end
$$;
comment on function ingest.drop_empty_blocks(integer) is 'Deletes the blocks without rows that are more than 1,000 blocks behind this one.';
