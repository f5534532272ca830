-- The arithmetic of the exchange: exact division, base and quote amounts, prices, minutes and hours.

-- round(a / b, 18) would round twice, because numeric division rounds at a scale that it chooses itself. A body in quotation marks
-- would be parsed for each place where the planner inlines it.
create function dex_private.quotient(dividend numeric, divisor numeric) returns numeric
language sql immutable parallel safe
return case
  when divisor = 0 then null
  else div(2 * dividend * 1000000000000000000 + divisor, 2 * divisor) * 0.000000000000000001
end;
comment on function dex_private.quotient(numeric, numeric) is 'dividend ÷ divisor with 18 fractional digits, rounded once, half away from zero; null if the divisor is 0. Neither may be negative.';
grant execute on function dex_private.quotient(numeric, numeric) to dex_reader, dex_writer;

create function dex_private.base_of(act text, lot_amt numeric, bid_amt numeric) returns numeric
language sql immutable parallel safe
as $$
  select case act when 'sell' then lot_amt else bid_amt end
$$;
comment on function dex_private.base_of(text, numeric, numeric) is 'The base amount: lot_amt if the maker sells, bid_amt if the maker buys.';
grant execute on function dex_private.base_of(text, numeric, numeric) to dex_reader, dex_writer;

create function dex_private.quote_of(act text, lot_amt numeric, bid_amt numeric) returns numeric
language sql immutable parallel safe
as $$
  select case act when 'sell' then bid_amt else lot_amt end
$$;
comment on function dex_private.quote_of(text, numeric, numeric) is 'The quote amount: bid_amt if the maker sells, lot_amt if the maker buys.';
grant execute on function dex_private.quote_of(text, numeric, numeric) to dex_reader, dex_writer;

create function dex_private.price_of(act text, lot_amt numeric, bid_amt numeric) returns numeric
language sql immutable parallel safe
as $$
  select case act
    when 'sell' then dex_private.quotient(bid_amt, lot_amt)
    when 'buy' then dex_private.quotient(lot_amt, bid_amt)
  end
$$;
comment on function dex_private.price_of(text, numeric, numeric) is 'Quote per base, 18 fractional digits; null without an act, or if the base amount is 0.';
grant execute on function dex_private.price_of(text, numeric, numeric) to dex_writer;

create function dex_private.minute_of(moment timestamptz) returns timestamptz
language sql immutable parallel safe
as $$
  select date_bin('1 minute', moment, 'epoch')
$$;
comment on function dex_private.minute_of(timestamptz) is 'The start of the minute of this time.';
grant execute on function dex_private.minute_of(timestamptz) to dex_reader, dex_writer;

create function dex_private.hour_of(moment timestamptz) returns timestamptz
language sql immutable parallel safe
as $$
  select date_bin('1 hour', moment, 'epoch')
$$;
comment on function dex_private.hour_of(timestamptz) is 'The start of the hour of this time.';
grant execute on function dex_private.hour_of(timestamptz) to dex_reader, dex_writer;
