-- The price of a tick.

-- A contract multiplies integers that have 128 fractional bits, and drops what is beyond 128 bits each time. For each bit n of
-- the tick the factor is 1.0001^(−2^n ÷ 2), rounded to the nearest one. This does the same: the factors are the squares of one another.
create function dex_private.tick_sqrt_price(tick integer) returns numeric
language plpgsql immutable strict parallel safe
as $$
declare
  one constant numeric := 340282366920938463463374607431768211456;
  factor numeric := round(1 / sqrt(1.0001::numeric(120, 100)), 100);
  left_bits integer := abs(tick);
  ratio numeric := one;
begin
  while left_bits > 0 loop
    if left_bits % 2 = 1 then
      ratio := div(ratio * round(factor * one), one);
    end if;
    factor := round(factor * factor, 100);
    left_bits := left_bits / 2;
  end loop;
  if tick > 0 then
    ratio := div(one * one - 1, ratio);
  end if;
  return div(ratio + 4294967295, 4294967296);
end
$$;
comment on function dex_private.tick_sqrt_price(integer) is 'The square root of the price 1.0001^tick, times 2^96, as contracts compute it.';
grant execute on function dex_private.tick_sqrt_price(integer) to dex_reader, dex_writer;
