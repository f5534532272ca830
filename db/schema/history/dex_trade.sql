-- Trades, written once. Id, block, time and (block, idx) give the same order.

create table dex_trade (
  id bigint primary key
    constraint dex_trade_id_check check (id between 1 and 9007199254740991),
  offer_id integer
    constraint dex_trade_offer_id_check check (offer_id >= 0),
  market_id integer,
  market text,
  act text,
  pair text not null
    constraint dex_trade_pair_check check (dex_private.is_hash(pair)),
  maker text not null
    constraint dex_trade_maker_check check (dex_private.is_address(maker)),
  taker text not null
    constraint dex_trade_taker_check check (dex_private.is_address(taker)),
  lot_gem text not null
    constraint dex_trade_lot_gem_check check (dex_private.is_address(lot_gem)),
  lot_tkn text,
  lot_amt numeric not null
    constraint dex_trade_lot_amt_check check (dex_private.is_amount(lot_amt)),
  bid_gem text not null
    constraint dex_trade_bid_gem_check check (dex_private.is_address(bid_gem)),
  bid_tkn text,
  bid_amt numeric not null
    constraint dex_trade_bid_amt_check check (dex_private.is_amount(bid_amt)),
  price numeric,
  block integer not null,
  time timestamptz not null,
  tx text not null
    constraint dex_trade_tx_check check (dex_private.is_hash(tx)),
  idx integer not null
    constraint dex_trade_idx_check check (idx >= 0),
  venue text
    constraint dex_trade_venue_check check (dex_private.is_address(venue)),
  constraint dex_trade_tx_idx_key unique (tx, idx),
  constraint dex_trade_two_tokens_check check (lower(lot_gem) <> lower(bid_gem))
);

-- The primary key serves every order and range by id, block, time or (block, idx).
-- Serves REST's trades of a market, its last price, and the trades at the start of a window.
create index dex_trade_market_id_id_idx on dex_trade (market_id, id);
-- Serves allDexTrades by market. An unknown market counts as '': a cursor then is one tuple comparison.
create index dex_trade_known_market_id_idx on dex_trade (coalesce(market, ''), id);
-- Serves allDexTrades by maker.
create index dex_trade_maker_id_idx on dex_trade (maker, id);
-- Serves allDexTrades by taker.
create index dex_trade_taker_id_idx on dex_trade (taker, id);
-- Serves condition: { market, taker }.
create index dex_trade_market_taker_id_idx on dex_trade (market, taker, id);
-- Serves the trades of an offer.
create index dex_trade_offer_id_id_idx on dex_trade (offer_id, id)
where offer_id is not null;
-- Serves allDexTrades by offer. Without an offer counts as -1, for the same reason.
create index dex_trade_known_offer_id_id_idx on dex_trade (coalesce(offer_id, -1), id);
-- Serves allDexTrades by contract or pool.
create index dex_trade_venue_id_idx on dex_trade (coalesce(venue, ''), id);
-- Serves allDexTrades by both tokens, and the labelling of trades whose pair is registered later.
create index dex_trade_either_way_id_idx
on dex_trade (dex_private.either_way_key(lot_gem, bid_gem), id);
-- Serve the labelling of trades whose token is registered later.
create index dex_trade_lower_lot_gem_unlabelled_idx on dex_trade (lower(lot_gem))
where lot_tkn is null;
create index dex_trade_lower_bid_gem_unlabelled_idx on dex_trade (lower(bid_gem))
where bid_tkn is null;

comment on table dex_trade is E'@foreignKey (offer_id) references dex_offer (id)|@fieldName offer|@foreignFieldName trades|@forwardDescription The offer that was matched. Null where it is not recorded, or there was none.|@backwardDescription The trades that matched this offer, by pages.\n@order id follows block by dex_private.first_trade_of, time by dex_private.first_trade_from, idx\n@appendOnly dex_private.write_state counted by dex_private.trades_of(market) or by dex_private.market_of(lot_gem, bid_gem)\n@soughtBy dex_private.sought\n@asOf dex_private.trades_as_of\n@eitherWay dex_private.either_way_key(lot_gem, bid_gem)\nA trade: a taker''s transaction that matches part of an offer, or swaps with a pool. The lot moves to the taker, the bid to the maker.';
comment on column dex_trade.id is 'Trade identifier: one series over all markets, growing with recency. Gaps are normal.';
comment on column dex_trade.offer_id is 'Identifier of the offer that was matched, also where that offer is not recorded and `offer` is null. Null where the trade matched no offer, as in a pool.';
comment on column dex_trade.market_id is E'@behavior -*\nThe key that tables and views join by.';
comment on column dex_trade.market is 'Base and quote symbol of the market, for example WETHDAI. Null where the two tokens are no registered pair.';
comment on column dex_trade.act is 'The maker''s side of the base token: `sell` when the lot is base, `buy` when the bid is base. Null where the two tokens are no registered pair.';
comment on column dex_trade.pair is 'Trading pair hash: keccak256 of lot token address and bid token address. A market has two, one for each direction.';
comment on column dex_trade.maker is 'Address of the offer''s creator, or of the pool.';
comment on column dex_trade.taker is 'Address of the trade''s creator, the sender of the transaction.';
comment on column dex_trade.lot_gem is 'Address of the lot token, which the maker gives.';
comment on column dex_trade.lot_tkn is 'Symbol of the lot token, as on chain. Null where it is not known.';
comment on column dex_trade.lot_amt is 'Amount of the lot token that moved to the taker, in whole tokens with up to 18 fractional digits.';
comment on column dex_trade.bid_gem is 'Address of the bid token, which the taker gives.';
comment on column dex_trade.bid_tkn is 'Symbol of the bid token, as on chain. Null where it is not known.';
comment on column dex_trade.bid_amt is 'Amount of the bid token that moved to the maker, in whole tokens with up to 18 fractional digits.';
comment on column dex_trade.price is 'Quote per base, 18 fractional digits. Null where the two tokens are no registered pair, or the base amount is 0.';
comment on column dex_trade.idx is 'Log index within the block: orders the trades of one block. Where the source has none, the trade''s ordinal in its block.';
comment on column dex_trade.block is 'Height of the block that the trade is in.';
comment on column dex_trade.time is 'Timestamp of the block that the trade is in.';
comment on column dex_trade.tx is 'Hash of the transaction that made the trade.';
comment on column dex_trade.venue is 'Address of the contract or pool that the trade is of. Null where the source does not say.';
grant select on dex_trade to dex_reader, dex_writer;
