-- Refuses what cannot be written, and says why a block cannot be the next.

create function ingest.refuse(problem text, code text default 'invalid_parameter_value') returns void
language plpgsql immutable
as $$
begin
  if problem is not null then
    raise exception '%', problem
      using errcode = code;
  end if;
end
$$;
comment on function ingest.refuse(text, text) is 'Raises an error with this message; does nothing if it is null.';

create function ingest.block_problem(
  number integer,
  at timestamptz,
  hash text,
  parent text,
  number_before integer,
  time_before timestamptz,
  hash_before text
) returns text
language sql stable
as $$
  select case
    -- The number behind it must be one too.
    when number is null or number not between 0 and 2147483646 then
      format('number is %s: it must be an integer from 0 to 2147483646', coalesce(number::text, 'null'))
    when at is null or at not between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00' then
      format('block %s is at %s: its time must be a timestamp of the years 1 to 9999', number, coalesce(at::text, 'null'))
    when hash !~ '^0x[0-9a-f]+$' or length(hash) <> 66 then
      format('block %s has the hash %s: it must be 0x and 64 hex digits in lower case', number, left(hash, 90))
    when parent !~ '^0x[0-9a-f]+$' or length(parent) <> 66 then
      format('block %s has the parent %s: it must be 0x and 64 hex digits in lower case', number, left(parent, 90))
    when number <= number_before then
      format('block %s is not after the head, block %s: write blocks in order, take back first what a reorganisation replaces, and load older data whole into a new database', number, number_before)
    when at < time_before then
      format('block %s is at %s, before block %s at %s', number, at, number_before, time_before)
    when hash is null and hash_before is not null then
      format('block %s has no hash, but block %s has one: a source gives the hash of every block or of none', number, number_before)
    when parent <> hash_before and number > number_before + 1 then
      format('block %s has the parent %s, but the last block before it is block %s with the hash %s: a block between them is missing', number, parent, number_before, hash_before)
    when parent <> hash_before then
      format('block %s has the parent %s, but block %s has the hash %s: take back first what a reorganisation replaces', number, parent, number_before, hash_before)
  end
$$;
comment on function ingest.block_problem(integer, timestamptz, text, text, integer, timestamptz, text) is 'Why a block cannot follow the block before it; null if it can.';

create function ingest.hash_problem(number integer, hash text, other integer) returns text
language sql immutable
as $$
  select case
    when other is not null then
      format('block %s has the hash %s, which is that of block %s: a hash is one block''s', number, hash, other)
  end
$$;
comment on function ingest.hash_problem(integer, text, integer) is 'Why a block cannot have this hash: the other block has it.';
