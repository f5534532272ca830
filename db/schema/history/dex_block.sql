-- Blocks. Each is written whole and in order; the last one is the head.

create table dex_block (
  number integer primary key
    constraint dex_block_number_check check (number >= 0),
  hash text
    constraint dex_block_hash_check check (dex_private.is_hash(hash)),
  parent text
    constraint dex_block_parent_check check (dex_private.is_hash(parent)),
  time timestamptz not null
    constraint dex_block_time_check check (isfinite(time)),
  first_trade bigint not null,
  has_rows boolean not null,
  digest bytea
    constraint dex_block_digest_check check (octet_length(digest) = 32)
);

-- Serves time ranges: finds their blocks, and by first_trade their trades.
create index dex_block_time_number_idx on dex_block (time, number);

-- Serves ingest.written_to, which deletes blocks without rows.
create index dex_block_empty_idx on dex_block (number)
where not has_rows;

-- Serves dex_private.past_moment, by hash.
create index dex_block_hash_idx on dex_block using hash (hash);

-- Serves ingest.fill_digests.
create index dex_block_without_digest_idx on dex_block (number)
where digest is null;

comment on table dex_block is E'@behavior -query:resource:list -query:resource:connection -query:resource:single -type:node\nA block of the chain that was written. A block without rows is kept for as long as the chain may take it back.';
comment on column dex_block.number is 'Height of the block.';
comment on column dex_block.hash is 'Hash of the block. Null where the source has none.';
comment on column dex_block.parent is 'Hash of the block before it. Null where the source has none.';
comment on column dex_block.time is 'Timestamp of the block, not before that of the block before it.';
comment on column dex_block.first_trade is E'@behavior -*\nNo trade of an earlier block has this id or a higher one, and none of this block or a later one a lower.';
comment on column dex_block.has_rows is E'@behavior -*\nWhether an offer or a trade was made in it, an offer cancelled, or a pool changed.';
comment on column dex_block.digest is E'@behavior -*\nSHA-256 over the digest before it and the facts of the block; that of the block before where the block has no rows. Null where the block was written without the functions of ingest.';
grant select on dex_block to dex_reader, dex_writer;

create view dex_private.last_block as
select *
from public.dex_block as block
order by block.number desc
limit 1;
comment on view dex_private.last_block is 'The last block written; empty if no block was written.';
grant select on dex_private.last_block to dex_reader, dex_writer;

-- The planner inlines it.
create function dex_private.first_from(moment timestamptz) returns setof public.dex_block
language sql stable parallel safe
rows 1
as $$
  select *
  from public.dex_block as block
  where block.time >= moment
  order by
    block.time,
    block.number
  limit 1
$$;
comment on function dex_private.first_from(timestamptz) is 'The first block at or after this time.';
grant execute on function dex_private.first_from(timestamptz) to dex_reader, dex_writer;

-- In plpgsql, which caches query plans: these functions run for every block.
create function dex_private.first_trade_from(moment timestamptz) returns bigint
language plpgsql stable parallel safe
as $$
begin
  return coalesce((select block.first_trade from dex_private.first_from(moment) as block), 9223372036854775807);
end
$$;
comment on function dex_private.first_trade_from(timestamptz) is 'The lowest possible id of a trade at or after this time.';
grant execute on function dex_private.first_trade_from(timestamptz) to dex_reader, dex_writer;

create function dex_private.first_trade_of(height integer) returns bigint
language plpgsql stable parallel safe
as $$
begin
  return coalesce(
    (select block.first_trade from public.dex_block as block where block.number >= height order by block.number limit 1),
    9223372036854775807
  );
end
$$;
comment on function dex_private.first_trade_of(integer) is 'The lowest possible id of a trade in this block or a later one.';
grant execute on function dex_private.first_trade_of(integer) to dex_reader, dex_writer;

create function dex_private.first_block_from(moment timestamptz) returns integer
language plpgsql stable parallel safe
as $$
begin
  return coalesce((select block.number from dex_private.first_from(moment) as block), 2147483647);
end
$$;
comment on function dex_private.first_block_from(timestamptz) is 'The lowest block at or after this time.';
grant execute on function dex_private.first_block_from(timestamptz) to dex_reader, dex_writer;
