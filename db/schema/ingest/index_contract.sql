-- What an indexer has found out about contracts, so that a start goes on without asking again.

create table dex_private.index_contract (
  address text,
  kind text,
  block integer not null,
  factory text,
  number integer,
  answers jsonb not null,
  constraint index_contract_pkey primary key (address, kind)
);
comment on table dex_private.index_contract is 'What an indexer has found out about contracts: those that factories have made, what contracts return that never changes, and the tokens whose rows are left out.';
comment on column dex_private.index_contract.address is 'Address of the contract, in lower case.';
comment on column dex_private.index_contract.kind is 'The kind of exchange, by which its events are read; token for a token whose rows are left out, since it had no usable decimals.';
comment on column dex_private.index_contract.block is 'The block of the log by which it was found, of a token that of its first row: where that is taken back, the contract is forgotten.';
comment on column dex_private.index_contract.factory is 'Address of the factory that made it, in lower case; null for a contract of the settings, and for a token.';
comment on column dex_private.index_contract.number is 'Which one of the factory''s it is, from 1; null where the factory does not count them.';
comment on column dex_private.index_contract.answers is 'What its functions return, by their names.';
create index index_contract_block_idx on dex_private.index_contract (block);
comment on index dex_private.index_contract_block_idx is 'Contracts of the newest blocks, for take_back and for comparing a range.';
grant select on dex_private.index_contract to dex_writer;

create function ingest.found_contracts(contracts jsonb) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  insert into dex_private.index_contract (address, kind, block, factory, number, answers)
  select given.address, given.kind, given.block, given.factory, given.number, given.answers
  from jsonb_to_recordset(found_contracts.contracts) as given (
    address text,
    kind text,
    block integer,
    factory text,
    number integer,
    answers jsonb
  );
end;
comment on function ingest.found_contracts(jsonb) is 'Records what was found out about contracts by the blocks that the same transaction writes.';
grant execute on function ingest.found_contracts(jsonb) to dex_writer;
