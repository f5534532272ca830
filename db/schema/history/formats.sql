-- How addresses, hashes and amounts are written: the checks of every table of history.

-- In plpgsql: a check by a function in SQL is planned anew for each statement that writes, and those of a
-- trade took more than half of the time to insert one. By decode() rather than a pattern, which takes five
-- times as long.
create function dex_private.is_address(candidate text) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return length(candidate) = 42
    and starts_with(candidate, '0x')
    and octet_length(decode(substr(candidate, 3), 'hex')) = 20;
end
$$;
comment on function dex_private.is_address(text) is 'Whether this is 0x and 20 bytes in hex, as an address is written. Raises where it is no hex.';

create function dex_private.is_hash(candidate text) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return length(candidate) = 66
    and starts_with(candidate, '0x')
    and octet_length(decode(substr(candidate, 3), 'hex')) = 32
    and candidate = lower(candidate);
end
$$;
comment on function dex_private.is_hash(text) is 'Whether this is 0x and 32 bytes in hex, in lower case, as a hash is written. Raises where it is no hex.';

-- NaN and infinity compare as greater than every number.
create function dex_private.is_amount(candidate numeric) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return candidate >= 0
    and candidate < 1e78
    and scale(candidate) = 18;
end
$$;
comment on function dex_private.is_amount(numeric) is 'Whether this is an amount: from 0 to below 10^78, with 18 fractional digits.';

create function dex_private.as_amount(given numeric) returns numeric
language sql immutable parallel safe
as $$
  select case
    when scale(given) = 18 then given
    else trim_scale(given) + 0.000000000000000000
  end
$$;
comment on function dex_private.as_amount(numeric) is 'The same number with 18 fractional digits; with more where it has more, which is no amount.';
