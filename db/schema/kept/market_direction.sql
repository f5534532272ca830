-- The labels of trades and offers by their tokens: one row for each direction of a market.

create table dex_private.market_direction (
  lot_gem text not null,
  bid_gem text not null,
  market_id integer not null,
  market text not null,
  act text not null,
  lot_tkn text not null,
  bid_tkn text not null,
  constraint market_direction_pkey primary key (lot_gem, bid_gem)
);

-- Serves labels_of: an address is the same in any letter case.
create unique index market_direction_lower_gems_key
on dex_private.market_direction (lower(lot_gem), lower(bid_gem));

comment on table dex_private.market_direction is 'Each registered pair, once per direction: the labels of a trade or an offer between its tokens.';
grant select on dex_private.market_direction to dex_writer;

create view dex_private.derived_market_direction as
select
  direction.lot_gem,
  direction.bid_gem,
  pair.id as market_id,
  pair.market,
  direction.act,
  lot.symbol as lot_tkn,
  bid.symbol as bid_tkn
from public.dex_pair as pair
cross join lateral (
  values
    ('sell', pair.base_gem, pair.quote_gem),
    ('buy', pair.quote_gem, pair.base_gem)
) as direction (act, lot_gem, bid_gem)
join public.dex_token as lot on lot.address = direction.lot_gem
join public.dex_token as bid on bid.address = direction.bid_gem;
comment on view dex_private.derived_market_direction is 'The correct rows of market_direction.';

create function dex_private.labels_of(lot_gem text, bid_gem text, lot_amt numeric, bid_amt numeric)
returns table (lot_gem text, bid_gem text, market_id integer, market text, act text, lot_tkn text, bid_tkn text, price numeric)
language sql stable parallel safe
rows 1
as $$
  select
    coalesce(direction.lot_gem, lot.address, labels_of.lot_gem),
    coalesce(direction.bid_gem, bid.address, labels_of.bid_gem),
    direction.market_id,
    direction.market,
    direction.act,
    coalesce(direction.lot_tkn, lot.symbol),
    coalesce(direction.bid_tkn, bid.symbol),
    dex_private.price_of(direction.act, labels_of.lot_amt, labels_of.bid_amt)
  from (values (true)) as one (row)
  left join dex_private.market_direction as direction
    on lower(direction.lot_gem) = lower(labels_of.lot_gem)
    and lower(direction.bid_gem) = lower(labels_of.bid_gem)
  left join public.dex_token as lot
    on lower(lot.address) = lower(labels_of.lot_gem)
    and direction.market_id is null
  left join public.dex_token as bid
    on lower(bid.address) = lower(labels_of.bid_gem)
    and direction.market_id is null
$$;
comment on function dex_private.labels_of(text, text, numeric, numeric) is 'The tokens as registered, the labels and the price of a trade or an offer with these tokens and amounts, in one row. Market, act and price are null if the tokens are not a registered pair; an unknown symbol is null.';
grant execute on function dex_private.labels_of(text, text, numeric, numeric) to dex_writer;
