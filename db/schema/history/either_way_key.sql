-- A key of two tokens that is the same in both directions.

-- The high cost, and plpgsql, which the planner cannot inline, make the planner use an index. With few pairs
-- it would otherwise scan all trades in order and filter them until a page is full.
create function dex_private.either_way_key(lot_gem text, bid_gem text) returns bigint
language plpgsql immutable parallel safe
cost 10000
as $$
begin
  return hashtextextended(lot_gem, 0) # hashtextextended(bid_gem, 0);
end
$$;
comment on function dex_private.either_way_key(text, text) is 'A hash of two tokens that is the same in both directions. Hashes can collide: compare the tokens as well.';
grant execute on function dex_private.either_way_key(text, text) to dex_reader, dex_writer;
