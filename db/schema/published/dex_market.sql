-- Market overview.

create view dex_market as
select
  figure.pair,
  figure.base,
  figure.quote,
  figure.vwap6h as price,
  figure.last,
  figure.vol,
  figure.ask,
  figure.bid,
  figure.low,
  figure.high,
  figure.active
from dex_private.head_figure as figure;
comment on view dex_market is E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexMarket|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The overview of this pair as of the head. Never null.\nOverview of each registered market as of the head.';
comment on column dex_market.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_market.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_market.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_market.price is 'Volume weighted price over the last 6 hours, quote per base. Null without a trade in them.';
comment on column dex_market.vol is 'Volume over the last 24 hours, in base units. Null without a trade in them.';
comment on column dex_market.active is E'@notNull\nWhether trading is enabled.';
comment on column dex_market.last is 'Price of the most recent trade, however old, quote per base. Null before the first.';
comment on column dex_market.ask is 'Innermost ask: the lowest price of the open offers and pools that sell base, quote per base. Null when there is none.';
comment on column dex_market.bid is 'Innermost bid: the highest price of the open offers and pools that buy base, quote per base. Null when there is none.';
comment on column dex_market.low is 'Lowest price of a trade over the last 24 hours, quote per base. Null without a trade in them.';
comment on column dex_market.high is 'Highest price of a trade over the last 24 hours, quote per base. Null without a trade in them.';
grant select on dex_market to dex_reader, dex_writer;
