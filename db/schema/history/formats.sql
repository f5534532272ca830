-- Checks of addresses, hashes and amounts, for the constraints of all history tables.

-- In plpgsql: PostgreSQL plans a check by an SQL function again for each writing statement, which took more
-- than half the time of inserting a trade. With decode(): a pattern takes five times as long.
create function dex_private.is_address(candidate text) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return length(candidate) = 42
    and starts_with(candidate, '0x')
    and octet_length(decode(substr(candidate, 3), 'hex')) = 20;
end
$$;
comment on function dex_private.is_address(text) is 'Whether the text is an address: 0x and 20 bytes in hex. Raises an error if the digits are not hex.';

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
comment on function dex_private.is_hash(text) is 'Whether the text is a hash: 0x and 32 bytes in lower-case hex. Raises an error if the digits are not hex.';

-- The upper bound also excludes NaN and infinity, which compare as greater than every number.
create function dex_private.is_amount(candidate numeric) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return candidate >= 0
    and candidate < 1e78
    and scale(candidate) = 18;
end
$$;
comment on function dex_private.is_amount(numeric) is 'Whether the number is an amount: from 0 to below 10^78, with 18 fractional digits.';

create function dex_private.as_amount(given numeric) returns numeric
language sql immutable parallel safe
as $$
  select case
    when scale(given) = 18 then given
    else trim_scale(given) + 0.000000000000000000
  end
$$;
comment on function dex_private.as_amount(numeric) is 'The same number with 18 fractional digits, or with more if it needs more; is_amount then rejects it.';

-- The upper bound excludes NaN and infinity here too.
create function dex_private.is_units(candidate numeric) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return candidate >= 0
    and candidate < 1461501637330902918203684832716283019655932542976
    and candidate = trunc(candidate);
end
$$;
comment on function dex_private.is_units(numeric) is 'Whether the number is one of smallest units: an integer from 0 to below 2^160.';
