-- The last 24 hours of each market.

create view dex_summary as
select
  figure.pair,
  figure.base,
  figure.quote,
  figure.last,
  figure.last_time,
  figure.open,
  figure.change,
  sign(figure.change) * dex_private.quotient(abs(figure.change) * 100, figure.open) as percent,
  figure.low,
  figure.high,
  figure.vwap24h as vwap,
  figure.vol,
  figure.quote_vol,
  figure.trades,
  figure.bid,
  figure.ask,
  figure.ask - figure.bid as spread
from dex_private.head_figure as figure;
comment on view dex_summary is E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexSummary|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The last 24 hours of this pair as of the head. Never null.\nThe last 24 hours of each registered market as of the head: (t - 24 h, t].';
comment on column dex_summary.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_summary.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_summary.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_summary.last is 'Price of the most recent trade, however old, quote per base. Null before the first.';
comment on column dex_summary.last_time is 'Block time of that trade. Null before the first.';
comment on column dex_summary.open is 'Price that stood 24 hours ago: of the most recent trade at or before t - 24 h, quote per base. Null where there was none yet.';
comment on column dex_summary.change is 'last - open, quote per base; below zero where the price fell. Null where one of them is.';
comment on column dex_summary.percent is 'change in percent of open, 18 fractional digits. Null where change is, or open is 0.';
comment on column dex_summary.low is 'Lowest price of a trade over the last 24 hours, quote per base. Null without one.';
comment on column dex_summary.high is 'Highest price of a trade over the last 24 hours, quote per base. Null without one.';
comment on column dex_summary.vwap is 'Volume weighted price over the last 24 hours, quote per base: quoteVol ÷ vol, 18 fractional digits. Null without a trade in them.';
comment on column dex_summary.vol is 'Volume over the last 24 hours, in base units. Null without a trade in them.';
comment on column dex_summary.quote_vol is 'Volume over the last 24 hours, in quote units. Null without a trade in them.';
comment on column dex_summary.trades is E'@notNull\nNumber of trades over the last 24 hours, those of no base included, which have no price.';
comment on column dex_summary.bid is 'Innermost bid: the highest price of the open offers and pools that buy base, quote per base. Null when there is none.';
comment on column dex_summary.ask is 'Innermost ask: the lowest price of the open offers and pools that sell base, quote per base. Null when there is none.';
comment on column dex_summary.spread is 'ask - bid, quote per base; below zero where the two overlap. Null where one of them is.';
grant select on dex_summary to dex_reader, dex_writer;
