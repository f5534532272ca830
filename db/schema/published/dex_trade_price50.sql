-- The price of a trade with more digits, for markets whose prices have zeros in the first 18.

create function dex_trade_price50(trade dex_trade) returns numeric
language sql stable parallel safe
as $$
  -- 10^32 times the amount gives a quotient of 50 digits once it is scaled back, which is rounded once.
  select case trade.act
    when 'sell' then dex_private.quotient(trade.bid_amt * 1e32, trade.lot_amt)
    when 'buy' then dex_private.quotient(trade.lot_amt * 1e32, trade.bid_amt)
  end * 1e-32
$$;
comment on function dex_trade_price50(dex_trade) is 'Quote per base, 50 fractional digits, rounded once. Null where the two tokens are no registered pair, or the base amount is 0.';
grant execute on function dex_trade_price50(dex_trade) to dex_reader, dex_writer;
