-- The labels of a trade, an offer or a pool by its tokens.

create function dex_private.labels_of(lot_gem text, bid_gem text, lot_amt numeric, bid_amt numeric)
returns table (lot_gem text, bid_gem text, market_id integer, market text, act text, lot_tkn text, bid_tkn text, price numeric)
language sql stable parallel safe
rows 1
as $$
  select
    coalesce(lot.address, labels_of.lot_gem),
    coalesce(bid.address, labels_of.bid_gem),
    pair.id,
    pair.market,
    side.act,
    lot.symbol,
    bid.symbol,
    dex_private.price_of(side.act, labels_of.lot_amt, labels_of.bid_amt)
  from (values (true)) as one (row)
  left join public.dex_token as lot on lower(lot.address) = lower(labels_of.lot_gem)
  left join public.dex_token as bid on lower(bid.address) = lower(labels_of.bid_gem)
  -- Where one of the two is not registered, both sides are the other one: no pair is of one token.
  left join public.dex_pair as pair
    on least(pair.base_gem, pair.quote_gem) = least(lot.address, bid.address)
    and greatest(pair.base_gem, pair.quote_gem) = greatest(lot.address, bid.address)
  cross join lateral (
    select case lot.address when pair.base_gem then 'sell' when pair.quote_gem then 'buy' end as act
  ) as side
$$;
comment on function dex_private.labels_of(text, text, numeric, numeric) is 'The tokens as registered, the labels and the price of a trade or an offer with these tokens and amounts, in one row. Market, act and price are null if the tokens are not a registered pair; an unknown symbol is null.';
grant execute on function dex_private.labels_of(text, text, numeric, numeric) to dex_writer;
