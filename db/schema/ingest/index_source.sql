-- What an indexer has filled the history from, and how far it is checked. In one row, or none where no indexer wrote.

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
  audited_to integer not null
);
comment on table dex_private.index_source is 'What an indexer has filled the history from: a start with other settings is refused.';
comment on column dex_private.index_source.chain_id is 'The id of the chain.';
comment on column dex_private.index_source.exchange is 'Address of the contract, in lower case.';
comment on column dex_private.index_source.kind is 'The kind of exchange, by which its events are read.';
comment on column dex_private.index_source.first_block is 'The block that the history begins with.';
comment on column dex_private.index_source.taker is 'Whose trade it is: the taker of the event, or the sender of its transaction.';
comment on column dex_private.index_source.ranged_to is 'Every block up to this one was read as final, in a range.';
comment on column dex_private.index_source.audited_to is 'The final block up to which the offers agreed with the state of the contract: nothing up to it is taken back by the indexer.';
grant select on dex_private.index_source to dex_writer;
grant select (ranged_to, audited_to) on dex_private.index_source to dex_reader;

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
  changeable constant text := '@[0-9]+|/[0-9.]+%';
begin
  select *
  into known
  from dex_private.index_source;
  given := row(
    true, begin_index.chain_id, lower(begin_index.exchange), begin_index.kind, begin_index.first_block, begin_index.taker,
    -- What was written without a record was read in ranges for the most part, unless a mirror has recorded how far.
    greatest(begin_index.first_block - 1, coalesce(before.final_to, before.head - 1001)),
    begin_index.first_block - 1
  );
  if known.one_row
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

  -- Tokens and markets of another contract would stay: they cannot be taken back. First blocks (@) and fees (/) change none.
  perform ingest.refuse(case
    when known.one_row and (
      before.head is not null
      or (known.chain_id, regexp_replace(known.exchange, changeable, '', 'g'), known.kind)
        <> (given.chain_id, regexp_replace(given.exchange, changeable, '', 'g'), given.kind)
        and exists (select from public.dex_token)
    ) then
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
  delete from dex_private.index_source;
  insert into dex_private.index_source
  values (given.*);
  return before.head is not null;
end
$$;
comment on function ingest.begin_index(bigint, text, text, integer, text) is 'Records what the history is filled from. Refuses another source than the recorded one, unless no block is written. For another chain, contract or kind, no token may be registered either. Returns whether the database had blocks without a record.';
grant execute on function ingest.begin_index(bigint, text, text, integer, text) to dex_writer;

create function ingest.checked_to(ranged_to integer, audited_to integer) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  update dex_private.index_source as source
  set
    ranged_to = greatest(source.ranged_to, checked_to.ranged_to),
    audited_to = greatest(source.audited_to, checked_to.audited_to);
  update dex_private.write_state as state
  set final_to = checked_to.ranged_to
  where checked_to.ranged_to > coalesce(state.final_to, -2)
    and not exists (select from dex_private.index_source);
end;
comment on function ingest.checked_to(integer, integer) is 'Records up to which block the history was read in ranges as final, and up to which it was audited. Where no indexer is recorded, a mirror records up to which block it is final. Null changes nothing.';
grant execute on function ingest.checked_to(integer, integer) to dex_writer;
