-- Blocks without rows, which a quiet exchange is full of.

create function ingest.thin_out() returns void
language plpgsql
as $$
begin
  delete from public.dex_block as block
  where not block.has_rows
    and block.number < (select head.number - 1000 from dex_private.last_block as head);
end
$$;
comment on function ingest.thin_out() is 'Removes the blocks without rows that are more than 1,000 behind the head, deeper than a chain takes back.';
