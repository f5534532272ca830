-- What the history is filled from, and how far an indexer has checked it. In one row, or none where that is not known.

create table dex_private.index_source (
  one_row boolean not null default true
    constraint index_source_one_row_check check (one_row)
    constraint index_source_pkey primary key,
  chain_id bigint not null,
  exchange text not null,
  kind text not null,
  first_block integer not null,
  taker text not null,
  ranged_to integer not null,
  audited_to integer not null,
  lacks_contracts boolean not null default false
);
comment on table dex_private.index_source is 'What the history is filled from: an indexer with other settings is refused.';
comment on column dex_private.index_source.chain_id is 'The id of the chain.';
comment on column dex_private.index_source.exchange is 'Address of the contract, in lower case.';
comment on column dex_private.index_source.kind is 'The kind of exchange, by which its events are read.';
comment on column dex_private.index_source.first_block is 'The block that the history begins with; of a mirror, the first one with rows.';
comment on column dex_private.index_source.taker is 'Whose trade it is: the taker of the event, or the sender of its transaction.';
comment on column dex_private.index_source.ranged_to is 'Every block up to this one was read as final, in a range; -1 of a mirror, whose final blocks are in write_state.';
comment on column dex_private.index_source.audited_to is 'The final block up to which the offers agreed with the state of the contract: nothing up to it is taken back by the indexer.';
comment on column dex_private.index_source.lacks_contracts is 'Whether others than an indexer have written blocks: index_contract does not have what factories made in them.';
grant select on dex_private.index_source to dex_writer;
grant select (ranged_to, audited_to) on dex_private.index_source to dex_reader;

-- Tokens and markets of another contract would stay: they cannot be taken back. First blocks (@) and fees (/) change none.
create function ingest.refuse_other_source(known dex_private.index_source, given dex_private.index_source, head integer) returns void
language plpgsql
as $$
declare
  changeable constant text := '@[0-9]+|/[0-9.]+%';
begin
  perform ingest.refuse(case
    when known.one_row
      and (known.chain_id, known.exchange, known.kind, known.first_block, known.taker)
        <> (given.chain_id, given.exchange, given.kind, given.first_block, given.taker)
      and (
        head is not null
        or (known.chain_id, regexp_replace(known.exchange, changeable, '', 'g'), known.kind)
          <> (given.chain_id, regexp_replace(given.exchange, changeable, '', 'g'), given.kind)
          and exists (select from public.dex_token)
      )
    then
      format(
        'the database was filled from %s',
        (
          select string_agg(format('%s %s, not %s', setting.name, setting.recorded, setting.asked), '; ' order by setting.line)
          from (
            values
              (1, 'chain', known.chain_id::text, given.chain_id::text),
              (2, 'contract', known.exchange, given.exchange),
              (3, 'kind', known.kind, given.kind),
              (4, 'first block', known.first_block::text, given.first_block::text),
              (5, 'taker', known.taker, given.taker)
          ) as setting (line, name, recorded, asked)
          where setting.recorded <> setting.asked
        )
      )
  end);
end
$$;
comment on function ingest.refuse_other_source(dex_private.index_source, dex_private.index_source, integer) is 'Raises an error that names what is otherwise, where blocks of the known source are written up to `head`. Where none is, tokens of another chain, contract or kind are refused.';

create function ingest.set_source(given dex_private.index_source) returns void
language plpgsql
as $$
begin
  delete from dex_private.index_source;
  insert into dex_private.index_source
  values (given.*);
  delete from dex_private.index_contract;
end
$$;
comment on function ingest.set_source(dex_private.index_source) is 'Records what the history is filled from, and forgets the contracts of what was recorded before.';

create function ingest.begin_index(
  chain_id bigint,
  exchange text,
  kind text,
  first_block integer,
  taker text
) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  known dex_private.index_source;
  given dex_private.index_source;
