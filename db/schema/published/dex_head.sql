-- The head: the last block written. All figures are as of its time, or of an earlier block that the session names.

-- Not checked, for what derives the figures.
create view dex_private.last_moment as
select
  head.number as block,
  coalesce(head.time, now()) as time,
  9223372036854775807 as beyond
from (values (true)) as one (row)
left join dex_private.last_block as head on true;
comment on view dex_private.last_moment is 'The last block and its time, in one row: the current time with a null block if no block was ever written. Trades have ids below `beyond`.';

-- Blocks that came without the functions of ingest have no figures: figures of an older block must not be served
-- under their time.
create view dex_private.kept_moment as
select
  head.number as block,
  coalesce(head.time, now()) as time,
  9223372036854775807 as beyond
from dex_private.write_state as state
left join dex_private.last_block as head on true
where case
  when state.head is not distinct from head.number and state.head_hash is not distinct from head.hash then true
  else dex_private.refuse_outdated(state.head, head.number)
end;
comment on view dex_private.kept_moment is 'The moment of the kept figures, as last_moment. Raises an error if the derived data are not of the head.';

-- The planner inlines it, as it is parsed: each statement as of the head has it several times.
create function dex_private.is_past() returns boolean
language sql stable parallel safe
return coalesce(current_setting('dex.as_of_block', true), '') <> '';
comment on function dex_private.is_past() is 'Whether the session asks as of a block: by `set dex.as_of_block`.';
grant execute on function dex_private.is_past() to dex_reader, dex_writer;

create function dex_private.refuse_block(shown text, last integer) returns void
language plpgsql stable parallel safe
as $$
begin
  raise exception 'no such block: %', shown
    using
      errcode = 'DX002',
      detail = coalesce(
        (
          select format(
            'there are the blocks from %s, of %sZ, to %s, of %sZ',
            first.number, to_json(first.time at time zone 'UTC')#>>'{}', head.number, to_json(head.time at time zone 'UTC')#>>'{}'
          )
          from (
            select *
            from public.dex_block as block
            order by block.number
            limit 1
          ) as first
          cross join (
            select *
            from public.dex_block as block
            where block.number <= last
            order by block.number desc
            limit 1
          ) as head
        ),
        'no block was ever written'
      );
end
$$;
comment on function dex_private.refuse_block(text, integer) is 'Raises an error that there is no such block, with the blocks up to `last` that there are.';
grant execute on function dex_private.refuse_block(text, integer) to dex_reader, dex_writer;

-- The planner inlines it.
create function dex_private.moment_at(height integer) returns setof dex_private.last_moment
language sql stable parallel safe
rows 1
as $$
  select
    found.number,
    found.time,
    (
      select later.first_trade
      from public.dex_block as later
      where later.number > found.number
      order by later.number
      limit 1
    )
  from public.dex_block as found
  where found.number <= height
  order by found.number desc
  limit 1
$$;
comment on function dex_private.moment_at(integer) is 'The last recorded block at or below this number; `beyond` is null where none is above it.';
grant execute on function dex_private.moment_at(integer) to dex_reader, dex_writer;

-- Without a block that handles errors: before version 17, PostgreSQL begins no subtransaction in a parallel query.
create function dex_private.sought_moment(asked text) returns dex_private.last_moment
language plpgsql stable parallel safe
as $$
declare
  height integer;
  asked_time timestamptz;
  shown text;
  moment dex_private.last_moment;
begin
  if coalesce(asked, '') = '' then
    return null;
  elsif asked ~ '^(0|[1-9]\d{0,9})$' then
    height := case when asked::bigint <= 2147483647 then asked end;
  elsif asked ~ '^0[xX][0-9a-fA-F]{64}$' then
    height := coalesce((select max(block.number) from public.dex_block as block where block.hash = lower(asked)), -1);
  elsif asked ~ '^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-](0\d|1[0-4])(:?[0-5]\d)?)$' then
    -- A day that the month does not have would be an error of PostgreSQL.
    if extract(day from to_date(left(asked, 7), 'YYYY-MM') + interval '1 month - 1 day') >= substr(asked, 9, 2)::integer then
      asked_time := asked;
      height := coalesce(
        (
          select block.number
          from public.dex_block as block
          where block.time <= asked_time
            and asked_time <= (select head.time from dex_private.last_block as head)
          order by
            block.time desc,
            block.number desc
          limit 1
        ),
        -1
      );
    end if;
  end if;
  if height is null then
    -- A setting may have any length.
    shown := case when length(asked) > 80 then left(asked, 80) || '...' else asked end;
    raise exception 'dex.as_of_block must be the number of a block, from 0 to 2147483647 without a leading zero, its hash, 0x and 64 hexadecimal digits, or a time in ISO 8601 with seconds and an offset such as 2026-01-31T12:00:00Z, not %', shown
      using errcode = 'invalid_parameter_value';
  end if;

  select *
  into moment
  from dex_private.moment_at(height);
  if moment.beyond is not null then
    return moment;
  end if;
  -- Without a later block it is the head.
  if moment.block = height then
    moment.beyond := 9223372036854775807;
    return moment;
  end if;
  perform dex_private.refuse_block(asked, 2147483647);
  return null;
end
$$;
comment on function dex_private.sought_moment(text) is 'The moment that `asked` names as a value of `dex.as_of_block`; null for none. Raises an error if there is no such block.';
grant execute on function dex_private.sought_moment(text) to dex_reader, dex_writer;

