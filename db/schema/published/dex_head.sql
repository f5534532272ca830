-- The head: the last block written. All figures are as of its time.

create view dex_head as
select
  head.number as block,
  head.time
from dex_private.last_block as head;
comment on view dex_head is E'@behavior -query:resource:list -query:resource:connection -query:resource:single\nThe head: the last block written. The service describes the exchange as of it.';
comment on column dex_head.block is E'@notNull\nHeight of the last block written.';
comment on column dex_head.time is E'@notNull\nTimestamp of that block: every figure is as of it.';
grant select on dex_head to dex_reader, dex_writer;

create function dex_latest_head() returns dex_head
language sql stable parallel safe
as $$
  select *
  from public.dex_head
$$;
comment on function dex_latest_head() is E'@name dexHead\nThe last block written: market figures are as of it. Null where none was ever written.';
grant execute on function dex_latest_head() to dex_reader, dex_writer;

create view dex_private.as_of as
select
  head.block,
  coalesce(head.time, now()) as time
from (values (true)) as one (row)
left join public.dex_head as head on true;
comment on view dex_private.as_of is 'The block and time of the figures, in one row: the head, or the current time with a null block if no block was ever written.';
grant select on dex_private.as_of to dex_reader, dex_writer;
