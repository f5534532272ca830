-- Trades, offers and pools with wrong labels. There are none unless rows were written without the functions of ingest.

-- The labels are looked up once for each two tokens that occur. The planner does not always memoize a function,
-- and then a look-up for each row takes most of the time of ingest.rebuild().
create view dex_private.right_label as
select
  given.lot_gem as given_lot_gem,
  given.bid_gem as given_bid_gem,
  found.*
from (
  select trade.lot_gem, trade.bid_gem
  from public.dex_trade as trade
  union
  select offer.lot_gem, offer.bid_gem
  from public.dex_offer as offer
) as given
cross join lateral dex_private.labels_of(given.lot_gem, given.bid_gem, null, null) as found
offset 0;
comment on view dex_private.right_label is 'The correct labels of each two tokens of trades and offers, without a price.';

create view dex_private.mislabelled_trade as
select
  trade.id,
  derived.*
from public.dex_trade as trade
join dex_private.right_label as label
  on label.given_lot_gem = trade.lot_gem
  and label.given_bid_gem = trade.bid_gem
cross join lateral (
  select
    label.lot_gem,
    label.bid_gem,
    label.market_id,
    label.market,
    label.act,
    label.lot_tkn,
    label.bid_tkn,
    dex_private.price_of(label.act, trade.lot_amt, trade.bid_amt) as price
) as derived
where (trade.lot_gem, trade.bid_gem, trade.market_id, trade.market, trade.act, trade.lot_tkn, trade.bid_tkn, trade.price)
  is distinct from derived;
comment on view dex_private.mislabelled_trade is 'Trades with wrong labels or a wrong price, with the correct values.';

create view dex_private.mislabelled_offer as
select
  offer.id,
  derived.*
from public.dex_offer as offer
join dex_private.offer_left as kept on kept.offer_id = offer.id
join dex_private.right_label as label
  on label.given_lot_gem = offer.lot_gem
  and label.given_bid_gem = offer.bid_gem
cross join lateral (
  select
    label.lot_gem,
    label.bid_gem,
    label.market_id,
    label.market,
    label.act,
    label.lot_tkn,
    label.bid_tkn,
    dex_private.price_of(label.act, offer.lot_amt, offer.bid_amt) as price,
    offer.closed or kept.lot_amt <= 0 as filled
) as derived
where (offer.lot_gem, offer.bid_gem, offer.market_id, offer.market, offer.act, offer.lot_tkn, offer.bid_tkn, offer.price, offer.filled)
  is distinct from derived;
comment on view dex_private.mislabelled_offer is 'Offers with wrong labels, price or `filled`, with the correct values.';

create view dex_private.mislabelled_pool as
select
  pool.venue,
  label.market_id,
  label.act
from public.dex_pool as pool
cross join lateral dex_private.labels_of(pool.gem0, pool.gem1, null, null) as label
where (pool.market_id, pool.act) is distinct from (label.market_id, label.act);
comment on view dex_private.mislabelled_pool is 'Pools with a wrong market, or a wrong side of it, with the correct values.';
