-- One key for two tokens, whichever is the lot.

-- It is told to be dear, and not to be read into a query, so that the planner looks for it in an index:
-- where pairs are few it would rather try it on all trades in their order, until a page of them has it.
create function dex_private.either_way_key(lot_gem text, bid_gem text) returns bigint
language plpgsql immutable parallel safe
cost 10000
as $$
begin
  return hashtextextended(lot_gem, 0) # hashtextextended(bid_gem, 0);
end
$$;
comment on function dex_private.either_way_key(text, text) is 'One number for trades between two tokens, whichever is the lot. Other tokens may have it too: hold it together with the tokens themselves.';
grant execute on function dex_private.either_way_key(text, text) to dex_reader, dex_writer;
