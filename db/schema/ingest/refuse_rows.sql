-- Validates the offers and trades of a block; the messages name the element and the column.

create function ingest.time_of(given text) returns timestamptz
language plpgsql stable
as $$
begin
  return given::timestamptz;
exception
  when data_exception then
    return null;
end
$$;
comment on function ingest.time_of(text) is 'The text as a timestamp; null if it is not one.';

-- A rule is a pattern of the JSON text (in which strings have quotes) and a range of lengths. A pattern with
-- a count, such as {64}, takes eight times as long, and a block of 20 trades has 220 values to check.
create function ingest.refuse_rows(listed text, elements jsonb, number integer, at timestamptz) returns void
language plpgsql stable
as $$
declare
  columns constant text[] := case listed
    when 'offers' then '{id,pair,maker,lot_gem,lot_amt,bid_gem,bid_amt,tx,filled,block,time}'
    else '{id,offer_id,pair,maker,taker,lot_gem,lot_amt,bid_gem,bid_amt,tx,idx,block,time}'
  end;
  kinds constant text[] := case listed
    when 'offers' then '{integer,hash,address,address,amount,address,amount,hash,boolean,integer,time}'
    else '{id,integer,hash,address,address,address,amount,address,amount,hash,integer,integer,time}'
  end;
  optional constant text[] := case listed
    when 'offers' then '{filled,block,time}'
    else '{id,idx,block,time}'
  end;
begin
  if elements = '[]' then
    return;
  end if;
  if jsonb_typeof(elements) is distinct from 'array' then
    perform ingest.refuse(format('%s is %s: it must be a JSON array', listed, coalesce(left(elements::text, 90), 'null')));
  end if;

  perform ingest.refuse((
    with rule as materialized (
      select
        expected.name,
        kind.pattern,
        kind.shortest,
        kind.longest,
        kind.beyond,
        kind.digits,
        kind.description,
        expected.place,
        expected.name = any (optional) as is_optional
      from unnest(columns, kinds) with ordinality as expected (name, kind, place)
      join (
        values
          ('amount', '^"[0-9]+([.][0-9]+)?"$', 3, 1000, 1e78, 18, 'a decimal string from 0 to below 10^78 with at most 18 fractional digits'),
          ('integer', '^"?[0-9]+"?$', 1, 12, 2147483648, 0, 'an integer from 0 to 2147483647'),
          ('id', '^"?[1-9][0-9]*"?$', 1, 18, 9007199254740992, 0, 'an integer from 1 to 9007199254740991'),
          ('address', '^"0x[0-9a-fA-F]+"$', 44, 44, null, null, '0x and 40 hex digits'),
          ('hash', '^"0x[0-9a-f]+"$', 68, 68, null, null, '0x and 64 hex digits in lower case'),
          ('boolean', '^(true|false)$', 4, 5, null, null, 'true or false'),
          ('time', '^"[0-9]+-[0-9]+-[0-9]+', 12, 90, null, null, 'a timestamp')
      ) as kind (kind, pattern, shortest, longest, beyond, digits, description) on kind.kind = expected.kind
    )
    select format('%s%s%s', listed, coalesce(' line ' || (element.value ->> 'line'), '[' || element.place - 1 || ']'), found.problem)
    from jsonb_array_elements(elements) with ordinality as element (value, place)
    left join lateral (
      select format('.%s is %s: it must be %s', rule.name, coalesce(left(given.value, 90), 'missing'), rule.description) as problem
      from rule
      cross join lateral (
        select (element.value -> rule.name)::text as value
        offset 0
      ) as given
      where not (rule.is_optional and coalesce(given.value, 'null') = 'null')
        and case
          when length(given.value) between rule.shortest and rule.longest and given.value ~ rule.pattern
            then rule.beyond is not null and (
              trim(given.value, '"')::numeric >= rule.beyond
              or scale(trim_scale(trim(given.value, '"')::numeric)) > rule.digits
            )
          else true
        end
      order by rule.place
      limit 1
    ) as wrong on true
    cross join lateral (
      select case
        when jsonb_typeof(element.value) <> 'object' then
          format(' is %s: it must be an object', left(element.value::text, 90))
        when number is not null and element.value - columns <> '{}' then
          format(' has the unknown columns %s: it may have %s', (
            select left(string_agg(quote_ident(key), ', '), 90)
            from jsonb_object_keys(element.value - columns) as key
          ), array_to_string(columns, ', '))
        when wrong.problem is not null then
          wrong.problem
        when (element.value ->> 'block')::integer <> number then
          format('.block is %s: it must be %s, the block that is written', element.value ->> 'block', number)
        when ingest.time_of(element.value ->> 'time') <> at then
          format('.time is %s: it must be %s, the time of the block', element.value ->> 'time', at)
        when element.value ->> 'time' is not null and ingest.time_of(element.value ->> 'time') is null then
          format('.time is %s: it must be a timestamp', left((element.value -> 'time')::text, 90))
      end as problem
    ) as found
    where found.problem is not null
    order by element.place
    limit 1
  ));
end
$$;
comment on function ingest.refuse_rows(text, jsonb, integer, timestamptz) is 'Raises an error that names the element and the column if one of the offers or trades of a block is invalid. Staged rows are not of one block: they have a line, and number and at are null.';
