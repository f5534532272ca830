-- Validates the offers, trades and pools of a block; the messages name the element and the column.

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

-- An id leaves 2^52 more below 2^53, up to which JSON numbers are exact: one that is too high would end all ids.
-- A rule is a pattern of the JSON text (in which strings have quotes) and a range of lengths. A pattern with
-- a count, such as {64}, takes eight times as long, and a block of 20 trades has 220 values to check.
create view ingest.rule as
select
  given.listed,
  given.columns,
  field.*,
  field.kind like '%?' as is_optional,
  rule.*
from (
  values
    ('offers', '{id,pair,maker,lot_gem,lot_amt,bid_gem,bid_amt,tx,filled,block,time,venue}'::text[], '{integer,hash,address,address,amount,address,amount,hash,boolean?,integer?,time?,address?}'::text[]),
    ('trades', '{id,offer_id,pair,maker,taker,lot_gem,lot_amt,bid_gem,bid_amt,tx,idx,block,time,venue}', '{id?,integer?,hash,address,address,address,amount,address,amount,hash,integer?,integer?,time?,address?}'),
    ('pools', '{venue,gem0,reserve0,gem1,reserve1,fee,tick_spacing,sqrt_price,tick,liquidity,nets,block,time}', '{address,address,amount?,address,amount?,integer,integer?,units?,tick?,units?,nets?,integer?,time?}')
) as given (listed, columns, kinds)
cross join lateral unnest(given.columns, given.kinds) with ordinality as field (name, kind, place)
join (
  values
    ('amount', '^"[0-9]+([.][0-9]+)?"$', 3, 1000, 1e78, 18, 'a decimal string from 0 to below 10^78 with at most 18 fractional digits'),
    ('integer', '^"?(0|[1-9][0-9]*)"?$', 1, 12, 2147483648, 0, 'an integer from 0 to 2147483647'),
    ('units', '^"(0|[1-9][0-9]*)"$', 3, 51, 1461501637330902918203684832716283019655932542976, 0, 'a decimal string of an integer from 0 to below 2^160'),
    ('tick', '^"?(0|-?[1-9][0-9]*)"?$', 1, 9, 887273, 0, 'an integer from -887272 to 887272'),
    ('nets', '^"(-?[0-9]{1,6}:-?[0-9]{1,50}(:[0-9]{1,50})?( -?[0-9]{1,6}:-?[0-9]{1,50}(:[0-9]{1,50})?)*)?"$', 2, 100000, null, null, 'ticks in their order, each with its net liquidity of up to 50 digits, and its gross liquidity where that is more, as "-60:1000 0:400:1600 60:-1400"'),
    ('id', '^"?[1-9][0-9]*"?$', 1, 18, 4503599627370496, 0, 'an integer from 1 to 4503599627370495'),
    ('address', '^"0x[0-9a-fA-F]+"$', 44, 44, null, null, '0x and 40 hex digits'),
    ('hash', '^"0x[0-9a-f]+"$', 68, 68, null, null, '0x and 64 hex digits in lower case'),
    ('boolean', '^(true|false)$', 4, 5, null, null, 'true or false'),
    ('time', '^"[0-9]+-[0-9]+-[0-9]+[T ][0-9:.]+ ?(Z|[+-][0-9:]+)"$', 12, 90, null, null, 'a timestamp with its UTC offset')
) as rule (type, pattern, shortest, longest, beyond, digits, description) on rule.type = rtrim(field.kind, '?');
comment on view ingest.rule is 'What each column of a listed offer, trade or pool must be.';

-- Immutable, so that the rules are constants in the plan of refuse_rows.
create function ingest.rules(listed text) returns ingest.rule[]
language sql immutable
as $$
  select array_agg(rule order by rule.place)
  from ingest.rule as rule
  where rule.listed = rules.listed
$$;
comment on function ingest.rules(text) is 'The rules of offers, of trades or of pools.';

create function ingest.refuse_rows(listed text, elements jsonb, number integer, at timestamptz) returns void
language plpgsql stable
as $$
declare
  rules constant ingest.rule[] := case listed
    when 'offers' then ingest.rules('offers')
    when 'trades' then ingest.rules('trades')
    else ingest.rules('pools')
  end;
  wrong record;
begin
  if jsonb_typeof(elements) is distinct from 'array' then
    perform ingest.refuse(format('%s is %s: it must be a JSON array', listed, coalesce(left(elements::text, 90), 'null')));
  end if;

  select
    element.value as element,
    element.ordinality,
    given.value,
    rule.*
  into wrong
  from jsonb_array_elements(elements) with ordinality as element
  cross join unnest(rules) as rule
  cross join lateral (
    select (element.value -> rule.name)::text as value
    offset 0
  ) as given
  where case
    when rule.place = 1 and number is not null and jsonb_typeof(element.value) = 'object' and element.value - rule.columns <> '{}' then
      true
    when coalesce(given.value, 'null') = 'null' then
      not rule.is_optional
    when length(given.value) not between rule.shortest and rule.longest or given.value !~ rule.pattern then
      true
    when rule.name = 'block' then
      trim(given.value, '"')::numeric <> number
    when rule.name = 'time' then
      ingest.time_of(trim(given.value, '"')) <> at or ingest.time_of(trim(given.value, '"')) is null
    when rule.name = 'bid_gem' then
      lower(given.value) = lower((element.value -> 'lot_gem')::text)
    when rule.beyond is not null then
      trim(given.value, '"')::numeric >= rule.beyond or scale(trim_scale(trim(given.value, '"')::numeric)) > rule.digits
  end
  order by
    element.ordinality,
    rule.place
  limit 1;
  if found then
    perform ingest.refuse(listed || coalesce(' line ' || (wrong.element ->> 'line'), format('[%s]', wrong.ordinality - 1)) || case
      when jsonb_typeof(wrong.element) <> 'object' then
        format(' is %s: it must be an object', left(wrong.element::text, 90))
      when number is not null and wrong.element - wrong.columns <> '{}' then
        format(' has the unknown columns %s: it may have %s', (
          select left(string_agg(quote_ident(key), ', '), 90)
          from jsonb_object_keys(wrong.element - wrong.columns) as key
        ), array_to_string(wrong.columns, ', '))
      when wrong.name = 'block' and wrong.value ~ wrong.pattern then
        format('.block is %s: it must be %s, the block that is written', left(trim(wrong.value, '"'), 90), number)
      when wrong.name = 'time' and wrong.value ~ wrong.pattern and ingest.time_of(trim(wrong.value, '"')) is not null then
        format('.time is %s: it must be %s, the time of the block', trim(wrong.value, '"'), at)
      when wrong.name = 'bid_gem' and lower(wrong.value) = lower((wrong.element -> 'lot_gem')::text) and wrong.value ~ wrong.pattern then
        format('.bid_gem is %s, as lot_gem: an offer is of two tokens', wrong.value)
      else format('.%s is %s: it must be %s', wrong.name, coalesce(left(wrong.value, 90), 'missing'), wrong.description)
    end);
  end if;
end
$$;
comment on function ingest.refuse_rows(text, jsonb, integer, timestamptz) is 'Raises an error that names the element and the column if one of the offers, trades or pools of a block is invalid. Staged rows are not of one block: they have a line, and number and at are null.';