begin
  select *
  into known
  from dex_private.index_source;
  given := row(
    true, begin_index.chain_id, lower(begin_index.exchange), begin_index.kind, begin_index.first_block, begin_index.taker,
    -- What others have written was read in ranges for the most part, unless a mirror has recorded how far.
    greatest(begin_index.first_block - 1, coalesce(before.final_to, before.head - 1001)),
    begin_index.first_block - 1,
    before.head is not null and coalesce(known.lacks_contracts, true)
  );
  -- A mirror knows only the first block with rows.
  if known.lacks_contracts
    and not exists (
      select
      from public.dex_block as block
      where block.has_rows
        and block.number < given.first_block
    )
  then
    known.first_block := given.first_block;
  end if;
  perform ingest.refuse_other_source(known, given, before.head);
  if known.one_row
    and not known.lacks_contracts
    and (known.chain_id, known.exchange, known.kind, known.first_block, known.taker)
      = (given.chain_id, given.exchange, given.kind, given.first_block, given.taker)
  then
    -- Where blocks were removed by other means than take_back.
    delete from dex_private.index_contract as contract
    where contract.block > coalesce(before.head, -1);
    update dex_private.index_source as source
    set
      ranged_to = least(source.ranged_to, coalesce(before.head, given.ranged_to)),
      audited_to = least(source.audited_to, coalesce(before.head, given.audited_to));
    return false;
  end if;
  perform ingest.set_source(given);
  return before.head is not null and known.one_row is null;
end
$$;
comment on function ingest.begin_index(bigint, text, text, integer, text) is 'Records what an indexer fills the history from. Refuses another source than the recorded one, unless no block is written. For another chain, contract or kind, no token may be registered either. Returns whether the database had blocks without a record.';
grant execute on function ingest.begin_index(bigint, text, text, integer, text) to dex_writer;

create function ingest.begin_mirror(
  chain_id bigint,
  exchange text,
  kind text,
  first_block integer,
  taker text
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  known dex_private.index_source;
  given dex_private.index_source;
begin
  select *
  into known
  from dex_private.index_source;
  given := row(
    true,
    coalesce(begin_mirror.chain_id, known.chain_id),
    coalesce(lower(begin_mirror.exchange), known.exchange),
    coalesce(begin_mirror.kind, known.kind),
    coalesce(begin_mirror.first_block, known.first_block),
    coalesce(begin_mirror.taker, known.taker),
    -1, -1, true
  );
  if given = known or not given is not null then
    return;
  end if;
  -- A reorganisation changes it.
  known.first_block := given.first_block;
  perform ingest.refuse_other_source(known, given, before.head);
  -- What an indexer has found to be final stays so.
  update dex_private.write_state as state
  set final_to = greatest(state.final_to, known.ranged_to, known.audited_to)
  where before.head is not null
    and not known.lacks_contracts;
  perform ingest.set_source(given);
end
$$;
comment on function ingest.begin_mirror(bigint, text, text, integer, text) is 'Records what the origin of a mirror is filled from, with its first block with rows: before the mirror writes blocks. Null where the origin does not say it: what is recorded stays then. Refuses what begin_index does, but for another first block.';
grant execute on function ingest.begin_mirror(bigint, text, text, integer, text) to dex_writer;

create function ingest.checked_to(ranged_to integer, audited_to integer) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  update dex_private.index_source as source
  set
    ranged_to = greatest(source.ranged_to, checked_to.ranged_to),
    audited_to = greatest(source.audited_to, checked_to.audited_to)
  where not source.lacks_contracts;
  update dex_private.write_state as state
  set final_to = least(checked_to.ranged_to, state.head)
  where least(checked_to.ranged_to, state.head) > coalesce(state.final_to, -2)
    and state.head is not null
    and not exists (
      select
      from dex_private.index_source as source
      where not source.lacks_contracts
    );
end;
comment on function ingest.checked_to(integer, integer) is 'Records up to which block the history was read in ranges as final, and up to which it was audited. Where an indexer does not write, a mirror records up to which block it is final. Null changes nothing.';
grant execute on function ingest.checked_to(integer, integer) to dex_writer;

create function ingest.found_all_contracts(head integer) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
begin
  if before.head is distinct from found_all_contracts.head then
    return false;
  end if;
  update dex_private.index_source
  set lacks_contracts = false;
  return true;
end
$$;
comment on function ingest.found_all_contracts(integer) is 'Records that found_contracts was given all that factories made up to this block. Returns whether it is the last one: otherwise nothing is recorded.';
grant execute on function ingest.found_all_contracts(integer) to dex_writer;
