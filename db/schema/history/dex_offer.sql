-- Offers, as created. The fill factor leaves room on each page, so that filling or cancelling an offer is a
-- HOT update, which touches no index. Makers often cancel together offers that they created together.

create table dex_offer (
  id integer primary key
    constraint dex_offer_id_check check (id >= 0),
  block integer not null,
  market_id integer,
  market text,
  act text,
  pair text not null
    constraint dex_offer_pair_check check (dex_private.is_hash(pair)),
  maker text not null
    constraint dex_offer_maker_check check (dex_private.is_address(maker)),
  lot_gem text not null
    constraint dex_offer_lot_gem_check check (dex_private.is_address(lot_gem)),
  lot_tkn text,
  lot_amt numeric not null
    constraint dex_offer_lot_amt_check check (dex_private.is_amount(lot_amt)),
  bid_gem text not null
    constraint dex_offer_bid_gem_check check (dex_private.is_address(bid_gem)),
  bid_tkn text,
  bid_amt numeric not null
    constraint dex_offer_bid_amt_check check (dex_private.is_amount(bid_amt)),
  price numeric,
  time timestamptz not null,
  tx text not null
    constraint dex_offer_tx_check check (dex_private.is_hash(tx)),
  venue text
    constraint dex_offer_venue_check check (dex_private.is_address(venue)),
  ref text,
  filled boolean not null default false,
  closed boolean not null default false,
  -- What changes is at the end of the row: an update logs what lies between its first and its last difference.
  killed integer not null default 0
    constraint dex_offer_killed_check check (killed = 0 or killed >= block),
  ended integer
    constraint dex_offer_ended_check check (ended >= block),
  constraint dex_offer_two_tokens_check check (lower(lot_gem) <> lower(bid_gem))
)
with (fillfactor = 70);

-- Serves allDexOffers by block or time, and take_back.
create index dex_offer_block_id_idx on dex_offer (block, id);
-- Serves allDexOffers by maker.
create index dex_offer_maker_block_id_idx on dex_offer (maker, block, id);
-- Serves allDexOffers by market. An unknown market counts as '', as in dex_trade.
create index dex_offer_known_market_block_id_idx on dex_offer (coalesce(market, ''), block, id);
-- Serves allDexOffers by both tokens, and the labelling of offers whose pair is registered later.
create index dex_offer_either_way_block_id_idx
on dex_offer (dex_private.either_way_key(lot_gem, bid_gem), block, id);
-- Serves allDexOffers by contract.
create index dex_offer_venue_block_id_idx on dex_offer (coalesce(venue, ''), block, id);
-- Serves allDexOffers by the contract's own id. An address is one thing in any letter case.
create unique index dex_offer_ref_lower_venue_idx on dex_offer (ref, lower(venue))
where ref is not null;
-- Serve the labelling of offers whose token is registered later.
create index dex_offer_lower_lot_gem_unlabelled_idx on dex_offer (lower(lot_gem))
where lot_tkn is null;
create index dex_offer_lower_bid_gem_unlabelled_idx on dex_offer (lower(bid_gem))
where bid_tkn is null;

comment on table dex_offer is E'@order block, id follows block, time by dex_private.first_block_from\n@soughtBy dex_private.sought\n@asOf dex_private.offers_as_of\n@eitherWay dex_private.either_way_key(lot_gem, bid_gem)\nA maker''s offer: so much of the lot token for so much of the bid token. Takers match it in parts or whole.';
comment on column dex_offer.id is 'Offer identifier, as the exchange gave it where `ref` is null.';
comment on column dex_offer.block is 'Height of the block the offer was made in.';
comment on column dex_offer.killed is 'Height of the block the offer was cancelled in; 0 while it is not cancelled.';
comment on column dex_offer.market_id is E'@behavior -*\nThe key that tables and views join by.';
comment on column dex_offer.market is 'Base and quote symbol of the market, for example WETHDAI. Null where the two tokens are no registered pair.';
comment on column dex_offer.act is 'The maker''s side of the base token: `sell` when the lot is base, `buy` when the bid is base. Null where the two tokens are no registered pair.';
comment on column dex_offer.pair is 'Trading pair hash: keccak256 of lot token address and bid token address. A market has two, one for each direction.';
comment on column dex_offer.maker is 'Address of the offer''s creator.';
comment on column dex_offer.lot_gem is 'Address of the lot token, which the maker gives.';
comment on column dex_offer.lot_tkn is 'Symbol of the lot token, as on chain. Null where it is not known.';
comment on column dex_offer.lot_amt is 'Amount of the lot token offered, in whole tokens with up to 18 fractional digits.';
comment on column dex_offer.bid_gem is 'Address of the bid token, which the maker wants.';
comment on column dex_offer.bid_tkn is 'Symbol of the bid token, as on chain. Null where it is not known.';
comment on column dex_offer.bid_amt is 'Amount of the bid token wanted for the whole lot, in whole tokens with up to 18 fractional digits.';
comment on column dex_offer.price is 'Quote per base, 18 fractional digits. Null where the two tokens are no registered pair, or the base amount is 0.';
comment on column dex_offer.time is 'Timestamp of the block the offer was made in.';
comment on column dex_offer.tx is 'Hash of the transaction that made the offer.';
comment on column dex_offer.venue is 'Address of the contract that the offer is of. Null where the source does not say.';
comment on column dex_offer.ref is 'Identifier that the contract gave the offer, where `id` is another: of a contract beside the first one with offers. Unique with `venue`.';
comment on column dex_offer.filled is 'Whether nothing is left: all recorded trades together took the whole lot, or the source of the data says so.';
comment on column dex_offer.closed is E'@behavior -*\nWhether the source of the data says that nothing is left.';
comment on column dex_offer.ended is E'@behavior -*\nHeight of the first block after which the offer was not open any more: cancelled, or with nothing left. Null while it is open.';
grant select on dex_offer to dex_reader, dex_writer;
