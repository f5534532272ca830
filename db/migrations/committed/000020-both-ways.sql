--! Previous: sha1:5bb2b1eefb899e5c3f731e5ba950e4d899aef780
--! Hash: sha1:179faf8a9f6e10fa5618080827c1e83a0817c36e
--! Message: both ways

--! split: 1-current.sql
-- Both tokens either way are two conditions on an index by lot and bid token, which then gives no order:
-- a page read, and sorted, every trade between the two. By one key for both ways it reads the page.
set local lock_timeout = '200ms';

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
comment on function dex_private.either_way_key(text, text) is
  'One number for trades between two tokens, whichever is the lot. Other tokens may have it too: hold it together with the tokens themselves.';

comment on table dex_trade is
  E'@foreignKey (offer_id) references dex_offer (id)|@fieldName offer|@foreignFieldName trades|@forwardDescription The offer that was matched. Null where it is not recorded.|@backwardDescription The trades that matched this offer, by pages.\n@indexedOrder block\n@indexedOrder time\n@indexedOrder offer_id\n@indexedOrder offer_id,time\n@appendOnly dex_private.trade_epoch\n@eitherWay dex_private.either_way_key(lot_gem, bid_gem)\nA trade: a taker''s transaction that matches part of an offer. The lot moves to the taker, the bid to the maker.';
