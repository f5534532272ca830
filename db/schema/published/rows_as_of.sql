-- The rows of the tables as of a past block, which GraphQL reads for an operation with @asOf.

-- The planner inlines these functions, so that the indexes of the tables serve the same orders and conditions. They return
-- the types of the tables, which functions of a row take. A migration that adds a column to dex_offer or dex_pair adds it here.
create function dex_private.trades_as_of() returns setof public.dex_trade
language sql stable parallel safe
as $$
  select trade.*
  from public.dex_trade as trade
  where trade.id < (select past.beyond from dex_private.past_moment() as past)
$$;
comment on function dex_private.trades_as_of() is 'The trades up to the block that `dex.as_of_block` names.';
grant execute on function dex_private.trades_as_of() to dex_reader, dex_writer;

-- What was cancelled is not traded after it: `ended` of a filled offer is the block in which it was filled.
create function dex_private.offers_as_of() returns setof public.dex_offer
language sql stable parallel safe
as $$
  select
    offer.id,
    offer.block,
    offer.market_id,
    offer.market,
    offer.act,
    offer.pair,
    offer.maker,
    offer.lot_gem,
    offer.lot_tkn,
    offer.lot_amt,
    offer.bid_gem,
    offer.bid_tkn,
    offer.bid_amt,
    offer.price,
    offer.time,
    offer.tx,
    offer.venue,
    offer.ref,
    offer.filled and offer.ended <= (select past.block from dex_private.past_moment() as past),
    offer.closed,
    case when offer.killed <= (select past.block from dex_private.past_moment() as past) then offer.killed else 0 end,
    case when offer.ended <= (select past.block from dex_private.past_moment() as past) then offer.ended end
  from public.dex_offer as offer
  where offer.block <= (select past.block from dex_private.past_moment() as past)
$$;
comment on function dex_private.offers_as_of() is 'The offers made up to the block that `dex.as_of_block` names, as they were then.';
grant execute on function dex_private.offers_as_of() to dex_reader, dex_writer;

create function dex_private.pairs_as_of() returns setof public.dex_pair
language sql stable
as $$
  select
    pair.id,
    pair.base,
    pair.quote,
    pair.base_gem,
    pair.quote_gem,
    pair.base_precision,
    pair.quote_precision,
    pair.market,
    dex_private.active_of(pair.id, pair.active)
  from public.dex_pair as pair
$$;
comment on function dex_private.pairs_as_of() is 'The registered pairs, with `active` as of the block that `dex.as_of_block` names.';
grant execute on function dex_private.pairs_as_of() to dex_reader, dex_writer;
