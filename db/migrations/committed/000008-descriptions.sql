--! Previous: sha1:4dd5155337b45205885963b03ff518ddaf1ea326
--! Hash: sha1:d50b28bb6ae78331e86fc0a2428ebbf7d7419f1d
--! Message: descriptions

-- What links one record to another says what it links to, and when it is null; a price says its unit.

comment on constraint dex_pair_base_gem_fkey on dex_pair is
  E'@fieldName baseToken\n@foreignFieldName pairsAsBase\n@forwardDescription The base token, whose price the market gives. Never null.\n@backwardDescription The registered pairs that have this token as base, by pages.';
comment on constraint dex_pair_quote_gem_fkey on dex_pair is
  E'@fieldName quoteToken\n@foreignFieldName pairsAsQuote\n@forwardDescription The quote token, in which prices are given. Never null.\n@backwardDescription The registered pairs that have this token as quote, by pages.';

comment on table dex_trade is
  E'@foreignKey (offer_id) references dex_offer (id)|@fieldName offer|@foreignFieldName trades|@forwardDescription The offer that was matched. Null where it is not recorded.|@backwardDescription The trades that matched this offer, by pages.\n@indexedOrder block\n@indexedOrder time\n@indexedOrder offer_id\n@indexedOrder offer_id,time\n@appendOnly dex_private.trade_epoch\nA trade: a taker''s transaction that matches part of an offer. The lot moves to the taker, the bid to the maker.';
comment on column dex_trade.block is
  'Height of the block that the trade is in.';
comment on column dex_trade.time is
  'Timestamp of the block that the trade is in.';
comment on column dex_trade.tx is
  'Hash of the transaction that made the trade.';

comment on column dex_head.block is
  'Height of the latest block that is declared complete.';
comment on column dex_head.time is
  'Timestamp of that block: every figure is as of it.';

comment on view dex_market is
  E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexMarket|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The overview of this pair as of the head. Never null.\nOverview of each registered market as of the head.';
comment on column dex_market.last is
  'Price of the most recent trade, however old, quote per base. Null before the first.';
comment on column dex_market.ask is
  'Innermost ask: the lowest price of the open offers that sell base, quote per base. Null when there is none.';
comment on column dex_market.bid is
  'Innermost bid: the highest price of the open offers that buy base, quote per base. Null when there is none.';
comment on column dex_market.low is
  'Lowest price of a trade over the last 24 hours, quote per base. Null without a trade in them.';
comment on column dex_market.high is
  'Highest price of a trade over the last 24 hours, quote per base. Null without a trade in them.';

comment on view dex_price is
  E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexPrice|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The price statistics of this pair as of the head. Never null.\nPrice statistics of each registered market as of the head.';
comment on column dex_price.last is
  'Price of the most recent trade, however old, quote per base. Null before the first.';

comment on view dex_volume is
  E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexVolume|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The volume of this pair as of the head. Never null.\nVolume of each registered market as of the head.';
