-- Deletes old blocks without rows; on a quiet exchange most blocks are empty.

create function ingest.thin_out() returns void
language plpgsql
as $$
begin
  delete from public.dex_block as block
  where not block.has_rows
    and block.number < (select head.number - 1000 from dex_private.last_block as head);
end
$$;
comment on function ingest.thin_out() is 'Deletes the blocks without rows that are more than 1,000 blocks behind the head, deeper than any reorganisation.';
