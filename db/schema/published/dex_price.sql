-- Price statistics of each market.

create view dex_price as
select
  figure.pair,
  figure.base,
  figure.quote,
  figure.vwap24h,
  figure.vwap12h,
  figure.vwap6h,
  figure.vwap1h,
  figure.last
from dex_private.head_figure as figure;
comment on view dex_price is E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexPrice|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The price statistics of this pair as of the head. Never null.\nPrice statistics of each registered market as of the head.';
comment on column dex_price.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_price.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_price.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_price.vwap24h is E'@name vwap24h\nVolume weighted price over the last 24 hours, quote per base. Null without a trade in them.';
comment on column dex_price.vwap12h is E'@name vwap12h\nVolume weighted price over the last 12 hours, quote per base. Null without a trade in them.';
comment on column dex_price.vwap6h is E'@name vwap6h\nVolume weighted price over the last 6 hours, quote per base. Null without a trade in them.';
comment on column dex_price.vwap1h is E'@name vwap1h\nVolume weighted price over the last hour, quote per base. Null without a trade in it.';
comment on column dex_price.last is 'Price of the most recent trade, however old, quote per base. Null before the first.';
grant select on dex_price to dex_reader, dex_writer;
