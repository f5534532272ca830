-- A recorded block with its digest, and what decides digests beside the facts.

create function dex_block_digest(block dex_block) returns text
language sql stable parallel safe
as $$
  select '0x' || encode(block.digest, 'hex')
$$;
comment on function dex_block_digest(dex_block) is 'Digest of all facts up to the block: databases with the same one have the same facts. Null where the block was written by other means than the functions that write.';
grant execute on function dex_block_digest(dex_block) to dex_reader, dex_writer;

create function dex_block_at(number integer default null) returns dex_block
language plpgsql stable parallel safe
set jit = off
as $$
#variable_conflict use_column
declare
  last constant integer := (select as_of.block from dex_private.as_of);
  block public.dex_block;
begin
  select *
  into block
  from public.dex_block as recorded
  where recorded.number <= coalesce(dex_block_at.number, last)
    and coalesce(dex_block_at.number, last) <= last
  order by recorded.number desc
  limit 1;
  if block.number is null and dex_block_at.number is not null then
    perform dex_private.refuse_block(dex_block_at.number::text, last);
  end if;
  return block;
end
$$;
comment on function dex_block_at(integer) is E'@name dexBlock\n@argument number From the first block to the head. The head if not given.\nThe last recorded block at or below a number: blocks without rows are not kept. An error where there is no such block.';
grant execute on function dex_block_at(integer) to dex_reader, dex_writer;

-- A second database is compared by these first: where one differs, digests differ though both are right.
create view dex_digest_basis as
select
  1 as version,
  first.number as first_block,
  first.hash is not null as hashed,
  source.chain_id,
  source.exchange,
  source.kind,
  source.taker
from (
  select *
  from public.dex_block as block
  where block.has_rows
  order by block.number
  limit 1
) as first
left join dex_private.index_source as source on true;
comment on view dex_digest_basis is E'@behavior -query:resource:list -query:resource:connection -query:resource:single\nWhat decides digests beside the facts of the blocks: two databases are compared by this first.';
comment on column dex_digest_basis.version is E'@notNull\nVersion of the canonical form.';
comment on column dex_digest_basis.first_block is E'@notNull\nHeight of the first block with rows, with which the digests begin.';
comment on column dex_digest_basis.hashed is E'@notNull\nWhether that block has a hash.';
comment on column dex_digest_basis.chain_id is 'The id of the chain. Null where no indexer wrote, like what follows.';
comment on column dex_digest_basis.exchange is 'Addresses of the contracts, in lower case.';
comment on column dex_digest_basis.kind is 'The kinds of exchanges, by which their events are read.';
comment on column dex_digest_basis.taker is 'Whose trade it is: the taker of the `event`, or the `sender` of its transaction.';
grant select on dex_digest_basis to dex_reader, dex_writer;

create function dex_current_digest_basis() returns dex_digest_basis
language sql stable parallel safe
as $$
  select *
  from public.dex_digest_basis
$$;
comment on function dex_current_digest_basis() is E'@name dexDigestBasis\nWhat decides digests beside the facts of the blocks. Null where no block with rows was ever written.';
grant execute on function dex_current_digest_basis() to dex_reader, dex_writer;