-- What is asked for most, the number of a block below the head, takes one statement. In a transaction each expression of plpgsql takes
-- about as long to begin as a block to find. A statement asks up to four times. So who has one
-- snapshot may set `dex.as_of_moment` to the block that was asked for, a space, and its moment.
create function dex_private.named_moment() returns dex_private.last_moment
language plpgsql stable parallel safe
as $$
begin
  if starts_with(current_setting('dex.as_of_moment', true), current_setting('dex.as_of_block', true) || ' ') then
    return substr(current_setting('dex.as_of_moment', true), length(current_setting('dex.as_of_block', true)) + 2)::dex_private.last_moment;
  end if;
  return coalesce(
    (
      select named
      from dex_private.moment_at(case
        when current_setting('dex.as_of_block', true) ~ '^(0|[1-9]\d{0,8})$' then current_setting('dex.as_of_block', true)::integer
      end) as named
      where named.beyond is not null
    ),
    dex_private.sought_moment(current_setting('dex.as_of_block', true))
  );
end
$$;
comment on function dex_private.named_moment() is 'The moment that `dex.as_of_block` names, or null where it is unset. It is the number of a block, a time, or a hash. For a number a lower block is found where blocks without rows are not kept, for a time the last block up to it. Raises an error if there is no such block.';
grant execute on function dex_private.named_moment() to dex_reader, dex_writer;

create function dex_private.named_moment_below(head integer) returns dex_private.last_moment
language plpgsql stable parallel safe
as $$
begin
  if coalesce(current_setting('dex.as_of_moment', true), '') = '' and current_setting('dex.as_of_block', true) ~ '^(0|[1-9]\d{0,8})$' then
    return coalesce(
      (
        select row(found.number, found.time, null)::dex_private.last_moment
        from public.dex_block as found
        where found.number <= current_setting('dex.as_of_block', true)::integer
          and current_setting('dex.as_of_block', true)::integer < head
        order by found.number desc
        limit 1
      ),
      dex_private.named_moment()
    );
  end if;
  return dex_private.named_moment();
end
$$;
comment on function dex_private.named_moment_below(integer) is 'The same, for who knows the head and does not need `beyond`: most often this block is found without the next one.';
grant execute on function dex_private.named_moment_below(integer) to dex_reader, dex_writer;

-- The planner inlines it.
create function dex_private.past_moment() returns setof dex_private.last_moment
language sql stable parallel safe
rows 1
as $$
  select *
  from dex_private.named_moment() as moment
  where dex_private.is_past()
$$;
comment on function dex_private.past_moment() is 'The same in a row, or no row. A scan of it would cost each statement as of the head.';
grant execute on function dex_private.past_moment() to dex_reader, dex_writer;

-- Without the volatile condition the planner would evaluate `past` for each column. The condition raises the error also where no
-- column is selected.
create view dex_private.as_of as
select
  coalesce((kept.past).block, kept.block) as block,
  coalesce((kept.past).time, kept.time) as time,
  coalesce((kept.past).beyond, kept.beyond) as beyond
from (
  select
    head.*,
    case when dex_private.is_past() and clock_timestamp() is not null then dex_private.named_moment() end as past
  from dex_private.kept_moment as head
) as kept
where not dex_private.is_past() or kept.past is distinct from null;
comment on view dex_private.as_of is 'The block and time of what is published, in one row: of the head, or of the block that `dex.as_of_block` names. If no block was ever written, the block is null and the time the current one. It has the trades with an id below `beyond`. Raises an error if the derived data are not of the head, or if there is no such block.';
grant select on dex_private.as_of to dex_reader, dex_writer;

create function dex_private.is_checked() returns boolean
language plpgsql stable parallel safe
as $$
begin
  return (select true from dex_private.as_of);
end
$$;
comment on function dex_private.is_checked() is 'True, or an error as of as_of.';
grant execute on function dex_private.is_checked() to dex_reader, dex_writer;

-- head_figure has the same text: a view more would take each of its statements longer to plan.
create view dex_private.asked as
select case
    when (state.head is distinct from head.number or state.head_hash is distinct from head.hash) and dex_private.is_checked() then null
    when dex_private.is_past() then dex_private.named_moment_below(head.number)
    else row(head.number, head.time, null)::dex_private.last_moment
  end as moment
from dex_private.write_state as state
left join dex_private.last_block as head on true;
comment on view dex_private.asked is 'The same moment as of as_of in one column, but `beyond` may be null, and before the first block the time is. Raises the same errors where the moment is evaluated.';
grant select on dex_private.asked to dex_reader, dex_writer;

create view dex_head as
select
  as_of.block,
  as_of.time,
  (
    select '0x' || encode(block.digest, 'hex')
    from public.dex_block as block
    where block.number = as_of.block
  ) as digest
from dex_private.as_of
where as_of.block is not null;
comment on view dex_head is E'@behavior -query:resource:list -query:resource:connection -query:resource:single\nThe head: the last block written. The service describes the exchange as of it.';
comment on column dex_head.block is E'@notNull\nHeight of the last block written.';
comment on column dex_head.time is E'@notNull\nTimestamp of that block: every figure is as of it.';
comment on column dex_head.digest is 'Digest of all facts up to that block: databases with the same one have the same facts. Null where the block was written by other means than the functions that write.';
grant select on dex_head to dex_reader, dex_writer;

create function dex_latest_head() returns dex_head
language sql stable parallel safe
as $$
  select *
  from public.dex_head
$$;
comment on function dex_latest_head() is E'@name dexHead\nThe last block written: market figures are as of it. Null where none was ever written.';
grant execute on function dex_latest_head() to dex_reader, dex_writer;
