--! Previous: -
--! Hash: sha1:8d145cb7b2024dfc13260609e96225758cbcd61d
--! Message: baseline

-- The schemas. PUBLIC has no rights in them.

-- In Turkish and Azeri, LINKDAI and linkdai would be two names.
do $$
begin
  if upper('i') <> 'I' or lower('I') <> 'i' then
    raise exception 'The locale of this database writes i in capitals as %, so symbols in any letter case would not be found: create the database with another locale, such as C.UTF-8', upper('i');
  end if;
end
$$;

create schema dex_private;
comment on schema dex_private is 'Derived data that the service does not publish: sums, the standing book, and the views that public views build on.';
grant usage on schema dex_private to dex_reader, dex_writer;

create schema ingest;
comment on schema ingest is 'The only functions that write, and their staging tables.';
grant usage on schema ingest to dex_writer;

-- By default PostgreSQL lets every role execute a new function; here execution needs a grant.
alter default privileges revoke execute on functions from public;

-- Checks of addresses, hashes and amounts, for the constraints of all history tables.

-- In plpgsql: PostgreSQL plans a check by an SQL function again for each writing statement, which took more
-- than half the time of inserting a trade. With decode(): a pattern takes five times as long.
create function dex_private.is_address(candidate text) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return length(candidate) = 42
    and starts_with(candidate, '0x')
    and octet_length(decode(substr(candidate, 3), 'hex')) = 20;
end
$$;
comment on function dex_private.is_address(text) is 'Whether the text is an address: 0x and 20 bytes in hex. Raises an error if the digits are not hex.';

create function dex_private.is_hash(candidate text) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return length(candidate) = 66
    and starts_with(candidate, '0x')
    and octet_length(decode(substr(candidate, 3), 'hex')) = 32
    and candidate = lower(candidate);
end
$$;
comment on function dex_private.is_hash(text) is 'Whether the text is a hash: 0x and 32 bytes in lower-case hex. Raises an error if the digits are not hex.';

-- The upper bound also excludes NaN and infinity, which compare as greater than every number.
create function dex_private.is_amount(candidate numeric) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return candidate >= 0
    and candidate < 1e78
    and scale(candidate) = 18;
end
$$;
comment on function dex_private.is_amount(numeric) is 'Whether the number is an amount: from 0 to below 10^78, with 18 fractional digits.';

create function dex_private.as_amount(given numeric) returns numeric
language sql immutable parallel safe
as $$
  select case
    when scale(given) = 18 then given
    else trim_scale(given) + 0.000000000000000000
  end
$$;
comment on function dex_private.as_amount(numeric) is 'The same number with 18 fractional digits, or with more if it needs more; is_amount then rejects it.';

-- The upper bound excludes NaN and infinity here too.
create function dex_private.is_units(candidate numeric) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return candidate >= 0
    and candidate < 1461501637330902918203684832716283019655932542976
    and candidate = trunc(candidate);
end
$$;
comment on function dex_private.is_units(numeric) is 'Whether the number is one of smallest units: an integer from 0 to below 2^160.';

-- Registered tokens.

create table dex_token (
  address text primary key
    constraint dex_token_address_check check (dex_private.is_address(address)),
  symbol text
    constraint dex_token_symbol_check check (symbol <> '' and length(symbol) <= 100),
  decimals integer not null
    constraint dex_token_decimals_check check (decimals between 0 and 255),
  name text
    constraint dex_token_name_check check (length(name) <= 1000)
);

-- One row per token, whatever the letter case of its address.
create unique index dex_token_lower_address_key on dex_token (lower(address));

-- Serves the loader, which finds the tokens of a pair by symbol in any letter case.
create index dex_token_upper_symbol_idx on dex_token (upper(symbol));

comment on table dex_token is 'A token that is traded on the exchange, and how its amounts are to be read.';
comment on column dex_token.address is 'Address of the token contract, with EIP-55 checksum.';
comment on column dex_token.symbol is 'Symbol as the token gives it on chain; anybody can name a token so. Null where it is not known.';
comment on column dex_token.decimals is 'How many fractional digits the token has.';
comment on column dex_token.name is 'Name as the token gives it on chain. Null where it is not known.';
grant select on dex_token to dex_reader, dex_writer;

-- Markets: registered pairs of tokens.

create table dex_pair (
  id integer generated always as identity,
  base text not null,
  quote text not null,
  base_gem text not null
    constraint dex_pair_base_gem_fkey references dex_token (address),
  quote_gem text not null
    constraint dex_pair_quote_gem_fkey references dex_token (address),
  base_precision integer not null,
  quote_precision integer not null,
  market text not null generated always as (base || quote) stored
    constraint dex_pair_market_key unique,
  active boolean not null default true,
  constraint dex_pair_pkey primary key (base, quote),
  constraint dex_pair_two_tokens_check check (base_gem <> quote_gem)
);

-- An index and not a constraint, for which GraphQL would add a query: the id is internal.
create unique index dex_pair_id_key on dex_pair (id);

-- REST names a market base/quote: the pair A/B and C must not have the same name as A and B/C.
create unique index dex_pair_key_key on dex_pair ((base || '/' || quote));

-- Two tokens form a market in one direction only.
create unique index dex_pair_gems_key on dex_pair (least(base_gem, quote_gem), greatest(base_gem, quote_gem));

-- Serve dexTokenByBaseGem and dexTokenByQuoteGem.
create index dex_pair_base_gem_quote_gem_idx on dex_pair (base_gem, quote_gem);
create index dex_pair_quote_gem_base_gem_idx on dex_pair (quote_gem, base_gem);

comment on table dex_pair is E'@asOf dex_private.pairs_as_of\nA registered pair of tokens: a market of the exchange.';
comment on constraint dex_pair_base_gem_fkey on dex_pair is E'@fieldName baseToken\n@foreignFieldName pairsAsBase\n@forwardDescription The base token, whose price the market gives. Never null.\n@backwardDescription The registered pairs that have this token as base, by pages.';
comment on constraint dex_pair_quote_gem_fkey on dex_pair is E'@fieldName quoteToken\n@foreignFieldName pairsAsQuote\n@forwardDescription The quote token, in which prices are given. Never null.\n@backwardDescription The registered pairs that have this token as quote, by pages.';
comment on column dex_pair.id is E'@behavior -*\nThe key that tables and views join by.';
comment on column dex_pair.base is 'Symbol of the base token, in upper case. Prices are for one unit of it.';
comment on column dex_pair.quote is 'Symbol of the quote token, in upper case. Prices are given in it.';
comment on column dex_pair.base_gem is 'Address of the base token.';
comment on column dex_pair.quote_gem is 'Address of the quote token.';
comment on column dex_pair.base_precision is 'How many fractional digits an amount of the base token has.';
comment on column dex_pair.quote_precision is 'How many fractional digits an amount of the quote token has.';
comment on column dex_pair.market is 'Base and quote symbol together, for example WETHDAI: the `market` of its trades and offers.';
comment on column dex_pair.active is 'Whether trading is enabled.';
grant select on dex_pair to dex_reader, dex_writer;

-- Blocks. Each is written whole and in order; the last one is the head.

create table dex_block (
  number integer primary key
    constraint dex_block_number_check check (number >= 0),
  hash text
    constraint dex_block_hash_check check (dex_private.is_hash(hash)),
  parent text
    constraint dex_block_parent_check check (dex_private.is_hash(parent)),
  time timestamptz not null
    constraint dex_block_time_check check (isfinite(time)),
  first_trade bigint not null,
  has_rows boolean not null,
  digest bytea
    constraint dex_block_digest_check check (octet_length(digest) = 32)
);

-- Serves time ranges: finds their blocks, and by first_trade their trades.
create index dex_block_time_number_idx on dex_block (time, number);

-- Serves ingest.written_to, which deletes blocks without rows.
create index dex_block_empty_idx on dex_block (number)
where not has_rows;

-- Serves dex_private.past_moment, by hash.
create index dex_block_hash_idx on dex_block using hash (hash);

-- Serves ingest.fill_digests.
create index dex_block_without_digest_idx on dex_block (number)
where digest is null;

comment on table dex_block is E'@behavior -query:resource:list -query:resource:connection -query:resource:single -type:node\nA block of the chain that was written. A block without rows is kept for as long as the chain may take it back.';
comment on column dex_block.number is 'Height of the block.';
comment on column dex_block.hash is 'Hash of the block. Null where the source has none.';
comment on column dex_block.parent is 'Hash of the block before it. Null where the source has none.';
comment on column dex_block.time is 'Timestamp of the block, not before that of the block before it.';
comment on column dex_block.first_trade is E'@behavior -*\nNo trade of an earlier block has this id or a higher one, and none of this block or a later one a lower.';
comment on column dex_block.has_rows is E'@behavior -*\nWhether an offer or a trade was made in it, an offer cancelled, or a pool changed.';
comment on column dex_block.digest is E'@behavior -*\nSHA-256 over the digest before it and the facts of the block; that of the block before where the block has no rows. Null where the block was written without the functions of ingest.';
grant select on dex_block to dex_reader, dex_writer;

create view dex_private.last_block as
select *
from public.dex_block as block
order by block.number desc
limit 1;
comment on view dex_private.last_block is 'The last block written; empty if no block was written.';
grant select on dex_private.last_block to dex_reader, dex_writer;

-- The planner inlines it.
create function dex_private.first_from(moment timestamptz) returns setof public.dex_block
language sql stable parallel safe
rows 1
as $$
  select *
  from public.dex_block as block
  where block.time >= moment
  order by
    block.time,
    block.number
  limit 1
$$;
comment on function dex_private.first_from(timestamptz) is 'The first block at or after this time.';
grant execute on function dex_private.first_from(timestamptz) to dex_reader, dex_writer;

-- In plpgsql, which caches query plans: these functions run for every block.
create function dex_private.first_trade_from(moment timestamptz) returns bigint
language plpgsql stable parallel safe
as $$
begin
  return coalesce((select block.first_trade from dex_private.first_from(moment) as block), 9223372036854775807);
end
$$;
comment on function dex_private.first_trade_from(timestamptz) is 'The lowest possible id of a trade at or after this time.';
grant execute on function dex_private.first_trade_from(timestamptz) to dex_reader, dex_writer;

create function dex_private.first_trade_of(height integer) returns bigint
language plpgsql stable parallel safe
as $$
begin
  return coalesce(
    (select block.first_trade from public.dex_block as block where block.number >= height order by block.number limit 1),
    9223372036854775807
  );
end
$$;
comment on function dex_private.first_trade_of(integer) is 'The lowest possible id of a trade in this block or a later one.';
grant execute on function dex_private.first_trade_of(integer) to dex_reader, dex_writer;

create function dex_private.first_block_from(moment timestamptz) returns integer
language plpgsql stable parallel safe
as $$
begin
  return coalesce((select block.number from dex_private.first_from(moment) as block), 2147483647);
end
$$;
comment on function dex_private.first_block_from(timestamptz) is 'The lowest block at or after this time.';
grant execute on function dex_private.first_block_from(timestamptz) to dex_reader, dex_writer;

-- A key of two tokens that is the same in both directions.

-- The high cost, and plpgsql, which the planner cannot inline, make the planner use an index. With few pairs
-- it would otherwise scan all trades in order and filter them until a page is full.
create function dex_private.either_way_key(lot_gem text, bid_gem text) returns bigint
language plpgsql immutable parallel safe
cost 10000
as $$
begin
  return hashtextextended(lot_gem, 0) # hashtextextended(bid_gem, 0);
end
$$;
comment on function dex_private.either_way_key(text, text) is 'A hash of two tokens that is the same in both directions. Hashes can collide: compare the tokens as well.';
grant execute on function dex_private.either_way_key(text, text) to dex_reader, dex_writer;

-- Marks a value for which the planner should use an index.

-- The high cost, and plpgsql, which the planner cannot inline, make the planner read an index on the value,
-- in index order. If it expects many rows it would otherwise scan all rows in order and filter them until a
-- page is full. For a market without recent trades that is the whole history. If it expects few, it would
-- fetch and sort them all, which for a busy market is a large part of it.
create function dex_private.sought(value anyelement) returns anyelement
language plpgsql stable parallel safe
cost 10000
as $$
begin
  return value;
end
$$;
comment on function dex_private.sought(anyelement) is 'Returns the value, and makes the planner look it up in an index.';
grant execute on function dex_private.sought(anyelement) to dex_reader, dex_writer;

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

-- Pools: contracts that trade two tokens by what they have of them.

create table dex_pool (
  venue text primary key
    constraint dex_pool_venue_check check (dex_private.is_address(venue)),
  gem0 text not null
    constraint dex_pool_gem0_check check (dex_private.is_address(gem0)),
  gem1 text not null
    constraint dex_pool_gem1_check check (dex_private.is_address(gem1)),
  fee integer not null
    constraint dex_pool_fee_check check (fee between 0 and 999999),
  tick_spacing integer
    constraint dex_pool_tick_spacing_check check (tick_spacing > 0),
  block integer not null,
  market_id integer,
  act text,
  constraint dex_pool_two_tokens_check check (lower(gem0) <> lower(gem1))
);

-- An address is one thing in any letter case.
create unique index dex_pool_lower_venue_key on dex_pool (lower(venue));
-- Serves the pools of a market.
create index dex_pool_market_id_idx on dex_pool (market_id)
where market_id is not null;
-- Serves the labelling of pools whose pair is registered later.
create index dex_pool_either_way_idx on dex_pool (dex_private.either_way_key(lower(gem0), lower(gem1)));
-- Serves ingest.take_back.
create index dex_pool_block_idx on dex_pool (block);

comment on table dex_pool is E'@behavior -*\nA pool: a contract that trades two tokens by what it has of them.';
comment on column dex_pool.venue is 'Address of the contract.';
comment on column dex_pool.gem0 is 'Address of its first token.';
comment on column dex_pool.gem1 is 'Address of its second token.';
comment on column dex_pool.fee is 'What it keeps of each amount that comes in, in millionths.';
comment on column dex_pool.tick_spacing is 'Every how many ticks a range of its liquidity can begin or end. Null where it has no ranges: its liquidity is for all prices.';
comment on column dex_pool.block is 'The block of its first recorded state.';
comment on column dex_pool.market_id is 'The market of its two tokens. Null where they are no registered pair.';
comment on column dex_pool.act is '`sell` where its first token is the base of the market, `buy` where it is the quote.';
grant select on dex_pool to dex_reader, dex_writer;

-- What each pool has, after each block that changed it.

create table dex_pool_state (
  venue text not null,
  block integer not null,
  reserve0 numeric
    constraint dex_pool_state_reserve0_check check (dex_private.is_amount(reserve0)),
  reserve1 numeric
    constraint dex_pool_state_reserve1_check check (dex_private.is_amount(reserve1)),
  sqrt_price numeric
    constraint dex_pool_state_sqrt_price_check check (sqrt_price > 0 and dex_private.is_units(sqrt_price)),
  tick integer
    constraint dex_pool_state_tick_check check (tick between -887273 and 887272),
  liquidity numeric
    constraint dex_pool_state_liquidity_check check (dex_private.is_units(liquidity)),
  nets text,
  constraint dex_pool_state_kind_check check (
    num_nulls(reserve0, reserve1) = 0 and num_nonnulls(sqrt_price, tick, liquidity, nets) = 0
    or num_nonnulls(reserve0, reserve1) = 0 and num_nulls(sqrt_price, tick, liquidity, nets) = 0
  ),
  -- Serves what a pool has after a block.
  constraint dex_pool_state_pkey primary key (venue, block)
);

-- Serves ingest.take_back, and the audit of the pools that have changed.
create index dex_pool_state_block_idx on dex_pool_state (block);

comment on table dex_pool_state is E'@behavior -*\nWhat a pool has after each block that changed it: reserves of its tokens, or a price with liquidity in ranges of prices.';
comment on column dex_pool_state.venue is 'Address of the pool.';
comment on column dex_pool_state.block is 'Height of the block.';
comment on column dex_pool_state.reserve0 is 'Amount of its first token, in whole tokens.';
comment on column dex_pool_state.reserve1 is 'Amount of its second token, in whole tokens.';
comment on column dex_pool_state.sqrt_price is 'The square root of its price, times 2^96: of the second token per first one, in their smallest units.';
comment on column dex_pool_state.tick is 'Its tick: the price is from 1.0001^tick to below 1.0001^(tick + 1), or 1.0001^(tick + 1) where it has come down to it.';
comment on column dex_pool_state.liquidity is 'The liquidity of all ranges that the tick is in. It is the root of the product of both amounts that it stands for, in the smallest units.';
comment on column dex_pool_state.nets is 'The ticks whose liquidity the block changed, in their order, each with its net liquidity after the block, as `-60:1000 60:-1000`. Where ranges begin and end at a tick, its gross liquidity follows: `0:400:1600`. A tick where none is left has `60:0`.';
grant select on dex_pool_state to dex_reader, dex_writer;

create function dex_private.pool_state_at(venue text, block integer) returns setof public.dex_pool_state
language sql stable
rows 1
as $$
  select *
  from public.dex_pool_state as state
  where state.venue = pool_state_at.venue
    and state.block <= pool_state_at.block
  order by state.block desc
  limit 1
$$;
comment on function dex_private.pool_state_at(text, integer) is 'What this pool had after this block; no row before its first state.';
grant execute on function dex_private.pool_state_at(text, integer) to dex_reader, dex_writer;

-- Reorganisations, so that a client that follows the data learns which blocks became void while it was away.

create table dex_private.reorganisation (
  number bigint
    constraint reorganisation_pkey primary key,
  to_block integer not null
);
comment on table dex_private.reorganisation is 'The newest 10,000 reorganisations.';
comment on column dex_private.reorganisation.number is 'Increases by one.';
comment on column dex_private.reorganisation.to_block is 'The head that was left; the blocks after it were taken back. -1 if none was left.';
grant select on dex_private.reorganisation to dex_reader, dex_writer;

-- The state of the history, in one row. Writers lock the row to take turns.

create table dex_private.write_state (
  one_row boolean not null default true
    constraint write_state_one_row_check check (one_row)
    constraint write_state_pkey primary key,
  head integer,
  head_hash text,
  last_trade bigint not null default 0,
  epoch bigint not null default 0,
  final_to integer
);
insert into dex_private.write_state default values;
-- The planner expects thousands of rows in a table that was never analyzed.
analyze dex_private.write_state;
comment on table dex_private.write_state is 'The state of the history. Every writer locks its row first and then updates it, so writers wait for each other, and a writer with an older snapshot fails.';
comment on column dex_private.write_state.head is 'The last block. Null if no block was written.';
comment on column dex_private.write_state.head_hash is 'Its hash. Null if the source has none.';
comment on column dex_private.write_state.last_trade is 'The highest trade id ever used. The id of a trade that was taken back is not used again.';
comment on column dex_private.write_state.epoch is 'Increases when recorded trades or offers get new labels, or a market another name or other prices of pools. Otherwise a recorded trade never changes.';
comment on column dex_private.write_state.final_to is 'The block up to which files or another service said that nothing is taken back, where no indexer is recorded: -1 for none. Null if neither said so.';
grant select on dex_private.write_state to dex_reader, dex_writer;

create function dex_private.refuse_outdated(figures_of integer, head integer) returns boolean
language plpgsql stable
as $$
begin
  raise exception 'The figures are not of the head: % and the last block is %',
      case
        when figures_of is null then 'they are of no block'
        when figures_of = head then format('they are of another block %s', head)
        else format('they are of block %s', figures_of)
      end,
      coalesce(head::text, 'none')
    using
      errcode = 'DX001',
      hint = 'Blocks were written without the functions of ingest, for example by logical replication. As dex_owner: select ingest.rebuild().';
end
$$;
comment on function dex_private.refuse_outdated(integer, integer) is 'Raises an error that says of which block the derived data are.';
grant execute on function dex_private.refuse_outdated(integer, integer) to dex_reader, dex_writer;

-- The head: the last block written. All figures are as of its time, or of an earlier block that the session names.

-- Not checked, for what derives the figures.
create view dex_private.last_moment as
select
  head.number as block,
  coalesce(head.time, now()) as time,
  9223372036854775807 as beyond
from (values (true)) as one (row)
left join dex_private.last_block as head on true;
comment on view dex_private.last_moment is 'The last block and its time, in one row: the current time with a null block if no block was ever written. Trades have ids below `beyond`.';

-- Blocks that came without the functions of ingest have no figures: figures of an older block must not be served
-- under their time.
create view dex_private.kept_moment as
select
  head.number as block,
  coalesce(head.time, now()) as time,
  9223372036854775807 as beyond
from dex_private.write_state as state
left join dex_private.last_block as head on true
where case
  when state.head is not distinct from head.number and state.head_hash is not distinct from head.hash then true
  else dex_private.refuse_outdated(state.head, head.number)
end;
comment on view dex_private.kept_moment is 'The moment of the kept figures, as last_moment. Raises an error if the derived data are not of the head.';

-- The planner inlines it, as it is parsed: each statement as of the head has it several times.
create function dex_private.is_past() returns boolean
language sql stable parallel safe
return coalesce(current_setting('dex.as_of_block', true), '') <> '';
comment on function dex_private.is_past() is 'Whether the session asks as of a block: by `set dex.as_of_block`.';
grant execute on function dex_private.is_past() to dex_reader, dex_writer;

create function dex_private.refuse_block(shown text, last integer) returns void
language plpgsql stable parallel safe
as $$
begin
  raise exception 'no such block: %', shown
    using
      errcode = 'DX002',
      detail = coalesce(
        (
          select format(
            'there are the blocks from %s, of %sZ, to %s, of %sZ',
            first.number, to_json(first.time at time zone 'UTC')#>>'{}', head.number, to_json(head.time at time zone 'UTC')#>>'{}'
          )
          from (
            select *
            from public.dex_block as block
            order by block.number
            limit 1
          ) as first
          cross join (
            select *
            from public.dex_block as block
            where block.number <= last
            order by block.number desc
            limit 1
          ) as head
        ),
        'no block was ever written'
      );
end
$$;
comment on function dex_private.refuse_block(text, integer) is 'Raises an error that there is no such block, with the blocks up to `last` that there are.';
grant execute on function dex_private.refuse_block(text, integer) to dex_reader, dex_writer;

-- The planner inlines it.
create function dex_private.moment_at(height integer) returns setof dex_private.last_moment
language sql stable parallel safe
rows 1
as $$
  select
    found.number,
    found.time,
    (
      select later.first_trade
      from public.dex_block as later
      where later.number > found.number
      order by later.number
      limit 1
    )
  from public.dex_block as found
  where found.number <= height
  order by found.number desc
  limit 1
$$;
comment on function dex_private.moment_at(integer) is 'The last recorded block at or below this number; `beyond` is null where none is above it.';
grant execute on function dex_private.moment_at(integer) to dex_reader, dex_writer;

-- Without a block that handles errors: before version 17, PostgreSQL begins no subtransaction in a parallel query.
create function dex_private.sought_moment(asked text) returns dex_private.last_moment
language plpgsql stable parallel safe
as $$
declare
  height integer;
  asked_time timestamptz;
  shown text;
  moment dex_private.last_moment;
begin
  if coalesce(asked, '') = '' then
    return null;
  elsif asked ~ '^(0|[1-9]\d{0,9})$' then
    height := case when asked::bigint <= 2147483647 then asked end;
  elsif asked ~ '^0[xX][0-9a-fA-F]{64}$' then
    height := coalesce((select max(block.number) from public.dex_block as block where block.hash = lower(asked)), -1);
  elsif asked ~ '^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-](0\d|1[0-4])(:?[0-5]\d)?)$' then
    -- A day that the month does not have would be an error of PostgreSQL.
    if extract(day from to_date(left(asked, 7), 'YYYY-MM') + interval '1 month - 1 day') >= substr(asked, 9, 2)::integer then
      asked_time := asked;
      height := coalesce(
        (
          select block.number
          from public.dex_block as block
          where block.time <= asked_time
            and asked_time <= (select head.time from dex_private.last_block as head)
          order by
            block.time desc,
            block.number desc
          limit 1
        ),
        -1
      );
    end if;
  end if;
  if height is null then
    -- A setting may have any length.
    shown := case when length(asked) > 80 then left(asked, 80) || '...' else asked end;
    raise exception 'dex.as_of_block must be the number of a block, from 0 to 2147483647 without a leading zero, its hash, 0x and 64 hexadecimal digits, or a time in ISO 8601 with seconds and an offset such as 2026-01-31T12:00:00Z, not %', shown
      using errcode = 'invalid_parameter_value';
  end if;

  select *
  into moment
  from dex_private.moment_at(height);
  if moment.beyond is not null then
    return moment;
  end if;
  -- Without a later block it is the head.
  if moment.block = height then
    moment.beyond := 9223372036854775807;
    return moment;
  end if;
  perform dex_private.refuse_block(asked, 2147483647);
  return null;
end
$$;
comment on function dex_private.sought_moment(text) is 'The moment that `asked` names as a value of `dex.as_of_block`; null for none. Raises an error if there is no such block.';
grant execute on function dex_private.sought_moment(text) to dex_reader, dex_writer;

-- What is asked for most, the number of a block below the head, takes one statement. In a transaction each expression of plpgsql takes
-- about as long to begin as a block to find. A statement asks up to four times. So who has one
-- snapshot may set `dex.as_of_moment` to the block that was asked for, a space, and its moment.
create function dex_private.named_moment() returns dex_private.last_moment
language plpgsql stable parallel safe
as $$
begin
  if starts_with(current_setting('dex.as_of_moment', true), current_setting('dex.as_of_block', true) || ' ') then
    return substr(current_setting('dex.as_of_moment', true), length(current_setting('dex.as_of_block', true)) + 2)::dex_private.last_moment;
  end if;
  return coalesce(
    (
      select named
      from dex_private.moment_at(case
        when current_setting('dex.as_of_block', true) ~ '^(0|[1-9]\d{0,8})$' then current_setting('dex.as_of_block', true)::integer
      end) as named
      where named.beyond is not null
    ),
    dex_private.sought_moment(current_setting('dex.as_of_block', true))
  );
end
$$;
comment on function dex_private.named_moment() is 'The moment that `dex.as_of_block` names, or null where it is unset. It is the number of a block, a time, or a hash. For a number a lower block is found where blocks without rows are not kept, for a time the last block up to it. Raises an error if there is no such block.';
grant execute on function dex_private.named_moment() to dex_reader, dex_writer;

create function dex_private.named_moment_below(head integer) returns dex_private.last_moment
language plpgsql stable parallel safe
as $$
begin
  if coalesce(current_setting('dex.as_of_moment', true), '') = '' and current_setting('dex.as_of_block', true) ~ '^(0|[1-9]\d{0,8})$' then
    return coalesce(
      (
        select row(found.number, found.time, null)::dex_private.last_moment
        from public.dex_block as found
        where found.number <= current_setting('dex.as_of_block', true)::integer
          and current_setting('dex.as_of_block', true)::integer < head
        order by found.number desc
        limit 1
      ),
      dex_private.named_moment()
    );
  end if;
  return dex_private.named_moment();
end
$$;
comment on function dex_private.named_moment_below(integer) is 'The same, for who knows the head and does not need `beyond`: most often this block is found without the next one.';
grant execute on function dex_private.named_moment_below(integer) to dex_reader, dex_writer;

-- The planner inlines it.
create function dex_private.past_moment() returns setof dex_private.last_moment
language sql stable parallel safe
rows 1
as $$
  select *
  from dex_private.named_moment() as moment
  where dex_private.is_past()
$$;
comment on function dex_private.past_moment() is 'The same in a row, or no row. A scan of it would cost each statement as of the head.';
grant execute on function dex_private.past_moment() to dex_reader, dex_writer;

-- Without the volatile condition the planner would evaluate `past` for each column. The condition raises the error also where no
-- column is selected.
create view dex_private.as_of as
select
  coalesce((kept.past).block, kept.block) as block,
  coalesce((kept.past).time, kept.time) as time,
  coalesce((kept.past).beyond, kept.beyond) as beyond
from (
  select
    head.*,
    case when dex_private.is_past() and clock_timestamp() is not null then dex_private.named_moment() end as past
  from dex_private.kept_moment as head
) as kept
where not dex_private.is_past() or kept.past is distinct from null;
comment on view dex_private.as_of is 'The block and time of what is published, in one row: of the head, or of the block that `dex.as_of_block` names. If no block was ever written, the block is null and the time the current one. It has the trades with an id below `beyond`. Raises an error if the derived data are not of the head, or if there is no such block.';
grant select on dex_private.as_of to dex_reader, dex_writer;

create function dex_private.is_checked() returns boolean
language plpgsql stable parallel safe
as $$
begin
  return (select true from dex_private.as_of);
end
$$;
comment on function dex_private.is_checked() is 'True, or an error as of as_of.';
grant execute on function dex_private.is_checked() to dex_reader, dex_writer;

-- head_figure has the same text: a view more would take each of its statements longer to plan.
create view dex_private.asked as
select case
    when (state.head is distinct from head.number or state.head_hash is distinct from head.hash) and dex_private.is_checked() then null
    when dex_private.is_past() then dex_private.named_moment_below(head.number)
    else row(head.number, head.time, null)::dex_private.last_moment
  end as moment
from dex_private.write_state as state
left join dex_private.last_block as head on true;
comment on view dex_private.asked is 'The same moment as of as_of in one column, but `beyond` may be null, and before the first block the time is. Raises the same errors where the moment is evaluated.';
grant select on dex_private.asked to dex_reader, dex_writer;

create view dex_head as
select
  as_of.block,
  as_of.time,
  (
    select '0x' || encode(block.digest, 'hex')
    from public.dex_block as block
    where block.number = as_of.block
  ) as digest
from dex_private.as_of
where as_of.block is not null;
comment on view dex_head is E'@behavior -query:resource:list -query:resource:connection -query:resource:single\nThe head: the last block written. The service describes the exchange as of it.';
comment on column dex_head.block is E'@notNull\nHeight of the last block written.';
comment on column dex_head.time is E'@notNull\nTimestamp of that block: every figure is as of it.';
comment on column dex_head.digest is 'Digest of all facts up to that block: databases with the same one have the same facts. Null where the block was written by other means than the functions that write.';
grant select on dex_head to dex_reader, dex_writer;

create function dex_latest_head() returns dex_head
language sql stable parallel safe
as $$
  select *
  from public.dex_head
$$;
comment on function dex_latest_head() is E'@name dexHead\nThe last block written: market figures are as of it. Null where none was ever written.';
grant execute on function dex_latest_head() to dex_reader, dex_writer;

-- The arithmetic of the exchange: exact division, base and quote amounts, prices, minutes and hours.

-- round(a / b, 18) would round twice, because numeric division rounds at a scale that it chooses itself. A body in quotation marks
-- would be parsed for each place where the planner inlines it.
create function dex_private.quotient(dividend numeric, divisor numeric) returns numeric
language sql immutable parallel safe
return case
  when divisor = 0 then null
  else div(2 * dividend * 1000000000000000000 + divisor, 2 * divisor) * 0.000000000000000001
end;
comment on function dex_private.quotient(numeric, numeric) is 'dividend ÷ divisor with 18 fractional digits, rounded once, half away from zero; null if the divisor is 0. Neither may be negative.';
grant execute on function dex_private.quotient(numeric, numeric) to dex_reader, dex_writer;

create function dex_private.base_of(act text, lot_amt numeric, bid_amt numeric) returns numeric
language sql immutable parallel safe
as $$
  select case act when 'sell' then lot_amt else bid_amt end
$$;
comment on function dex_private.base_of(text, numeric, numeric) is 'The base amount: lot_amt if the maker sells, bid_amt if the maker buys.';
grant execute on function dex_private.base_of(text, numeric, numeric) to dex_reader, dex_writer;

create function dex_private.quote_of(act text, lot_amt numeric, bid_amt numeric) returns numeric
language sql immutable parallel safe
as $$
  select case act when 'sell' then bid_amt else lot_amt end
$$;
comment on function dex_private.quote_of(text, numeric, numeric) is 'The quote amount: bid_amt if the maker sells, lot_amt if the maker buys.';
grant execute on function dex_private.quote_of(text, numeric, numeric) to dex_reader, dex_writer;

create function dex_private.price_of(act text, lot_amt numeric, bid_amt numeric) returns numeric
language sql immutable parallel safe
as $$
  select case act
    when 'sell' then dex_private.quotient(bid_amt, lot_amt)
    when 'buy' then dex_private.quotient(lot_amt, bid_amt)
  end
$$;
comment on function dex_private.price_of(text, numeric, numeric) is 'Quote per base, 18 fractional digits; null without an act, or if the base amount is 0.';
grant execute on function dex_private.price_of(text, numeric, numeric) to dex_writer;

create function dex_private.minute_of(moment timestamptz) returns timestamptz
language sql immutable parallel safe
as $$
  select date_bin('1 minute', moment, 'epoch')
$$;
comment on function dex_private.minute_of(timestamptz) is 'The start of the minute of this time.';
grant execute on function dex_private.minute_of(timestamptz) to dex_reader, dex_writer;

create function dex_private.hour_of(moment timestamptz) returns timestamptz
language sql immutable parallel safe
as $$
  select date_bin('1 hour', moment, 'epoch')
$$;
comment on function dex_private.hour_of(timestamptz) is 'The start of the hour of this time.';
grant execute on function dex_private.hour_of(timestamptz) to dex_reader, dex_writer;

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

-- When offers ended.

-- Reads all trades of each offer, but each offer is emptied once.
create function dex_private.end_emptied(offers integer[]) returns void
language plpgsql
as $$
begin
  update public.dex_offer as offer
  set
    filled = true,
    ended = least(offer.ended, emptied.block)
  from (
    select
      dealt.id,
      min(dealt.block) as block
    from (
      select
        made.id,
        case when made.lot_amt <= 0 then made.block else greatest(made.block, trade.block) end as block,
        made.lot_amt - coalesce(sum(trade.lot_amt) over (partition by made.id order by trade.id), 0) as lot_amt
      from unnest(offers) as given (id)
      join public.dex_offer as made on made.id = given.id
      left join public.dex_trade as trade on trade.offer_id = made.id
    ) as dealt
    where dealt.lot_amt <= 0
    group by dealt.id
  ) as emptied
  where offer.id = emptied.id
    and not offer.filled;
end
$$;
comment on function dex_private.end_emptied(integer[]) is 'Records that nothing is left of these offers, and since which block.';

create view dex_private.derived_offer_end as
select
  offer.id as offer_id,
  least(
    nullif(offer.killed, 0),
    case when offer.closed or offer.lot_amt <= 0 then offer.block end,
    emptied.block
  ) as ended
from public.dex_offer as offer
left join (
  select
    dealt.id,
    min(dealt.block) as block
  from (
    select
      offers.id,
      greatest(offers.block, trade.block) as block,
      offers.lot_amt - sum(trade.lot_amt) over (partition by trade.offer_id order by trade.id) as lot_amt
    from public.dex_trade as trade
    join public.dex_offer as offers on offers.id = trade.offer_id
  ) as dealt
  where dealt.lot_amt <= 0
  group by dealt.id
) as emptied on emptied.id = offer.id;
comment on view dex_private.derived_offer_end is 'The correct `ended` of each offer.';

-- The remaining lot of each offer.

create table dex_private.offer_left (
  offer_id integer
    constraint offer_left_pkey primary key,
  lot_amt numeric not null
)
with (fillfactor = 70);
comment on table dex_private.offer_left is 'The remaining lot of each recorded offer: its lot minus the lots of its recorded trades. Negative if they took more.';
comment on column dex_private.offer_left.lot_amt is 'Remaining amount of the lot token.';
grant select on dex_private.offer_left to dex_reader, dex_writer;

create view dex_private.derived_offer_left as
select
  offer.id as offer_id,
  offer.lot_amt - coalesce(
    (
      select sum(trade.lot_amt)
      from public.dex_trade as trade
      where trade.offer_id = offer.id
    ),
    0
  ) as lot_amt
from public.dex_offer as offer;
comment on view dex_private.derived_offer_left is 'The correct rows of offer_left.';

create function dex_private.keep_left(offers integer[]) returns void
language plpgsql
as $$
declare
  emptied integer[];
begin
  with kept as (
    insert into dex_private.offer_left (offer_id, lot_amt)
    select derived.*
    from unnest(offers) as given (id)
    join dex_private.derived_offer_left as derived on derived.offer_id = given.id
    returning
      offer_id,
      lot_amt
  )
  select array_agg(kept.offer_id)
  into emptied
  from kept
  where kept.lot_amt <= 0;
  if emptied is not null then
    perform dex_private.end_emptied(emptied);
  end if;
end
$$;
comment on function dex_private.keep_left(integer[]) is 'Adds what is left of these new offers, after the trades that are written before them.';

-- The offers that each block cancelled.

create table dex_private.cancellation (
  offer_id integer
    constraint cancellation_pkey primary key,
  block integer not null
);

-- Serves take_back.
create index cancellation_block_idx on dex_private.cancellation (block);

comment on table dex_private.cancellation is 'The cancellations of each block, including those of offers that are not recorded; take_back undoes them.';
grant select on dex_private.cancellation to dex_reader, dex_writer;

-- The ids of the orders of every contract but the first book, whose ids may be the same.

create table dex_private.offer_ref (
  -- In one letter case, so that an order has one id.
  venue text not null
    constraint offer_ref_venue_check check (venue = lower(venue)),
  ref text not null
    constraint offer_ref_ref_check check (length(ref) between 1 and 100),
  offer_id integer not null
    constraint offer_ref_offer_id_key unique
    constraint offer_ref_offer_id_check check (offer_id >= 1073741824),
  block integer not null,
  constraint offer_ref_pkey primary key (venue, ref)
);

-- Serves the last order with an id that a contract gives again, by what is before the ":" of its ref.
create index offer_ref_venue_own_idx on dex_private.offer_ref (venue, split_part(ref, ':', 1), offer_id);
-- Serves take_back.
create index offer_ref_block_idx on dex_private.offer_ref (block);

comment on table dex_private.offer_ref is 'The orders of contracts beside the first book, including those that are not recorded: the contract''s own id, and the id of its rows.';
comment on column dex_private.offer_ref.venue is 'Address of the contract, in lower case.';
comment on column dex_private.offer_ref.ref is 'The id that the contract gave the order. Where it gave the id of an earlier order again, a ":" and the block and log are behind it.';
comment on column dex_private.offer_ref.offer_id is 'The id of the order''s rows: from 2^30 on in the order of appearance, so that the same blocks give the same ids.';
comment on column dex_private.offer_ref.block is 'Height of the block that has the first row of the order.';
grant select on dex_private.offer_ref to dex_reader, dex_writer;

-- The digest of a block: SHA-256 over the digest before it and its facts in the canonical form of docs/digests.md.

create function dex_private.first_digest() returns bytea
language sql immutable parallel safe
as $$
  select '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea
$$;
comment on function dex_private.first_digest() is 'The digest before the first block with rows: 32 zero bytes.';
grant execute on function dex_private.first_digest() to dex_reader, dex_writer;

create function dex_private.digest_before(height bigint) returns bytea
language plpgsql stable parallel safe
as $$
declare
  before bytea;
begin
  select block.digest
  into before
  from public.dex_block as block
  where block.number < height
  order by block.number desc
  limit 1;
  return case when found then before else dex_private.first_digest() end;
end
$$;
comment on function dex_private.digest_before(bigint) is 'The digest of the last block below this height: null where that block has none.';

-- An id from 2^30 on depends on what else the database has. A ref is any text: as a JSON string it has no line end.
create function dex_private.order_name(offer_id integer) returns text
language plpgsql stable parallel safe
as $$
begin
  return coalesce(
    (
      select lower(known.venue collate "C") || ':' || to_json(known.ref)
      from dex_private.offer_ref as known
      where known.offer_id = order_name.offer_id
    ),
    offer_id::text
  );
end
$$;
comment on function dex_private.order_name(integer) is 'The name of an order of a contract beside the first book: the contract, and the id that it gave the order.';
grant execute on function dex_private.order_name(integer) to dex_reader, dex_writer;

-- The planner inlines it. A further kind of facts is one more `union all`, with a first word that no other kind has.
create function dex_private.fact_lines(first_block integer, last_block integer, first_trade bigint, last_trade bigint)
returns table (block integer, line text)
language sql stable parallel safe
as $$
  select offer.block, concat_ws(
    ' ',
    'offer',
    case
      when offer.ref is null then offer.id::text
      else coalesce(lower(offer.venue collate "C"), '-') || ':' || to_json(offer.ref)
    end,
    lower(offer.maker collate "C"),
    offer.pair,
    lower(offer.lot_gem collate "C"),
    trim_scale(offer.lot_amt),
    lower(offer.bid_gem collate "C"),
    trim_scale(offer.bid_amt),
    offer.tx,
    coalesce(lower(offer.venue collate "C"), '-'),
    case when offer.closed then 'closed' else 'open' end
  )
  from public.dex_offer as offer
  where offer.block between first_block and last_block
  union all
  select trade.block, concat_ws(
    ' ',
    'trade',
    trade.idx,
    case
      when trade.offer_id >= 1073741824 then dex_private.order_name(trade.offer_id)
      else coalesce(trade.offer_id::text, '-')
    end,
    lower(trade.maker collate "C"),
    lower(trade.taker collate "C"),
    trade.pair,
    lower(trade.lot_gem collate "C"),
    trim_scale(trade.lot_amt),
    lower(trade.bid_gem collate "C"),
    trim_scale(trade.bid_amt),
    trade.tx,
    coalesce(lower(trade.venue collate "C"), '-')
  )
  from public.dex_trade as trade
  where trade.id between first_trade and last_trade
    and trade.block between first_block and last_block
  union all
  select cancellation.block, concat_ws(
    ' ',
    'cancel',
    case
      when cancellation.offer_id >= 1073741824 then dex_private.order_name(cancellation.offer_id)
      else cancellation.offer_id::text
    end
  )
  from dex_private.cancellation
  where cancellation.block between first_block and last_block
  union all
  select state.block, concat_ws(
    ' ',
    case when state.nets is null then 'pool' else 'ranges' end,
    lower(state.venue collate "C"),
    lower(pool.gem0 collate "C"),
    trim_scale(state.reserve0),
    lower(pool.gem1 collate "C"),
    trim_scale(state.reserve1),
    pool.fee,
    pool.tick_spacing,
    state.sqrt_price,
    state.tick,
    state.liquidity,
    nullif(state.nets, '')
  )
  from public.dex_pool_state as state
  join public.dex_pool as pool on pool.venue = state.venue
  where state.block between first_block and last_block
$$;
comment on function dex_private.fact_lines(integer, integer, bigint, bigint) is 'The facts of the blocks from one to another, whose trades have these ids, a line each.';

-- Without the parent, which the hash stands for: an indexer that reads a range of blocks does not get it.
create function dex_private.canonical_form(number integer, hash text, at timestamptz, facts text) returns text
language sql immutable parallel safe
as $$
  select 'block ' || number
    || ' ' || coalesce(hash, '-')
    || ' ' || trim_scale(extract(epoch from at))
    || E'\n'
    || coalesce(facts, '')
$$;
comment on function dex_private.canonical_form(integer, text, timestamptz, text) is 'The text of a block with these lines of facts, of which its digest is made.';

-- In plpgsql, which caches the plan: it runs for every block. One plan with indexes serves all blocks, even if it was made for an
-- empty database. To start parallel workers for each block would take 12 ms.
create function dex_private.next_digest(
  before bytea,
  has_rows boolean,
  number integer,
  hash text,
  at timestamptz,
  first_trade bigint,
  last_trade bigint
) returns bytea
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set max_parallel_workers_per_gather = 0
as $$
begin
  if not has_rows then
    return before;
  end if;
  return sha256(before || convert_to(
    dex_private.canonical_form(
      number,
      hash,
      at,
      (
        select string_agg(fact.line || E'\n', '' order by fact.line collate "C")
        from dex_private.fact_lines(number, number, first_trade, last_trade) as fact
      )
    ),
    'UTF8'
  ));
end
$$;
comment on function dex_private.next_digest(bytea, boolean, integer, text, timestamptz, bigint, bigint) is 'The digest of a block, which may have no rows, after a digest: null after none.';

create function dex_private.link_digest(newest bytea, before bytea, form text) returns bytea
language plpgsql immutable parallel safe
as $$
begin
  if form is null then
    return coalesce(newest, before);
  end if;
  return sha256(coalesce(newest, before) || convert_to(form, 'UTF8'));
end
$$;
comment on function dex_private.link_digest(bytea, bytea, text) is 'The digest of a block with this canonical form, or without rows, after the newest digest, which is `before` for the first one.';

create aggregate dex_private.chained_digest(before bytea, form text) (
  sfunc = dex_private.link_digest,
  stype = bytea
);
comment on aggregate dex_private.chained_digest(bytea, text) is 'As a window function over blocks in their order: the digest of each, after the digest before the first of them. The form of a block without rows is null.';

create function dex_private.fill_digests(most integer) returns integer
language plpgsql
as $$
declare
  block public.dex_block;
  filled integer := 0;
begin
  for block in
    select *
    from public.dex_block as unfilled
    where unfilled.digest is null
    order by unfilled.number
    limit most
  loop
    update public.dex_block as recorded
    set digest = dex_private.next_digest(
      dex_private.digest_before(block.number), block.has_rows, block.number, block.hash, block.time,
      block.first_trade, dex_private.first_trade_of(block.number + 1) - 1
    )
    where recorded.number = block.number;
    filled := filled + 1;
  end loop;
  return filled;
end
$$;
comment on function dex_private.fill_digests(integer) is 'Makes the digests of the first blocks that have none, at most so many. Returns how many.';

-- Each digest is compared with that of the block before, as recorded: so a block is named whose facts differ, and none after it.
create view dex_private.misdigested_block as
select
  block.number,
  block.number_before,
  block.digest,
  block.right_digest
from (
  select
    recorded.number,
    recorded.number_before,
    recorded.digest,
    dex_private.next_digest(
      recorded.digest_before, recorded.has_rows, recorded.number, recorded.hash, recorded.time,
      recorded.first_trade, recorded.next_trade - 1
    ) as right_digest
  from (
    select
      blocks.*,
      lead(blocks.first_trade, 1, 9223372036854775807) over in_order as next_trade,
      lag(blocks.number) over in_order as number_before,
      lag(blocks.digest, 1, dex_private.first_digest()) over in_order as digest_before
    from public.dex_block as blocks
    window in_order as (order by blocks.number)
  ) as recorded
) as block
where block.digest is distinct from block.right_digest;
comment on view dex_private.misdigested_block is 'Blocks whose digest is not that of their facts after the digest of the block before.';

-- The standing book: the open offers of all markets.

create table dex_private.standing_offer (
  market_id integer not null,
  act text not null,
  price numeric not null,
  offer_id integer not null,
  made integer not null,
  -- Serves bid and ask, and the levels of a book in price order.
  constraint standing_offer_pkey primary key (market_id, act, price, offer_id) include (made)
);
comment on table dex_private.standing_offer is 'The offers of registered markets that have a price and are neither cancelled nor filled.';
comment on column dex_private.standing_offer.made is 'The block in which the offer was made.';
grant select on dex_private.standing_offer to dex_reader, dex_writer;

create view dex_private.derived_standing_offer as
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id as offer_id,
  offer.block as made
from public.dex_offer as offer
where offer.market_id is not null
  and offer.price is not null
  and offer.ended is null;
comment on view dex_private.derived_standing_offer is 'The correct rows of standing_offer.';

create function dex_private.enter_book(offers integer[], out touched integer[])
language plpgsql
as $$
begin
  with entered as (
    insert into dex_private.standing_offer
    select derived.*
    from unnest(offers) as given (id)
    join dex_private.derived_standing_offer as derived on derived.offer_id = given.id
    returning market_id
  )
  select coalesce(array_agg(entered.market_id), '{}')
  into touched
  from entered;
end
$$;
comment on function dex_private.enter_book(integer[]) is 'Adds the open ones of these offers to the book. Returns their markets.';

create function dex_private.leave_book(offers integer[], out touched integer[])
language plpgsql
as $$
begin
  with gone as (
    delete from dex_private.standing_offer as standing
    using unnest(offers) as given (id)
    join public.dex_offer as offer on offer.id = given.id
    where standing.market_id = offer.market_id
      and standing.act = offer.act
      and standing.price = offer.price
      and standing.offer_id = offer.id
    returning standing.market_id
  )
  select coalesce(array_agg(gone.market_id), '{}')
  into touched
  from gone;
end
$$;
comment on function dex_private.leave_book(integer[]) is 'Removes these recorded offers from the book. Returns the markets of those that were in it.';

-- The offers that are not open any more, by the blocks in which they were: the books of the past.

create table dex_private.ended_offer (
  market_id integer not null,
  node integer not null,
  made integer not null,
  offer_id integer not null,
  act text not null,
  price numeric not null,
  ended integer not null,
  -- Serves the book as of a block, from the best prices of each node on, without a look at the table.
  constraint ended_offer_pkey primary key (market_id, node, act, price, offer_id) include (made, ended)
);
comment on table dex_private.ended_offer is 'The offers of registered markets that had a price, were open after a block, and are not any more.';
comment on column dex_private.ended_offer.node is 'What block_node gives for the blocks after which the offer was open.';
comment on column dex_private.ended_offer.made is 'The block in which the offer was made: after it, it was open.';
comment on column dex_private.ended_offer.ended is 'The first block after which it was not.';
grant select on dex_private.ended_offer to dex_reader, dex_writer;

-- For each power of two from 2 on, the blocks are in cells of as many. An offer belongs to the cell in which it was made, of the
-- smallest power that is not below the number of its blocks. So of each power, the offers that were open after a block are in
-- its cell or in the one before. There they are a good part of all. A node is the middle of a cell, which no other cell has.
create function dex_private.block_node(first_block integer, last_block integer) returns integer
language plpgsql immutable parallel safe
as $$
declare
  -- All bits below the power.
  below integer := last_block - first_block;
begin
  below := below | (below >> 1);
  below := below | (below >> 2);
  below := below | (below >> 4);
  below := below | (below >> 8);
  below := below | (below >> 16);
  below := below | 1;
  return (first_block & ~below) | ((below >> 1) + 1);
end
$$;
comment on function dex_private.block_node(integer, integer) is 'The cell of blocks to which this range of blocks belongs.';
grant execute on function dex_private.block_node(integer, integer) to dex_reader, dex_writer;

create function dex_private.block_nodes(block integer) returns setof integer
language sql immutable parallel safe
rows 50
as $$
  select (((block >> (bit + 1)) - back) << (bit + 1)) | (1 << bit)
  from generate_series(0, 30) as bit
  cross join generate_series(0, 1) as back
  where block >> (bit + 1) >= back
$$;
comment on function dex_private.block_nodes(integer) is 'What block_node can give for a range with this block in it.';
grant execute on function dex_private.block_nodes(integer) to dex_reader, dex_writer;

create view dex_private.derived_ended_offer as
select
  offer.market_id,
  dex_private.block_node(offer.block, offer.ended - 1) as node,
  offer.block as made,
  offer.id as offer_id,
  offer.act,
  offer.price,
  offer.ended
from public.dex_offer as offer
where offer.market_id is not null
  and offer.price is not null
  and offer.ended > offer.block;
comment on view dex_private.derived_ended_offer is 'The correct rows of ended_offer.';

-- An offer that was filled before can be cancelled later: it is in the books already.
create function dex_private.enter_past_books(offers integer[], after integer) returns void
language plpgsql
as $$
begin
  insert into dex_private.ended_offer
  select derived.*
  from (
    select distinct listed.id
    from unnest(offers) as listed (id)
  ) as given
  join dex_private.derived_ended_offer as derived on derived.offer_id = given.id
  where derived.ended > after;
end
$$;
comment on function dex_private.enter_past_books(integer[], integer) is 'Adds those of these offers that have ended after this block to the books of the past.';

create function dex_private.leave_past_books(offers integer[]) returns void
language plpgsql
as $$
begin
  delete from dex_private.ended_offer as past
  using unnest(offers) as given (id)
  join dex_private.derived_ended_offer as derived on derived.offer_id = given.id
  where past.market_id = derived.market_id
    and past.node = derived.node
    and past.act = derived.act
    and past.price = derived.price
    and past.offer_id = derived.offer_id;
end
$$;
comment on function dex_private.leave_past_books(integer[]) is 'Removes these offers from the books of the past, before what ended them is undone.';

-- The liquidity of the ticks of pools, after each block that changed it.

create table dex_private.pool_tick (
  venue text not null,
  tick integer not null,
  block integer not null,
  net numeric not null,
  gross numeric not null,
  -- Serves the ticks around a price, and each as of a block.
  constraint pool_tick_pkey primary key (venue, tick, block)
);
comment on table dex_private.pool_tick is 'Each tick of a pool with liquidity in ranges, after each block that changed it. Its net liquidity is that of the ranges that begin there, less that of those that end there; its gross liquidity is the sum of both.';
grant select on dex_private.pool_tick to dex_reader, dex_writer;

create view dex_private.derived_pool_tick as
select
  state.venue,
  split_part(given.pair, ':', 1)::integer as tick,
  state.block,
  split_part(given.pair, ':', 2)::numeric as net,
  coalesce(nullif(split_part(given.pair, ':', 3), '')::numeric, abs(split_part(given.pair, ':', 2)::numeric)) as gross
from public.dex_pool_state as state
cross join lateral string_to_table(state.nets, ' ') as given (pair)
where state.nets <> '';
comment on view dex_private.derived_pool_tick is 'The correct rows of pool_tick.';

create function dex_private.pool_ticks_at(venue text, low integer, high integer, block integer)
returns table (tick integer, net numeric, gross numeric)
language sql stable
rows 20
as $$
  -- From one tick to the next one in the index, and of each its last row: a tick can have changed in a million blocks.
  with recursive known as (
    (
      select kept.tick
      from dex_private.pool_tick as kept
      where kept.venue = pool_ticks_at.venue
        and kept.tick between pool_ticks_at.low and pool_ticks_at.high
      order by kept.tick desc
      limit 1
    )
    union all
    select earlier.tick
    from known
    cross join lateral (
      select kept.tick
      from dex_private.pool_tick as kept
      where kept.venue = pool_ticks_at.venue
        and kept.tick between pool_ticks_at.low and known.tick - 1
      order by kept.tick desc
      limit 1
    ) as earlier
  )
  select
    known.tick,
    latest.net,
    latest.gross
  from known
  cross join lateral (
    select
      kept.net,
      kept.gross
    from dex_private.pool_tick as kept
    where kept.venue = pool_ticks_at.venue
      and kept.tick = known.tick
      and kept.block <= pool_ticks_at.block
    order by kept.block desc
    limit 1
  ) as latest
  -- A contract has no tick where nothing is left: only the others end a step of a swap.
  where latest.gross > 0
$$;
comment on function dex_private.pool_ticks_at(text, integer, integer, integer) is 'The ticks of a pool from one to another, both included, at which ranges ended after this block.';
grant execute on function dex_private.pool_ticks_at(text, integer, integer, integer) to dex_reader, dex_writer;

-- The liquidity of a pool is the sum of what its ticks up to the present one have. It changes by what the block changes there, and by
-- the ticks between the one before and the present one.
create view dex_private.miscounted_pool as
select
  state.venue,
  state.block,
  state.tick,
  state.liquidity,
  counted.liquidity as right_liquidity
from public.dex_pool_state as state
left join lateral dex_private.pool_state_at(state.venue, state.block - 1) as earlier on true
cross join lateral (
  select coalesce(earlier.liquidity, 0)
    + coalesce(sum(tick.net) filter (where tick.is_now and tick.tick <= state.tick), 0)
    - coalesce(sum(tick.net) filter (where not tick.is_now and tick.tick <= earlier.tick), 0) as liquidity
  from (
    select split_part(given.pair, ':', 1)::integer as tick
    from string_to_table(state.nets, ' ') as given (pair)
    where state.nets <> ''
    union
    select crossed.tick
    from dex_private.pool_ticks_at(
      state.venue, least(earlier.tick, state.tick) + 1, greatest(earlier.tick, state.tick), state.block
    ) as crossed
    where earlier.tick <> state.tick
  ) as concerned
  cross join lateral (
    select true as is_now, now.*
    from dex_private.pool_ticks_at(state.venue, concerned.tick, concerned.tick, state.block) as now
    union all
    select false, past.*
    from dex_private.pool_ticks_at(state.venue, concerned.tick, concerned.tick, state.block - 1) as past
  ) as tick
) as counted
where state.sqrt_price is not null
  and state.liquidity <> counted.liquidity;
comment on view dex_private.miscounted_pool is 'States of pools whose liquidity does not follow from the state before by their ticks: a change of a range is missing.';
grant select on dex_private.miscounted_pool to dex_writer;

-- The price of a tick.

-- A contract multiplies integers that have 128 fractional bits, and drops what is beyond 128 bits each time. For each bit n of
-- the tick the factor is 1.0001^(−2^n ÷ 2), rounded to the nearest one. This does the same: the factors are the squares of one another.
create function dex_private.tick_sqrt_price(tick integer) returns numeric
language plpgsql immutable strict parallel safe
as $$
declare
  one constant numeric := 340282366920938463463374607431768211456;
  factor numeric := round(1 / sqrt(1.0001::numeric(120, 100)), 100);
  left_bits integer := abs(tick);
  ratio numeric := one;
begin
  while left_bits > 0 loop
    if left_bits % 2 = 1 then
      ratio := div(ratio * round(factor * one), one);
    end if;
    factor := round(factor * factor, 100);
    left_bits := left_bits / 2;
  end loop;
  if tick > 0 then
    ratio := div(one * one - 1, ratio);
  end if;
  return div(ratio + 4294967295, 4294967296);
end
$$;
comment on function dex_private.tick_sqrt_price(integer) is 'The square root of the price 1.0001^tick, times 2^96, as contracts compute it.';
grant execute on function dex_private.tick_sqrt_price(integer) to dex_reader, dex_writer;

-- The prices of pools: what the smallest amount trades at, with the fee of the pool.

-- Of an amount `x` of the one token a pool with the reserves base_amt and quote_amt counts x × (1 − fee). It gives
-- the share x(1 − fee) ÷ (reserve + x(1 − fee)) of the other reserve. For the smallest x that is a price of
-- quote ÷ base × (1 − fee) where it buys base. Where it sells base, it is quote ÷ base ÷ (1 − fee).
--
-- A pool with liquidity in ranges trades the smallest amount as if it had the reserves that its price is the quotient of. That is, of the
-- second token per first one, in the smallest units, the square of sqrt_price ÷ 2^192.
create function dex_private.pools_of(market integer, block integer)
returns table (
  venue text, act text, base_amt numeric, quote_amt numeric, fee integer, bid numeric, ask numeric,
  tick_spacing integer, sqrt_price numeric, tick integer, liquidity numeric
)
language sql stable
rows 2
as $$
  select
    pool.venue,
    pool.act,
    has.base_amt,
    has.quote_amt,
    pool.fee,
    dex_private.quotient(has.quote_amt * (1000000 - pool.fee), has.base_amt * 1000000),
    dex_private.quotient(has.quote_amt * 1000000, has.base_amt * (1000000 - pool.fee)),
    pool.tick_spacing,
    state.sqrt_price,
    state.tick,
    state.liquidity
  from public.dex_pool as pool
  join public.dex_pair as pair on pair.id = pool.market_id
  cross join lateral dex_private.pool_state_at(pool.venue, pools_of.block) as state
  cross join lateral (
    select
      coalesce(
        state.reserve0,
        6277101735386680763835789423207666416102355444464034512896
          * round(10::numeric ^ dex_private.quote_of(pool.act, pair.base_precision, pair.quote_precision))
      ) as first_amt,
      coalesce(
        state.reserve1,
        state.sqrt_price * state.sqrt_price * round(10::numeric ^ dex_private.base_of(pool.act, pair.base_precision, pair.quote_precision))
      ) as second_amt
    where coalesce(state.liquidity, 1) > 0
  ) as priced
  cross join lateral (
    select
      dex_private.base_of(pool.act, priced.first_amt, priced.second_amt) as base_amt,
      dex_private.quote_of(pool.act, priced.first_amt, priced.second_amt) as quote_amt
  ) as has
  where pool.market_id = pools_of.market
    and trunc(has.base_amt, pair.base_precision) > 0
    and trunc(has.quote_amt, pair.quote_precision) > 0
$$;
comment on function dex_private.pools_of(integer, integer) is 'The pools of a market that traded after this block: with a whole smallest unit of both tokens, or with liquidity at their price. Each has the prices at which it bought and sold base: the marginal ones with the fee, rounded once.';
grant execute on function dex_private.pools_of(integer, integer) to dex_reader, dex_writer;

create function dex_private.best_pool_steps(markets integer[], after integer)
returns table (market_id integer, act text, block integer, price numeric)
language sql stable
as $$
  select
    changed.market_id,
    side.act,
    changed.block,
    case side.act when 'buy' then max(pool.bid) else min(pool.ask) end
  from (
    select distinct
      pool.market_id,
      greatest(state.block, best_pool_steps.after + 1) as block
    from public.dex_pool as pool
    join public.dex_pool_state as state on state.venue = pool.venue
    where pool.market_id = any (markets)
      and state.block >= coalesce(
        (
          select newest.block
          from dex_private.pool_state_at(pool.venue, best_pool_steps.after) as newest
        ),
        0
      )
  ) as changed
  cross join (values ('buy'), ('sell')) as side (act)
  left join lateral dex_private.pools_of(changed.market_id, changed.block) as pool on true
  group by
    changed.market_id,
    changed.block,
    side.act
$$;
comment on function dex_private.best_pool_steps(integer[], integer) is 'The best prices of the pools of these markets after each block from the next one on that changed a pool.';

-- The best price of each side of each book, after each block that changed it.

create table dex_private.best_price (
  market_id integer not null,
  act text not null,
  block integer not null,
  price numeric,
  constraint best_price_pkey primary key (market_id, act, block)
);
comment on table dex_private.best_price is 'The best price of a side of a market''s book, of its offers and pools, for each block after which it was another than before.';
comment on column dex_private.best_price.act is 'The side: `buy` for the bid, `sell` for the ask.';
comment on column dex_private.best_price.price is 'Null where the side was empty.';
grant select on dex_private.best_price to dex_reader, dex_writer;

-- The planner inlines it: a statement of it alone takes longer to begin than to find the row.
create function dex_private.best_price_at(market integer, act text, block integer) returns setof dex_private.best_price
language sql stable parallel safe
rows 1
as $$
  select *
  from dex_private.best_price as best
  where best.market_id = best_price_at.market
    and best.act = best_price_at.act
    and best.block <= best_price_at.block
  order by best.block desc
  limit 1
$$;
comment on function dex_private.best_price_at(integer, text, integer) is 'The best price of a side of a market''s book after this block.';
grant execute on function dex_private.best_price_at(integer, text, integer) to dex_reader, dex_writer;

-- From the best price on, an offer is the best one in those of its blocks in which no better one was open. The blocks in which offers
-- begin and end cut the time into pieces. `next` has for each piece where to look for the next one without a price, so that each gets
-- its price once, and one with a price is hardly looked at again.
create function dex_private.best_offer_steps(markets integer[], after integer, ended integer[] default null)
returns table (market_id integer, act text, block integer, price numeric)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  sorted record;
  -- A variable of an array would be copied at each look.
  side record;
  next integer[];
  piece integer;
  beyond integer;
begin
  for sorted in
    with offer as materialized (
      select
        standing.market_id,
        standing.act,
        standing.price,
        greatest(standing.made, after + 1) as made,
        null::integer as ended
      from dex_private.standing_offer as standing
      where standing.market_id = any (markets)
      union all
      select
        past.market_id,
        past.act,
        past.price,
        greatest(past.made, after + 1),
        past.ended
      from dex_private.ended_offer as past
      where past.market_id = any (markets)
        and past.ended > after
        and best_offer_steps.ended is null
      union all
      select
        derived.market_id,
        derived.act,
        derived.price,
        greatest(derived.made, after + 1),
        derived.ended
      from (
        select distinct listed.id
        from unnest(best_offer_steps.ended) as listed (id)
      ) as given
      join dex_private.derived_ended_offer as derived on derived.offer_id = given.id
      where derived.ended > after
    )
    -- Of each side its pieces first, and then its offers.
    select
      edge.market_id,
      edge.act,
      array_agg(distinct edge.block) as begins,
      null::numeric as price,
      null::integer as made,
      null::integer as ended,
      null::numeric as place
    from (
      select
        offer.market_id,
        offer.act,
        unnest(array[after + 1, offer.made, offer.ended]) as block
      from offer
    ) as edge
    where edge.block is not null
    group by
      edge.market_id,
      edge.act
    union all
    select
      offer.market_id,
      offer.act,
      null,
      offer.price,
      offer.made,
      offer.ended,
      case offer.act when 'buy' then -offer.price else offer.price end
    from offer
    union all
    -- Ends the last side.
    select
      null,
      null,
      '{}',
      null,
      null,
      null,
      null
    order by
      market_id,
      act,
      begins nulls last,
      place
  loop
    if sorted.begins is not null then
      if next is not null then
        return query
          select
            side.market_id,
            side.act,
            side.begins[free.piece],
            null::numeric
          from unnest(next) with ordinality as free (piece, place)
          where free.piece = free.place
            and free.piece <= cardinality(side.begins);
      end if;
      side := sorted;
      market_id := side.market_id;
      act := side.act;
      next := array(
        select *
        from generate_series(1, cardinality(side.begins) + 1)
      );
      continue;
    end if;
    price := sorted.price;
    piece := width_bucket(sorted.made, side.begins);
    beyond := coalesce(width_bucket(sorted.ended, side.begins), cardinality(next));
    loop
      while next[piece] > piece loop
        next[piece] := next[next[piece]];
        piece := next[piece];
      end loop;
      exit when piece >= beyond;
      block := side.begins[piece];
      return next;
      next[piece] := piece + 1;
    end loop;
  end loop;
end
$$;
comment on function dex_private.best_offer_steps(integer[], integer, integer[]) is 'The best prices of the offers of these markets from the block after this one on. There is one at each block from which an offer was the best, or none was open.';

-- The best price is of whichever is better: it changes where one of the two does.
create function dex_private.derived_best_prices(markets integer[], after integer, ended integer[] default null)
returns setof dex_private.best_price
language plpgsql stable
as $$
declare
  step record;
  best dex_private.best_price;
  offered numeric;
  pooled numeric;
  price_before numeric;
begin
  for step in
    select
      given.market_id,
      given.act,
      given.block,
      bool_or(not given.is_pool) as is_offer,
      max(given.price) filter (where not given.is_pool) as offered,
      bool_or(given.is_pool) as is_pool,
      max(given.price) filter (where given.is_pool) as pooled
    from (
      select
        steps.*,
        false as is_pool
      from dex_private.best_offer_steps(markets, after, derived_best_prices.ended) as steps
      union all
      select
        steps.*,
        true
      from dex_private.best_pool_steps(markets, after) as steps
    ) as given
    group by
      given.market_id,
      given.act,
      given.block
    order by
      given.market_id,
      given.act,
      given.block
  loop
    if (step.market_id, step.act) is distinct from (best.market_id, best.act) then
      best.market_id := step.market_id;
      best.act := step.act;
      offered := null;
      pooled := null;
      price_before := (select known.price from dex_private.best_price_at(step.market_id, step.act, after) as known);
    end if;
    if step.is_offer then
      offered := step.offered;
    end if;
    if step.is_pool then
      pooled := step.pooled;
    end if;
    best.block := step.block;
    best.price := case step.act when 'buy' then greatest(offered, pooled) else least(offered, pooled) end;
    continue when best.price is not distinct from price_before;
    price_before := best.price;
    return next best;
  end loop;
end
$$;
comment on function dex_private.derived_best_prices(integer[], integer, integer[]) is 'The correct rows of best_price for these markets and the blocks after this one. Where `ended` is given, it has all offers that ended after that block.';

create function dex_private.derive_best_prices(markets integer[], after integer, ended integer[] default null) returns void
language plpgsql
as $$
begin
  delete from dex_private.best_price as kept
  where kept.market_id = any (markets)
    and kept.act in ('buy', 'sell')
    and kept.block > after;

  insert into dex_private.best_price
  select *
  from dex_private.derived_best_prices(markets, after, ended);
end
$$;
comment on function dex_private.derive_best_prices(integer[], integer, integer[]) is 'Recomputes the best prices of these markets after this block.';

-- Which markets were active, for past blocks.

create table dex_private.active_until (
  market_id integer not null,
  block integer not null,
  active boolean not null,
  constraint active_until_pkey primary key (market_id, block)
);
comment on table dex_private.active_until is 'What `active` of a market was up to a block, and is not after it. A change holds from the block after the head at which it was made.';
comment on column dex_private.active_until.block is 'The last block with this value.';
grant select on dex_private.active_until to dex_reader, dex_writer;

create function dex_private.past_active(market integer) returns boolean
language plpgsql stable
as $$
begin
  return (
    select until.active
    from dex_private.active_until as until
    where until.market_id = market
      and until.block >= (select past.block from dex_private.past_moment() as past)
    order by until.block
    limit 1
  );
end
$$;
comment on function dex_private.past_active(integer) is 'Whether a market was active as of the block that `dex.as_of_block` names, if that has changed since.';
grant execute on function dex_private.past_active(integer) to dex_reader, dex_writer;

-- The planner inlines it.
create function dex_private.active_of(market integer, active boolean) returns boolean
language sql stable
as $$
  select case when dex_private.is_past() then coalesce(dex_private.past_active(market), active) else active end
$$;
comment on function dex_private.active_of(integer, boolean) is 'Whether a market is active, as of what as_of names, given whether it is now.';
grant execute on function dex_private.active_of(integer, boolean) to dex_reader, dex_writer;

create function dex_private.keep_active(market integer, block integer) returns void
language sql
as $$
  -- The first change after a block counts: what it ended was so as of the block.
  insert into dex_private.active_until (market_id, block, active)
  select
    pair.id,
    keep_active.block,
    pair.active
  from public.dex_pair as pair
  where pair.id = keep_active.market
    and keep_active.block is not null
  on conflict do nothing
$$;
comment on function dex_private.keep_active(integer, integer) is 'Records that `active` of a market is about to change at this head.';

create function dex_private.take_back_active(head integer) returns void
language plpgsql
as $$
begin
  -- What was so up to the new head, is recorded by the first change after it.
  with later as (
    delete from dex_private.active_until as until
    where until.block > head
      or head is null
    returning
      until.market_id,
      until.block,
      until.active
  )
  insert into dex_private.active_until (market_id, block, active)
  select distinct on (later.market_id)
    later.market_id,
    head,
    later.active
  from later
  where head is not null
  order by
    later.market_id,
    later.block
  on conflict do nothing;
end
$$;
comment on function dex_private.take_back_active(integer) is 'Has the changes of `active` after this head hold from the block after it.';

-- Sums of each market by minute and by hour.

create table dex_private.period_figure (
  market_id integer not null,
  minutes integer not null,
  start timestamptz not null,
  trades integer not null,
  base_amt numeric not null,
  quote_amt numeric not null,
  open numeric,
  high numeric,
  low numeric,
  close numeric,
  unpriced_trades integer not null,
  unpriced_quote_amt numeric not null,
  constraint period_figure_pkey primary key (market_id, minutes, start)
)
with (fillfactor = 80);

comment on table dex_private.period_figure is 'Sums and prices of each market for each minute and each hour with a trade.';
comment on column dex_private.period_figure.minutes is 'The length of the period: 1 or 60.';
comment on column dex_private.period_figure.trades is 'Number of trades, including those without a price.';
comment on column dex_private.period_figure.open is 'The price of the first trade that has a price. Null, like high, low and close, if no trade has one.';
comment on column dex_private.period_figure.unpriced_trades is 'Number of trades with a base amount of 0, which have no price.';
comment on column dex_private.period_figure.unpriced_quote_amt is 'The sum of the quote amounts of these trades.';
grant select on dex_private.period_figure to dex_reader, dex_writer;

-- `offset 0` keeps `market_id is not null` away from the trades: with it the planner would scan the whole
-- index by market.
create function dex_private.figures_from(
  first_trade bigint,
  market integer default null,
  beyond bigint default 9223372036854775807
)
returns setof dex_private.period_figure
language sql stable
as $$
  select
    dealt.market_id,
    period.minutes,
    date_bin(period.minutes * interval '1 minute', dealt.time, 'epoch'),
    count(*)::integer,
    sum(dealt.base_amt),
    sum(dealt.quote_amt),
    (array_agg(dealt.price order by dealt.id) filter (where dealt.price is not null))[1],
    max(dealt.price),
    min(dealt.price),
    (array_agg(dealt.price order by dealt.id desc) filter (where dealt.price is not null))[1],
    (count(*) filter (where dealt.price is null))::integer,
    coalesce(sum(dealt.quote_amt) filter (where dealt.price is null), 0.000000000000000000)
  from (
    select
      trade.market_id,
      trade.id,
      trade.time,
      trade.price,
      dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt) as base_amt,
      dex_private.quote_of(trade.act, trade.lot_amt, trade.bid_amt) as quote_amt
    from public.dex_trade as trade
    where trade.id >= first_trade
      and trade.id < figures_from.beyond
      and (figures_from.market is null or trade.market_id = figures_from.market)
    offset 0
  ) as dealt
  cross join unnest('{1,60}'::integer[]) as period (minutes)
  where dealt.market_id is not null
  group by 1, 2, 3
$$;
comment on function dex_private.figures_from(bigint, integer, bigint) is 'Computes the minutes and hours of all markets, or of one, from the trades from this id on, and below the other.';
grant execute on function dex_private.figures_from(bigint, integer, bigint) to dex_reader, dex_writer;

-- A block's figures are given, because its running sums need them too. Those of a whole history would be more than an array can have.
create function dex_private.keep_figures(first_trade bigint, figures dex_private.period_figure[] default null) returns void
language plpgsql
as $$
begin
  merge into dex_private.period_figure as kept
  using (
    select *
    from unnest(keep_figures.figures)
    union all
    select *
    from dex_private.figures_from(first_trade)
    where keep_figures.figures is null
  ) as added
  on kept.market_id = added.market_id
    and kept.minutes = added.minutes
    and kept.start = added.start
  when matched then
    update
    set
      trades = kept.trades + added.trades,
      base_amt = kept.base_amt + added.base_amt,
      quote_amt = kept.quote_amt + added.quote_amt,
      open = coalesce(kept.open, added.open),
      high = greatest(kept.high, added.high),
      low = least(kept.low, added.low),
      close = coalesce(added.close, kept.close),
      unpriced_trades = kept.unpriced_trades + added.unpriced_trades,
      unpriced_quote_amt = kept.unpriced_quote_amt + added.unpriced_quote_amt
  when not matched then
    insert
    values (
      added.market_id,
      added.minutes,
      added.start,
      added.trades,
      added.base_amt,
      added.quote_amt,
      added.open,
      added.high,
      added.low,
      added.close,
      added.unpriced_trades,
      added.unpriced_quote_amt
    );
end
$$;
comment on function dex_private.keep_figures(bigint, dex_private.period_figure[]) is 'Adds the newest trades, which start at this id, to the minutes and hours. `figures` are those of these trades, where they are known.';

-- Mostly the market was not traded again in the same minute. Each statement takes longer to begin than to read its rows, so one finds
-- when it was traded again, and sums the minutes.
create function dex_private.cut_period(market integer, minutes integer, moment dex_private.last_moment)
returns dex_private.period_figure[]
language plpgsql stable
as $$
declare
  next_minute constant timestamptz := dex_private.minute_of(moment.time) + interval '1 minute';
  traded_next timestamptz;
  cut dex_private.period_figure[];
begin
  select
    later.time,
    case
      when later.time < later.start + make_interval(mins => cut_period.minutes) then array(
        select row(
          market,
          cut_period.minutes,
          later.start,
          sum(figure.trades),
          sum(figure.base_amt),
          sum(figure.quote_amt),
          (array_agg(figure.open order by figure.start) filter (where figure.open is not null))[1],
          max(figure.high),
          min(figure.low),
          (array_agg(figure.close order by figure.start desc) filter (where figure.close is not null))[1],
          sum(figure.unpriced_trades),
          sum(figure.unpriced_quote_amt)
        )::dex_private.period_figure
        from dex_private.period_figure as figure
        where figure.market_id = market
          and figure.minutes = 1
          and figure.start >= later.start
          and figure.start < case when later.time < next_minute then next_minute - interval '1 minute' else next_minute end
        having count(*) > 0
      )
    end
  into
    traded_next,
    cut
  from (
    select
      date_bin(make_interval(mins => cut_period.minutes), moment.time, 'epoch') as start,
      (
        select summed.time
        from dex_private.running_sum as summed
        where summed.market_id = market
          and (summed.time, summed.block) > (moment.time, moment.block)
        order by
          summed.time,
          summed.block
        limit 1
      ) as time
    offset 0
  ) as later;
  if cut is not null and traded_next < next_minute then
    cut := cut || array(
      select figure
      from dex_private.figures_from(
        dex_private.first_trade_from(next_minute - interval '1 minute'),
        market,
        dex_private.first_trade_of(moment.block + 1)
      ) as figure
      where figure.minutes = 1
    );
  end if;
  return cut;
end
$$;
comment on function dex_private.cut_period(integer, integer, dex_private.last_moment) is 'The minute, or the hour, of a market that this moment is in, up to it, in up to two parts. Empty where it has no trade, null where that is all of it.';
grant execute on function dex_private.cut_period(integer, integer, dex_private.last_moment) to dex_reader, dex_writer;

create function dex_private.market_of(tokens text[]) returns text
language sql stable parallel safe
as $$
  select pair.market
  from public.dex_pair as pair
  where (least(pair.base_gem, pair.quote_gem), greatest(pair.base_gem, pair.quote_gem)) = (least(tokens[1], tokens[2]), greatest(tokens[1], tokens[2]))
$$;
comment on function dex_private.market_of(text[]) is 'The market of two tokens, whichever is base: its trades are exactly those of both tokens. Null where they are no registered pair, or are spelled otherwise.';
grant execute on function dex_private.market_of(text[]) to dex_reader;

-- What each market had traded up to a block: a window is the difference of two rows.

create table dex_private.running_sum (
  market_id integer not null,
  time timestamptz not null,
  block integer not null,
  trades bigint not null,
  base_amt numeric not null,
  quote_amt numeric not null,
  last numeric,
  last_time timestamptz,
  low numeric,
  high numeric,
  day_low numeric,
  day_high numeric,
  constraint running_sum_pkey primary key (market_id, time, block)
);
comment on table dex_private.running_sum is 'The sums of each market from its first trade up to each block in which it was traded.';
comment on column dex_private.running_sum.trades is 'Number of trades, including those without a price.';
comment on column dex_private.running_sum.last is 'The price of the newest trade that has a price.';
comment on column dex_private.running_sum.last_time is 'The time of that trade.';
comment on column dex_private.running_sum.low is 'The lowest price of a trade in the block itself; high likewise.';
comment on column dex_private.running_sum.day_low is 'The lowest price of a trade in the 24 hours up to the block, (t - 24 h, t]; day_high likewise.';
grant select on dex_private.running_sum to dex_reader, dex_writer;

create function dex_private.keep_running_sums_of_block(number integer, at timestamptz, figures dex_private.period_figure[])
returns void
language plpgsql
as $$
begin
  insert into dex_private.running_sum
  select
    traded.market_id,
    keep_running_sums_of_block.at,
    keep_running_sums_of_block.number,
    coalesce(before.trades, 0) + traded.trades,
    coalesce(before.base_amt, 0) + traded.base_amt,
    coalesce(before.quote_amt, 0) + traded.quote_amt,
    coalesce(traded.close, before.last),
    case when traded.close is null then before.last_time else keep_running_sums_of_block.at end,
    traded.low,
    traded.high,
    figure.low,
    figure.high
  from unnest(figures) as traded
  join dex_private.market_figure as figure on figure.market_id = traded.market_id
  left join lateral (
    select *
    from dex_private.running_sum as kept
    where kept.market_id = traded.market_id
    order by
      kept.time desc,
      kept.block desc
    limit 1
  ) as before on true
  where traded.minutes = 1;
end
$$;
comment on function dex_private.keep_running_sums_of_block(integer, timestamptz, dex_private.period_figure[]) is 'Adds the head by the minutes of its trades, after market_figure is as of it.';

-- A day that ends with a row begins in the bucket of 24 hours before the row's, or has no row before its bucket. So its lowest
-- price is that of a part at the end of one bucket, and a part at the start of the next. A window frame of 24 hours would read a whole
-- day for each row.
create function dex_private.keep_running_sums(first_trade bigint, market integer default null) returns void
language plpgsql
as $$
begin
  insert into dex_private.running_sum
  -- `offset 0` keeps `market_id is not null` away from the trades: with it the planner would scan the whole index by market.
  with added as materialized (
    select
      summed.market_id,
      summed.time,
      summed.block,
      coalesce(before.trades, 0) + summed.trades as trades,
      coalesce(before.base_amt, 0) + summed.base_amt as base_amt,
      coalesce(before.quote_amt, 0) + summed.quote_amt as quote_amt,
      coalesce(summed.last, before.last) as last,
      coalesce(summed.last_time, before.last_time) as last_time,
      summed.low,
      summed.high,
      null::numeric as day_low,
      null::numeric as day_high
    from (
      select
        traded.market_id,
        traded.time,
        traded.block,
        min(traded.time) over market as first_time,
        min(traded.block) over market as first_block,
        (sum(traded.trades) over so_far)::bigint as trades,
        sum(traded.base_amt) over so_far as base_amt,
        sum(traded.quote_amt) over so_far as quote_amt,
        first_value(traded.last) over since_priced as last,
        case when first_value(traded.last) over since_priced is not null then first_value(traded.time) over since_priced end
          as last_time,
        traded.low,
        traded.high
      from (
        select
          by_block.*,
          count(by_block.last) over (
            partition by by_block.market_id
            order by by_block.block
          ) as priced_blocks
        from (
          select
            dealt.market_id,
            dealt.time,
            dealt.block,
            count(*) as trades,
            sum(dealt.base_amt) as base_amt,
            sum(dealt.quote_amt) as quote_amt,
            (array_agg(dealt.price order by dealt.id desc) filter (where dealt.price is not null))[1] as last,
            min(dealt.price) as low,
            max(dealt.price) as high
          from (
            select
              trade.market_id,
              trade.id,
              trade.block,
              trade.time,
              trade.price,
              dex_private.base_of(trade.act, trade.lot_amt, trade.bid_amt) as base_amt,
              dex_private.quote_of(trade.act, trade.lot_amt, trade.bid_amt) as quote_amt
            from public.dex_trade as trade
            where trade.id >= keep_running_sums.first_trade
              and (keep_running_sums.market is null or trade.market_id = keep_running_sums.market)
            offset 0
          ) as dealt
          where dealt.market_id is not null
          group by
            dealt.market_id,
            dealt.time,
            dealt.block
        ) as by_block
      ) as traded
      window
        market as (partition by traded.market_id),
        so_far as (partition by traded.market_id order by traded.block),
        since_priced as (partition by traded.market_id, traded.priced_blocks order by traded.block)
    ) as summed
    left join lateral (
      select *
      from dex_private.running_sum as kept
      where kept.market_id = summed.market_id
        and (kept.time, kept.block) < (summed.first_time, summed.first_block)
      order by
        kept.time desc,
        kept.block desc
      limit 1
    ) as before on true
  ),
  listed as (
    select
      rows.*,
      date_bin(interval '24 hours', rows.time, 'epoch') as bucket
    from (
      select
        added.*,
        true as is_added
      from added
      union all
      select
        kept.*,
        false
      from (
        select
          added.market_id,
          min(added.time) as time
        from added
        group by added.market_id
      ) as first
      join dex_private.running_sum as kept
        on kept.market_id = first.market_id
        and kept.time > first.time - interval '24 hours'
    ) as rows
  ),
  parted as (
    select
      listed.*,
      min(listed.low) over up_to as first_low,
      max(listed.high) over up_to as first_high,
      min(listed.low) over onward as rest_low,
      max(listed.high) over onward as rest_high
    from listed
    window
      up_to as (partition by listed.market_id, listed.bucket order by listed.time, listed.block rows unbounded preceding),
      -- Blocks of one time have the same rest: `day` is ordered by time alone.
      onward as (partition by listed.market_id, listed.bucket order by listed.time desc)
  ),
  opened as (
    select
      parted.*,
      first_value(parted.bucket) over day < parted.bucket as is_of_two,
      first_value(parted.rest_low) over day as opening_low,
      first_value(parted.rest_high) over day as opening_high
    from parted
    window day as (
      partition by parted.market_id
      order by parted.time
      range between interval '24 hours' - interval '1 microsecond' preceding and current row
    )
  )
  select
    opened.market_id,
    opened.time,
    opened.block,
    opened.trades,
    opened.base_amt,
    opened.quote_amt,
    opened.last,
    opened.last_time,
    opened.low,
    opened.high,
    least(opened.first_low, case when opened.is_of_two then opened.opening_low end),
    greatest(opened.first_high, case when opened.is_of_two then opened.opening_high end)
  from opened
  where opened.is_added;
end
$$;
comment on function dex_private.keep_running_sums(bigint, integer) is 'Adds the newest trades, which start at this id, or all those of a market that has no row.';

create function dex_private.trades_of(market text) returns bigint
language sql stable parallel safe
as $$
  select coalesce(sum(summed.trades), 0)::bigint
    + (
      select count(*)
      from public.dex_trade as trade
      where trade.market_id is null
        and trades_of.market is null
        and trade.id < (select as_of.beyond from dex_private.as_of)
    )
  from dex_private.as_of
  cross join public.dex_pair as pair
  cross join lateral (
    select kept.trades
    from dex_private.running_sum as kept
    where kept.market_id = pair.id
      and (kept.time, kept.block) <= (as_of.time, as_of.block)
    order by
      kept.time desc,
      kept.block desc
    limit 1
  ) as summed
  where pair.market = coalesce(trades_of.market, pair.market)
$$;
comment on function dex_private.trades_of(text) is 'How many trades a market has, or for null how many there are, as of what as_of names. Reads one row a market, and the trades of no market.';
grant execute on function dex_private.trades_of(text) to dex_reader;

-- The figures of a market as of any block: for past blocks, and to derive those of the head.

-- In a transaction each expression and each statement of plpgsql takes longer to begin than to find a row. So the functions
-- that every past block needs have one statement each.

create type dex_private.price_range as (
  low numeric,
  high numeric
);
comment on type dex_private.price_range is 'The lowest and the highest price of the trades of some time.';

-- From whole hours, and at both ends from minutes and blocks.
create function dex_private.range_at(market integer, moment dex_private.last_moment) returns dex_private.price_range
language plpgsql stable strict parallel safe
as $$
declare
  first_time constant timestamptz := moment.time - interval '24 hours';
  first_minute constant timestamptz := dex_private.minute_of(first_time) + interval '1 minute';
  first_hour constant timestamptz := dex_private.hour_of(first_time) + interval '1 hour';
  last_minute constant timestamptz := dex_private.minute_of(moment.time);
  last_hour constant timestamptz := dex_private.hour_of(moment.time);
begin
  return (
    select row(min(part.low), max(part.high))::dex_private.price_range
    from (
      select
        figure.low,
        figure.high
      from (
        values
          (60, first_hour, last_hour),
          (1, first_minute, first_hour),
          (1, last_hour, last_minute)
      ) as span (minutes, start, beyond)
      cross join lateral (
        select
          min(figures.low) as low,
          max(figures.high) as high
        from dex_private.period_figure as figures
        where figures.market_id = range_at.market
          and figures.minutes = span.minutes
          and figures.start >= span.start
          and figures.start < span.beyond
      ) as figure
      union all
      select
        block.low,
        block.high
      from (
        values
          (first_time, 2147483647, first_minute, -1),
          (last_minute, -1, moment.time, coalesce(moment.block, 2147483647))
      ) as span (time, block, last_time, last_block)
      cross join lateral (
        select
          min(summed.low) as low,
          max(summed.high) as high
        from dex_private.running_sum as summed
        where summed.market_id = range_at.market
          and (summed.time, summed.block) > (span.time, span.block)
          and (summed.time, summed.block) <= (span.last_time, span.last_block)
      ) as block
    ) as part
  );
end
$$;
comment on function dex_private.range_at(integer, dex_private.last_moment) is 'The lowest and the highest price of a market in the 24 hours up to a moment, where no row of running_sum has them.';
grant execute on function dex_private.range_at(integer, dex_private.last_moment) to dex_reader, dex_writer;

create type dex_private.window_figures as (
  last numeric,
  last_time timestamptz,
  open numeric,
  low numeric,
  high numeric,
  trades_24h integer,
  base_24h numeric,
  quote_24h numeric,
  base_12h numeric,
  quote_12h numeric,
  base_6h numeric,
  quote_6h numeric,
  base_1h numeric,
  quote_1h numeric
);
comment on type dex_private.window_figures is 'The last price, the one of 24 hours before, the lowest and the highest since, and the sums of the windows (t - W, t]. Lowest, highest and the sums of 24 hours are null where nothing was traded in them.';

-- Where the time of a block is given alone, an index finds the last row in less time than with the block beside it.
create function dex_private.sums_up_to(market integer, moment dex_private.last_moment) returns dex_private.running_sum
language plpgsql stable parallel safe
as $$
begin
  return (
    select summed
    from dex_private.running_sum as summed
    where summed.market_id = sums_up_to.market
      and (summed.time, summed.block) <= (moment.time, moment.block)
    order by
      summed.time desc,
      summed.block desc
    limit 1
  );
end
$$;
comment on function dex_private.sums_up_to(integer, dex_private.last_moment) is 'The sums of a market as of a moment, where later blocks have its time. Null if there are none.';
grant execute on function dex_private.sums_up_to(integer, dex_private.last_moment) to dex_reader, dex_writer;

-- The times are hidden in subqueries: else PostgreSQL would plan the statement for each of them.
create function dex_private.is_range_gone(market integer, last dex_private.running_sum, moment dex_private.last_moment) returns boolean
language plpgsql stable parallel safe
as $$
begin
  -- Many may have left in that time.
  if last.time < moment.time - interval '10 minutes' then
    return true;
  end if;
  return (
    select min(gone.low) <= last.day_low or max(gone.high) >= last.day_high
    from dex_private.running_sum as gone
    where gone.market_id = is_range_gone.market
      and gone.time > (select last.time - interval '24 hours')
      and gone.time <= (select moment.time - interval '24 hours')
  );
end
$$;
comment on function dex_private.is_range_gone(integer, dex_private.running_sum, dex_private.last_moment) is 'Whether a trade may have left the 24 hours up to a moment that had the lowest or the highest price of the last row before it.';
grant execute on function dex_private.is_range_gone(integer, dex_private.running_sum, dex_private.last_moment) to dex_reader, dex_writer;

-- One scan finds the rows of all edges. PostgreSQL makes the expressions ready once for a transaction, and a statement for each
-- market. So the differences are no part of the statement, and what few markets need is in other functions.
create function dex_private.windows_at(market integer, moment dex_private.last_moment) returns dex_private.window_figures
language plpgsql stable strict parallel safe
as $$
declare
  -- As of the moment, and of 24, 12, 6 hours and 1 hour before.
  edges dex_private.running_sum[] := array(
    select coalesce(
      (
        select case when summed.block > moment.block then dex_private.sums_up_to(market, moment) else summed end
        from dex_private.running_sum as summed
        where summed.market_id = windows_at.market
          and summed.time <= moment.time - edge.span
        order by
          summed.time desc,
          summed.block desc
        limit 1
      ),
      row(null, null, null, 0, 0.000000000000000000, 0.000000000000000000, null, null, null, null, null, null)::dex_private.running_sum
    )
    from (
      values
        (interval '0'),
        ('24 hours'),
        ('12 hours'),
        ('6 hours'),
        ('1 hour')
    ) as edge (span)
  );
  now dex_private.running_sum := edges[1];
  day dex_private.running_sum := edges[2];
  range dex_private.price_range;
begin
  if (day.time <= now.time - interval '24 hours') is not true then
    if now.trades = day.trades then
      now.day_low := null;
      now.day_high := null;
      day.base_amt := null;
      day.quote_amt := null;
    elsif day.time is not null and dex_private.is_range_gone(market, now, moment) then
      range := dex_private.range_at(market, moment);
      now.day_low := range.low;
      now.day_high := range.high;
    end if;
  end if;
  return row(
    now.last,
    now.last_time,
    day.last,
    now.day_low,
    now.day_high,
    now.trades - day.trades,
    now.base_amt - day.base_amt,
    now.quote_amt - day.quote_amt,
    now.base_amt - (edges[3]).base_amt,
    now.quote_amt - (edges[3]).quote_amt,
    now.base_amt - (edges[4]).base_amt,
    now.quote_amt - (edges[4]).quote_amt,
    now.base_amt - (edges[5]).base_amt,
    now.quote_amt - (edges[5]).quote_amt
  )::dex_private.window_figures;
end
$$;
comment on function dex_private.windows_at(integer, dex_private.last_moment) is 'The last price and the windows of a market as of a moment.';
grant execute on function dex_private.windows_at(integer, dex_private.last_moment) to dex_reader, dex_writer;

create type dex_private.book_prices as (
  bid numeric,
  ask numeric,
  active boolean
);
comment on type dex_private.book_prices is 'The best prices of a book. `active` is null where it has not changed since.';

create function dex_private.prices_at(market integer, moment dex_private.last_moment) returns dex_private.book_prices
language plpgsql stable strict parallel safe
as $$
begin
  return (
    select row(
      (select best.price from dex_private.best_price_at(market, 'buy', moment.block) as best),
      (select best.price from dex_private.best_price_at(market, 'sell', moment.block) as best),
      (
        select until.active
        from dex_private.active_until as until
        where until.market_id = prices_at.market
          and until.block >= moment.block
        order by until.block
        limit 1
      )
    )::dex_private.book_prices
  );
end
$$;
comment on function dex_private.prices_at(integer, dex_private.last_moment) is 'The best prices of the book of a market as of a moment, and whether it was active.';
grant execute on function dex_private.prices_at(integer, dex_private.last_moment) to dex_reader, dex_writer;

-- All figures of each market as of the head.

create table dex_private.market_figure (
  market_id integer
    constraint market_figure_pkey primary key,
  base text not null,
  quote text not null,
  active boolean not null,
  last numeric,
  last_time timestamptz,
  open numeric,
  bid numeric,
  ask numeric,
  low numeric,
  high numeric,
  trades_24h integer not null,
  base_24h numeric not null,
  quote_24h numeric not null,
  base_12h numeric not null,
  quote_12h numeric not null,
  base_6h numeric not null,
  quote_6h numeric not null,
  base_1h numeric not null,
  quote_1h numeric not null
)
with (fillfactor = 50);

-- Serves the published views, by both symbols. Not unique, since pairs may exchange their names.
create index market_figure_base_quote_idx on dex_private.market_figure (base, quote);

comment on table dex_private.market_figure is 'The figures of each registered market as of the head. Every write updates them.';
comment on column dex_private.market_figure.base is 'Of dex_pair, as quote and active: so that the published views read one table.';
comment on column dex_private.market_figure.last is 'The price of the newest trade that has a price.';
comment on column dex_private.market_figure.last_time is 'The time of that trade.';
comment on column dex_private.market_figure.open is 'The price of the newest trade with a price at or before t - 24 h.';
comment on column dex_private.market_figure.low is 'The lowest price of the last 24 hours; high and trades_24h cover the same window.';
comment on column dex_private.market_figure.base_24h is 'The sum of the base amounts over (t - 24 h, t]; the other sums likewise.';
grant select on dex_private.market_figure to dex_reader, dex_writer;

create function dex_private.best_offers(market integer)
returns table (bid numeric, ask numeric)
language sql stable
rows 1
as $$
  select
    greatest(
      (
        select max(offer.price)
        from dex_private.standing_offer as offer
        where offer.market_id = best_offers.market
          and offer.act = 'buy'
      ),
      max(pool.bid)
    ),
    least(
      (
        select min(offer.price)
        from dex_private.standing_offer as offer
        where offer.market_id = best_offers.market
          and offer.act = 'sell'
      ),
      min(pool.ask)
    )
  from dex_private.pools_of(best_offers.market, 2147483647) as pool
$$;
comment on function dex_private.best_offers(integer) is 'The best prices of a market''s standing book, of its offers and pools.';

create function dex_private.derive_market_figures(markets integer[]) returns void
language plpgsql
as $$
begin
  delete from dex_private.market_figure as kept
  where kept.market_id = any (markets);

  insert into dex_private.market_figure
  select
    pair.id,
    pair.base,
    pair.quote,
    pair.active,
    sums.last,
    sums.last_time,
    sums.open,
    prices.bid,
    prices.ask,
    sums.low,
    sums.high,
    sums.trades_24h,
    coalesce(sums.base_24h, 0.000000000000000000),
    coalesce(sums.quote_24h, 0.000000000000000000),
    sums.base_12h,
    sums.quote_12h,
    sums.base_6h,
    sums.quote_6h,
    sums.base_1h,
    sums.quote_1h
  from dex_private.last_moment as moment
  cross join public.dex_pair as pair
  cross join lateral dex_private.windows_at(pair.id, moment) as sums
  cross join lateral dex_private.prices_at(pair.id, moment) as prices
  where pair.id = any (markets);
end
$$;
comment on function dex_private.derive_market_figures(integer[]) is 'Recomputes the figures of these markets as of the head, as those of a past block are computed.';

create function dex_private.label_market_figures(markets integer[]) returns void
language plpgsql
as $$
begin
  update dex_private.market_figure as kept
  set
    base = pair.base,
    quote = pair.quote,
    active = pair.active
  from public.dex_pair as pair
  where pair.id = any (markets)
    and kept.market_id = pair.id
    and (kept.base, kept.quote, kept.active) <> (pair.base, pair.quote, pair.active);
end
$$;
comment on function dex_private.label_market_figures(integer[]) is 'Copies the symbols and `active` of these pairs.';

-- Updates the figures of the markets that a block changes.

-- The planner inlines it. Backward, because the newest version of a row is the last one under its key.
create function dex_private.newest_figure(market integer)
returns table (place tid, market_id integer, bid numeric, ask numeric, low numeric, high numeric)
language sql stable
rows 1
as $$
  select *
  from (
    select
      figure.ctid,
      figure.market_id,
      figure.bid,
      figure.ask,
      figure.low,
      figure.high
    from dex_private.market_figure as figure
    where figure.market_id <= newest_figure.market
    order by figure.market_id desc
    limit 1
  ) as kept
  where kept.market_id = newest_figure.market
$$;
comment on function dex_private.newest_figure(integer) is 'Where the figures of a market are, for the one update of a block, and those that it compares.';

-- Most blocks change no book, and the best price of pools takes long to begin.
create function dex_private.keep_best_prices(number integer, touched integer[], out changed dex_private.best_price[])
language plpgsql
as $$
begin
  if touched = '{}' then
    return;
  end if;
  with bettered as (
    insert into dex_private.best_price (market_id, act, block, price)
    select
      kept.market_id,
      side.act,
      keep_best_prices.number,
      side.price
    from (
      select distinct listed.market_id
      from unnest(touched) as listed (market_id)
    ) as given
    cross join lateral dex_private.newest_figure(given.market_id) as kept
    cross join lateral dex_private.best_offers(given.market_id) as best
    cross join lateral (
      values
        ('buy', best.bid, kept.bid),
        ('sell', best.ask, kept.ask)
    ) as side (act, price, price_before)
    where side.price is distinct from side.price_before
    returning best_price.*
  )
  select array_agg(bettered)
  into changed
  from bettered;
end
$$;
comment on function dex_private.keep_best_prices(integer, integer[]) is 'Records the best prices that are others than those of the market figures, of the markets whose book a block touched. Returns them.';

-- Adds the trades of the block, and subtracts those that the windows have left. Sums of numeric are exact, so
-- the result is the sum over the window. Each row is updated once. The next
-- writes read every version of it, for as long as a transaction is open that may read it.
create function dex_private.keep_market_figures(
  number integer,
  first_trade bigint,
  before timestamptz,
  after timestamptz,
  touched integer[]
) returns void
language plpgsql
as $$
declare
  bettered constant dex_private.best_price[] := dex_private.keep_best_prices(number, touched);
begin
  update dex_private.market_figure as kept
  set
    last = coalesce(moved.last, kept.last),
    last_time = case when moved.last is null then kept.last_time else keep_market_figures.after end,
    open = coalesce(moved.open, kept.open),
    bid = case when moved.has_bid then moved.bid else kept.bid end,
    ask = case when moved.has_ask then moved.ask else kept.ask end,
    low = least(case when moved.is_stale then (moved.range).low else kept.low end, moved.new_low),
    high = greatest(case when moved.is_stale then (moved.range).high else kept.high end, moved.new_high),
    trades_24h = kept.trades_24h + coalesce(moved.trades_24h, 0),
    base_24h = kept.base_24h + coalesce(moved.base_24h, 0),
    quote_24h = kept.quote_24h + coalesce(moved.quote_24h, 0),
    base_12h = kept.base_12h + coalesce(moved.base_12h, 0),
    quote_12h = kept.quote_12h + coalesce(moved.quote_12h, 0),
    base_6h = kept.base_6h + coalesce(moved.base_6h, 0),
    quote_6h = kept.quote_6h + coalesce(moved.quote_6h, 0),
    base_1h = kept.base_1h + coalesce(moved.base_1h, 0),
    quote_1h = kept.quote_1h + coalesce(moved.quote_1h, 0)
  from (
    select
      compared.*,
      -- running_sum does not have the block yet.
      case
        when compared.is_stale then
          dex_private.range_at(
            compared.market_id,
            row(keep_market_figures.number, keep_market_figures.after, 9223372036854775807)::dex_private.last_moment
          )
      end as range
    from (
      select
        change.*,
        newest.place,
        -- The lowest or highest trade has left the 24-hour window.
        change.old_low <= newest.low or change.old_high >= newest.high as is_stale
      from (
        select
          dealt.market_id,
          sum(dealt.day)::integer as trades_24h,
          sum(dealt.day * dealt.base_amt) as base_24h,
          sum(dealt.day * dealt.quote_amt) as quote_24h,
          sum(dealt.half_day * dealt.base_amt) as base_12h,
          sum(dealt.half_day * dealt.quote_amt) as quote_12h,
          sum(dealt.quarter_day * dealt.base_amt) as base_6h,
          sum(dealt.quarter_day * dealt.quote_amt) as quote_6h,
          sum(dealt.hour * dealt.base_amt) as base_1h,
          sum(dealt.hour * dealt.quote_amt) as quote_1h,
          min(dealt.price) filter (where dealt.day = 1) as new_low,
          max(dealt.price) filter (where dealt.day = 1) as new_high,
          min(dealt.price) filter (where dealt.day = -1) as old_low,
          max(dealt.price) filter (where dealt.day = -1) as old_high,
          (array_agg(dealt.price order by dealt.id desc) filter (where dealt.day = 1 and dealt.price is not null))[1]
            as last,
          (array_agg(dealt.price order by dealt.id desc) filter (where dealt.day = -1 and dealt.price is not null))[1]
            as open,
          bool_or(dealt.act = 'buy') as has_bid,
          min(dealt.best) filter (where dealt.act = 'buy') as bid,
          bool_or(dealt.act = 'sell') as has_ask,
          min(dealt.best) filter (where dealt.act = 'sell') as ask
        from (
          select
            trade.*,
            moved.day,
            moved.half_day,
            moved.quarter_day,
            moved.hour,
            null as act,
            null::numeric as best
          from (
            values
              (0, 1, 1, 1, 1),
              (24, -1, 0, 0, 0),
              (12, 0, -1, 0, 0),
              (6, 0, 0, -1, 0),
              (1, 0, 0, 0, -1)
          ) as moved (hours, day, half_day, quarter_day, hour)
          left join lateral dex_private.first_from(before - moved.hours * interval '1 hour' + interval '1 microsecond') as opening on true
          left join lateral dex_private.first_from(after - moved.hours * interval '1 hour' + interval '1 microsecond') as closing on true
          cross join lateral (
            select
              trades.id,
              trades.market_id,
              trades.price,
              dex_private.base_of(trades.act, trades.lot_amt, trades.bid_amt) as base_amt,
              dex_private.quote_of(trades.act, trades.lot_amt, trades.bid_amt) as quote_amt
            from public.dex_trade as trades
            where trades.id >= coalesce(opening.first_trade, keep_market_figures.first_trade)
              and trades.id < coalesce(closing.first_trade, 9223372036854775807)
            offset 0
          ) as trade
          union all
          select null, better.market_id, null, null, null, 0, 0, 0, 0, better.act, better.price
          from unnest(bettered) as better
        ) as dealt
        group by dealt.market_id
      ) as change
      cross join lateral dex_private.newest_figure(change.market_id) as newest
    ) as compared
    offset 0
  ) as moved
  -- Writers take turns, so the row is still at its place. Its key would lead through all its versions again.
  where kept.ctid = moved.place;
end
$$;
comment on function dex_private.keep_market_figures(integer, bigint, timestamptz, timestamptz, integer[]) is 'Updates the figures after one block. Adds its trades, which start at this id, and moves the windows from the old to the new time of the head. Reads bid and ask of the markets whose book it touched, and keeps them where they changed.';

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

-- Compares dex_block and write_state with the rows of history.

create view dex_private.misplaced_block as
select
  found.number,
  block.time,
  block.first_trade,
  block.has_rows,
  coalesce(found.time, block.time) as right_time,
  case
    when block.first_trade > found.highest_before and block.first_trade <= coalesce(found.lowest_from, block.first_trade)
      then block.first_trade
    else coalesce(found.lowest_from, found.highest_before + 1)
  end as right_first_trade,
  found.has_rows as right_has_rows
from (
  select
    row_block.number,
    max(row_block.time) as time,
    bool_or(row_block.is_row) as has_rows,
    coalesce(
      max(max(row_block.highest)) over (
        order by row_block.number
        rows between unbounded preceding and 1 preceding
      ),
      0
    ) as highest_before,
    min(min(row_block.lowest)) over (order by row_block.number desc) as lowest_from
  from (
    select
      trade.block as number,
      trade.time,
      true as is_row,
      min(trade.id) as lowest,
      max(trade.id) as highest
    from public.dex_trade as trade
    group by
      trade.block,
      trade.time
    union all
    select offer.block, offer.time, true, null as lowest, null as highest
    from public.dex_offer as offer
    union all
    select cancellation.block, null as time, true, null as lowest, null as highest
    from dex_private.cancellation
    union all
    select state.block, null as time, true, null as lowest, null as highest
    from public.dex_pool_state as state
    union all
    select block.number, null as time, false, null as lowest, null as highest
    from public.dex_block as block
  ) as row_block
  group by row_block.number
) as found
left join public.dex_block as block on block.number = found.number
where block.number is null
  or block.time <> found.time
  or block.has_rows <> found.has_rows
  or block.first_trade <= found.highest_before
  or block.first_trade > found.lowest_from;
comment on view dex_private.misplaced_block is 'Blocks that are missing or contradict their rows, with the correct values.';

-- No trade has an id that was taken back, but first_trade of a later block is above it.
create view dex_private.derived_write_state as
select
  one.row as one_row,
  head.number as head,
  head.hash as head_hash,
  greatest(
    kept.last_trade,
    head.first_trade - 1,
    (select max(trade.id) from public.dex_trade as trade),
    0
  ) as last_trade
from (values (true)) as one (row)
left join dex_private.write_state as kept on true
left join dex_private.last_block as head on true;
comment on view dex_private.derived_write_state is 'The correct row of write_state, without its epoch.';

-- Drops old blocks without rows: on a quiet exchange most blocks have none.

-- A reorganisation is never as deep as 1,000 blocks.
create function ingest.drop_empty_blocks(newest integer) returns void
language plpgsql
as $$
begin
  delete from public.dex_block as block
  where not block.has_rows
    and block.number < newest - 1000;
end
$$;
comment on function ingest.drop_empty_blocks(integer) is 'Deletes the blocks without rows that are more than 1,000 blocks behind this one.';

-- The writer lock: every write locks the row of write_state first and updates it last.

-- Must run before any other read, so that later statements see what the previous writer committed. At
-- repeatable read PostgreSQL raises a serialization failure if that writer changed the row.
create function ingest.take_turn() returns dex_private.write_state
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  state dex_private.write_state;
  head dex_private.last_block;
begin
  select *
  into strict state
  from dex_private.write_state
  for update;
  -- A write on figures of another block would hide that they are wrong.
  select *
  into head
  from dex_private.last_block;
  if (state.head, state.head_hash) is distinct from (head.number, head.hash) then
    perform dex_private.refuse_outdated(state.head, head.number);
  end if;
  return state;
end
$$;
comment on function ingest.take_turn() is 'Waits for the previous writer, locks out others until the transaction ends, and returns the state of the history. A client that calls it first can compare its rows with the recorded ones before it writes. Raises an error if the derived data are not of the last block.';
grant execute on function ingest.take_turn() to dex_writer;

-- Updates the row even if its values stay the same, so that a writer with an older snapshot fails.
create function ingest.written_to(last_trade bigint, epoch bigint) returns void
language plpgsql
as $$
declare
  newest integer;
begin
  update dex_private.write_state as state
  set
    (head, head_hash, final_to) = (
      select
        block.number,
        block.hash,
        case
          when state.final_to > block.number then block.number
          when block.number is not null then state.final_to
        end
      from (values (true)) as one (row)
      left join dex_private.last_block as block on true
    ),
    last_trade = written_to.last_trade,
    epoch = written_to.epoch
  returning head
  into newest;

  perform ingest.drop_empty_blocks(newest);
end
$$;
comment on function ingest.written_to(bigint, bigint) is 'Records the state of the history after its blocks are written, and drops old blocks without rows.';

-- Refuses what cannot be written, and says why a block cannot be the next.

create function ingest.refuse(problem text, code text default 'invalid_parameter_value') returns void
language plpgsql immutable
as $$
begin
  if problem is not null then
    raise exception '%', problem
      using errcode = code;
  end if;
end
$$;
comment on function ingest.refuse(text, text) is 'Raises an error with this message; does nothing if it is null.';

create function ingest.block_problem(
  number integer,
  at timestamptz,
  hash text,
  parent text,
  number_before integer,
  time_before timestamptz,
  hash_before text
) returns text
language sql stable
as $$
  select case
    -- The number behind it must be one too.
    when number is null or number not between 0 and 2147483646 then
      format('number is %s: it must be an integer from 0 to 2147483646', coalesce(number::text, 'null'))
    when at is null or at not between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00' then
      format('block %s is at %s: its time must be a timestamp of the years 1 to 9999', number, coalesce(at::text, 'null'))
    when hash !~ '^0x[0-9a-f]+$' or length(hash) <> 66 then
      format('block %s has the hash %s: it must be 0x and 64 hex digits in lower case', number, left(hash, 90))
    when parent !~ '^0x[0-9a-f]+$' or length(parent) <> 66 then
      format('block %s has the parent %s: it must be 0x and 64 hex digits in lower case', number, left(parent, 90))
    when number <= number_before then
      format('block %s is not after the head, block %s: write blocks in order, take back first what a reorganisation replaces, and load older data whole into a new database', number, number_before)
    when at < time_before then
      format('block %s is at %s, before block %s at %s', number, at, number_before, time_before)
    when hash is null and hash_before is not null then
      format('block %s has no hash, but block %s has one: a source gives the hash of every block or of none', number, number_before)
    when parent <> hash_before and number > number_before + 1 then
      format('block %s has the parent %s, but the last block before it is block %s with the hash %s: a block between them is missing', number, parent, number_before, hash_before)
    when parent <> hash_before then
      format('block %s has the parent %s, but block %s has the hash %s: take back first what a reorganisation replaces', number, parent, number_before, hash_before)
  end
$$;
comment on function ingest.block_problem(integer, timestamptz, text, text, integer, timestamptz, text) is 'Why a block cannot follow the block before it; null if it can.';

create function ingest.hash_problem(number integer, hash text, other integer) returns text
language sql immutable
as $$
  select case
    when other is not null then
      format('block %s has the hash %s, which is that of block %s: a hash is one block''s', number, hash, other)
  end
$$;
comment on function ingest.hash_problem(integer, text, integer) is 'Why a block cannot have this hash: the other block has it.';

-- Validates the offers, trades and pools of a block; the messages name the element and the column.

create function ingest.time_of(given text) returns timestamptz
language plpgsql stable
as $$
begin
  return given::timestamptz;
exception
  when data_exception then
    return null;
end
$$;
comment on function ingest.time_of(text) is 'The text as a timestamp; null if it is not one.';

-- An id leaves 2^52 more below 2^53, up to which JSON numbers are exact: one that is too high would end all ids.
-- A rule is a pattern of the JSON text (in which strings have quotes) and a range of lengths. A pattern with
-- a count, such as {64}, takes eight times as long, and a block of 20 trades has 220 values to check.
create view ingest.rule as
select
  given.listed,
  given.columns,
  field.*,
  field.kind like '%?' as is_optional,
  rule.*
from (
  values
    ('offers', '{id,pair,maker,lot_gem,lot_amt,bid_gem,bid_amt,tx,filled,block,time,venue}'::text[], '{integer,hash,address,address,amount,address,amount,hash,boolean?,integer?,time?,address?}'::text[]),
    ('trades', '{id,offer_id,pair,maker,taker,lot_gem,lot_amt,bid_gem,bid_amt,tx,idx,block,time,venue}', '{id?,integer?,hash,address,address,address,amount,address,amount,hash,integer?,integer?,time?,address?}'),
    ('pools', '{venue,gem0,reserve0,gem1,reserve1,fee,tick_spacing,sqrt_price,tick,liquidity,nets,block,time}', '{address,address,amount?,address,amount?,integer,integer?,units?,tick?,units?,nets?,integer?,time?}')
) as given (listed, columns, kinds)
cross join lateral unnest(given.columns, given.kinds) with ordinality as field (name, kind, place)
join (
  values
    ('amount', '^"[0-9]+([.][0-9]+)?"$', 3, 1000, 1e78, 18, 'a decimal string from 0 to below 10^78 with at most 18 fractional digits'),
    ('integer', '^"?(0|[1-9][0-9]*)"?$', 1, 12, 2147483648, 0, 'an integer from 0 to 2147483647'),
    ('units', '^"(0|[1-9][0-9]*)"$', 3, 51, 1461501637330902918203684832716283019655932542976, 0, 'a decimal string of an integer from 0 to below 2^160'),
    ('tick', '^"?(0|-?[1-9][0-9]*)"?$', 1, 9, 887273, 0, 'an integer from -887272 to 887272'),
    ('nets', '^"(-?[0-9]{1,6}:-?[0-9]{1,50}(:[0-9]{1,50})?( -?[0-9]{1,6}:-?[0-9]{1,50}(:[0-9]{1,50})?)*)?"$', 2, 100000, null, null, 'ticks in their order, each with its net liquidity of up to 50 digits, and its gross liquidity where that is more, as "-60:1000 0:400:1600 60:-1400"'),
    ('id', '^"?[1-9][0-9]*"?$', 1, 18, 4503599627370496, 0, 'an integer from 1 to 4503599627370495'),
    ('address', '^"0x[0-9a-fA-F]+"$', 44, 44, null, null, '0x and 40 hex digits'),
    ('hash', '^"0x[0-9a-f]+"$', 68, 68, null, null, '0x and 64 hex digits in lower case'),
    ('boolean', '^(true|false)$', 4, 5, null, null, 'true or false'),
    ('time', '^"[0-9]+-[0-9]+-[0-9]+[T ][0-9:.]+ ?(Z|[+-][0-9:]+)"$', 12, 90, null, null, 'a timestamp with its UTC offset')
) as rule (type, pattern, shortest, longest, beyond, digits, description) on rule.type = rtrim(field.kind, '?');
comment on view ingest.rule is 'What each column of a listed offer, trade or pool must be.';

-- Immutable, so that the rules are constants in the plan of refuse_rows.
create function ingest.rules(listed text) returns ingest.rule[]
language sql immutable
as $$
  select array_agg(rule order by rule.place)
  from ingest.rule as rule
  where rule.listed = rules.listed
$$;
comment on function ingest.rules(text) is 'The rules of offers, of trades or of pools.';

create function ingest.refuse_rows(listed text, elements jsonb, number integer, at timestamptz) returns void
language plpgsql stable
as $$
declare
  rules constant ingest.rule[] := case listed
    when 'offers' then ingest.rules('offers')
    when 'trades' then ingest.rules('trades')
    else ingest.rules('pools')
  end;
  wrong record;
begin
  if jsonb_typeof(elements) is distinct from 'array' then
    perform ingest.refuse(format('%s is %s: it must be a JSON array', listed, coalesce(left(elements::text, 90), 'null')));
  end if;

  select
    element.value as element,
    element.ordinality,
    given.value,
    rule.*
  into wrong
  from jsonb_array_elements(elements) with ordinality as element
  cross join unnest(rules) as rule
  cross join lateral (
    select (element.value -> rule.name)::text as value
    offset 0
  ) as given
  where case
    when rule.place = 1 and number is not null and jsonb_typeof(element.value) = 'object' and element.value - rule.columns <> '{}' then
      true
    when coalesce(given.value, 'null') = 'null' then
      not rule.is_optional
    when length(given.value) not between rule.shortest and rule.longest or given.value !~ rule.pattern then
      true
    when rule.name = 'block' then
      trim(given.value, '"')::numeric <> number
    when rule.name = 'time' then
      ingest.time_of(trim(given.value, '"')) <> at or ingest.time_of(trim(given.value, '"')) is null
    when rule.name = 'bid_gem' then
      lower(given.value) = lower((element.value -> 'lot_gem')::text)
    when rule.beyond is not null then
      trim(given.value, '"')::numeric >= rule.beyond or scale(trim_scale(trim(given.value, '"')::numeric)) > rule.digits
  end
  order by
    element.ordinality,
    rule.place
  limit 1;
  if found then
    perform ingest.refuse(listed || coalesce(' line ' || (wrong.element ->> 'line'), format('[%s]', wrong.ordinality - 1)) || case
      when jsonb_typeof(wrong.element) <> 'object' then
        format(' is %s: it must be an object', left(wrong.element::text, 90))
      when number is not null and wrong.element - wrong.columns <> '{}' then
        format(' has the unknown columns %s: it may have %s', (
          select left(string_agg(quote_ident(key), ', '), 90)
          from jsonb_object_keys(wrong.element - wrong.columns) as key
        ), array_to_string(wrong.columns, ', '))
      when wrong.name = 'block' and wrong.value ~ wrong.pattern then
        format('.block is %s: it must be %s, the block that is written', left(trim(wrong.value, '"'), 90), number)
      when wrong.name = 'time' and wrong.value ~ wrong.pattern and ingest.time_of(trim(wrong.value, '"')) is not null then
        format('.time is %s: it must be %s, the time of the block', trim(wrong.value, '"'), at)
      when wrong.name = 'bid_gem' and lower(wrong.value) = lower((wrong.element -> 'lot_gem')::text) and wrong.value ~ wrong.pattern then
        format('.bid_gem is %s, as lot_gem: an offer is of two tokens', wrong.value)
      else format('.%s is %s: it must be %s', wrong.name, coalesce(left(wrong.value, 90), 'missing'), wrong.description)
    end);
  end if;
end
$$;
comment on function ingest.refuse_rows(text, jsonb, integer, timestamptz) is 'Raises an error that names the element and the column if one of the offers, trades or pools of a block is invalid. Staged rows are not of one block: they have a line, and number and at are null.';

-- Names the offers and trades of a refused write that are recorded already, or listed twice.

-- Elements of a block have no line and are named by their place. Not `exists`: its plan, if made for an empty
-- table, scans the whole table once it has grown.
create function ingest.refuse_known_offers(lines integer[], ids integer[], blocks integer[]) returns void
language sql stable
as $$
  select ingest.refuse(
    (
      select format('offers%s: offer %s %s', coalesce(' line ' || offer.line, format('[%s]', offer.ordinality - 1)), offer.id, coalesce('was cancelled in block ' || cancelled.block, 'exists already'))
      from (
        select
          listed.*,
          row_number() over (partition by listed.id order by listed.ordinality) as occurrence
        from unnest(lines, ids, blocks) with ordinality as listed (line, id, block, ordinality)
      ) as offer
      left join dex_private.cancellation as cancelled
        on cancelled.offer_id = offer.id
        and cancelled.block < offer.block
      where offer.occurrence > 1
        or cancelled.block is not null
        or (select kept.id from public.dex_offer as kept where kept.id = offer.id) is not null
      order by offer.ordinality
      limit 1
    ),
    'unique_violation'
  )
$$;
comment on function ingest.refuse_known_offers(integer[], integer[], integer[]) is 'Raises an error that names the first of these offers that is listed before, recorded, or cancelled in an earlier block than its own.';

create function ingest.refuse_known_trades(lines integer[], txs text[], idxs bigint[]) returns void
language sql stable
as $$
  select ingest.refuse(
    (
      select format('trades%s exists already: tx %s, idx %s', coalesce(' line ' || trade.line, format('[%s]', trade.ordinality - 1)), trade.tx, trade.idx)
      from (
        select
          listed.*,
          row_number() over (partition by listed.tx, listed.idx order by listed.ordinality) as occurrence
        from unnest(lines, txs, idxs) with ordinality as listed (line, tx, idx, ordinality)
      ) as trade
      where trade.occurrence > 1
        or (select kept.id from public.dex_trade as kept where kept.tx = trade.tx and kept.idx = trade.idx) is not null
      order by trade.ordinality
      limit 1
    ),
    'unique_violation'
  )
$$;
comment on function ingest.refuse_known_trades(integer[], text[], bigint[]) is 'Raises an error that names the first of these trades that is listed before or recorded.';

-- Staging tables of write_blocks. Unlogged: a crash empties them.

-- Each row carries the transaction that staged it. No writer can set these two columns: the views own_… show a
-- transaction its rows alone, whatever another one commits beside it. Not xmin, which a savepoint changes.

create unlogged table ingest.staged_block (
  number integer not null,
  time timestamptz not null,
  hash text,
  parent text,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_block is 'Blocks to write. Needed only to give a hash, or the time of a block without offers and trades.';

create unlogged table ingest.staged_offer (
  line integer not null,
  id integer not null,
  pair text not null,
  maker text not null,
  lot_gem text not null,
  lot_amt numeric not null,
  bid_gem text not null,
  bid_amt numeric not null,
  killed integer not null default 0,
  filled boolean not null default false,
  block integer not null,
  time timestamptz not null,
  tx text not null,
  venue text,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_offer is 'Offers to write, with the columns of offers.csv. `line` gives the order of the offers of one block.';

create unlogged table ingest.staged_cancellation (
  block integer not null,
  offer_id integer not null,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_cancellation is 'Cancellations to write, also of offers in staged_offer that have no `killed`.';

create unlogged table ingest.staged_trade (
  line integer not null,
  id bigint,
  offer_id integer,
  pair text not null,
  maker text not null,
  taker text not null,
  lot_gem text not null,
  lot_amt numeric not null,
  bid_gem text not null,
  bid_amt numeric not null,
  block integer not null,
  time timestamptz not null,
  tx text not null,
  venue text,
  idx integer,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_trade is 'Trades to write, with the columns of trades.csv. All have an id or none has, and likewise an idx.';

create unlogged table ingest.staged_pool (
  venue text not null,
  gem0 text not null,
  reserve0 numeric,
  gem1 text not null,
  reserve1 numeric,
  fee integer not null,
  tick_spacing integer,
  sqrt_price numeric,
  tick integer,
  liquidity numeric,
  nets text,
  block integer not null,
  time timestamptz not null,
  staged_by xid8 not null default pg_current_xact_id(),
  session integer not null default pg_backend_pid()
);
comment on table ingest.staged_pool is 'What pools have after blocks, to write: once for each block that changed a pool.';

create view ingest.own_block as
select *
from ingest.staged_block as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_block is 'The blocks that the present transaction staged.';

create view ingest.own_offer as
select *
from ingest.staged_offer as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_offer is 'The offers that the present transaction staged.';

create view ingest.own_cancellation as
select *
from ingest.staged_cancellation as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_cancellation is 'The cancellations that the present transaction staged.';

create view ingest.own_trade as
select *
from ingest.staged_trade as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_trade is 'The trades that the present transaction staged.';

create view ingest.own_pool as
select *
from ingest.staged_pool as staged
where staged.staged_by = pg_current_xact_id();
comment on view ingest.own_pool is 'What pools have, as the present transaction staged it.';

grant select, delete on
  ingest.staged_block,
  ingest.staged_offer,
  ingest.staged_cancellation,
  ingest.staged_trade,
  ingest.staged_pool
to dex_writer;
grant insert (number, time, hash, parent) on ingest.staged_block to dex_writer;
grant insert (line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, killed, filled, block, time, tx, venue) on ingest.staged_offer to dex_writer;
grant insert (block, offer_id) on ingest.staged_cancellation to dex_writer;
grant insert (line, id, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx, venue) on ingest.staged_trade to dex_writer;
grant insert (venue, gem0, reserve0, gem1, reserve1, fee, tick_spacing, sqrt_price, tick, liquidity, nets, block, time) on ingest.staged_pool to dex_writer;
grant select, delete on
  ingest.own_block,
  ingest.own_offer,
  ingest.own_cancellation,
  ingest.own_trade,
  ingest.own_pool
to dex_writer;
grant update (number, time, hash, parent) on ingest.own_block to dex_writer;
grant update (line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, killed, filled, block, time, tx, venue) on ingest.own_offer to dex_writer;
grant update (block, offer_id) on ingest.own_cancellation to dex_writer;
grant update (line, id, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx, venue) on ingest.own_trade to dex_writer;
grant update (venue, gem0, reserve0, gem1, reserve1, fee, tick_spacing, sqrt_price, tick, liquidity, nets, block, time) on ingest.own_pool to dex_writer;

create view ingest.staged_end as
select
  staged.offer_id,
  staged.block
from ingest.own_cancellation as staged
union all
select
  staged.id,
  staged.killed
from ingest.own_offer as staged
where staged.killed > 0;
comment on view ingest.staged_end is 'The staged cancellations of all offers, staged or not, of the present transaction.';

-- A block with only cancellations has no row with a time: it gets the time of the block before it.
create view ingest.staged_head as
select
  listed.number,
  coalesce(listed.time, max(listed.time) over earlier, head.time, min(listed.time) over ()) as time,
  listed.latest,
  listed.hash,
  listed.other_hash,
  listed.parent,
  listed.other_parent,
  listed.has_rows,
  lag(listed.number, 1, head.number) over in_order as number_before,
  coalesce(max(listed.latest) over earlier, head.time) as time_before,
  lag(listed.hash, 1, head.hash) over in_order as hash_before
from (
  select
    moment.number,
    min(moment.time) as time,
    max(moment.time) as latest,
    max(moment.hash) as hash,
    min(moment.hash) as other_hash,
    max(moment.parent) as parent,
    min(moment.parent) as other_parent,
    bool_or(moment.is_row) as has_rows
  from (
    select staged.number, staged.time, staged.hash, staged.parent, false as is_row
    from ingest.own_block as staged
    union all
    select staged.block, staged.time, null as hash, null as parent, true
    from ingest.own_offer as staged
    union all
    select staged.block, staged.time, null as hash, null as parent, true
    from ingest.own_trade as staged
    union all
    select staged.block, staged.time, null as hash, null as parent, true
    from ingest.own_pool as staged
    union all
    select ended.block, null as time, null as hash, null as parent, true
    from ingest.staged_end as ended
  ) as moment
  group by moment.number
) as listed
left join dex_private.last_block as head on true
window
  in_order as (order by listed.number),
  earlier as (in_order rows between unbounded preceding and 1 preceding);
comment on view ingest.staged_head is 'The blocks of the rows that the present transaction staged, each with what its rows say of it and with the block before it.';

-- Gives ids to the orders of contracts beside the first book.

create function ingest.offer_ids(venues text[], refs text[], blocks integer[]) returns integer[]
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  last_id constant integer := greatest(
    1073741823,
    (select max(known.offer_id) from dex_private.offer_ref as known),
    -- After a restore of the history alone, rows have ids that no table of refs has.
    (select max(offer.id) from public.dex_offer as offer),
    (select max(trade.offer_id) from public.dex_trade as trade)
  );
begin
  perform ingest.refuse((
    select case
      when coalesce(given.venue, '') !~ '^0x[0-9a-fA-F]{40}$' then
        format('venues[%s] is %s: it must be 0x and 40 hex digits', given.place - 1, coalesce(left(given.venue, 90), 'null'))
      when coalesce(length(given.ref), 0) not between 1 and 100 or given.ref !~ '\S' then
        format('refs[%s] is %s: it must be a text of 1 to 100 characters, not of blanks alone', given.place - 1, coalesce(left(given.ref, 90), 'null'))
      else format('blocks[%s] is %s: it must be after the head, block %s', given.place - 1, coalesce(given.block::text, 'null'), before.head)
    end
    from unnest(offer_ids.venues, offer_ids.refs, offer_ids.blocks) with ordinality as given (venue, ref, block, place)
    where coalesce(given.venue, '') !~ '^0x[0-9a-fA-F]{40}$'
      or coalesce(length(given.ref), 0) not between 1 and 100
      or given.ref !~ '\S'
      or given.block is null
      or given.block <= before.head
    order by given.place
    limit 1
  ));
  perform ingest.refuse(case
    when last_id > 2147483647 - cardinality(offer_ids.venues)
      and last_id > 2147483647 - (
        select count(distinct (lower(given.venue), given.ref))
        from unnest(offer_ids.venues, offer_ids.refs) as given (venue, ref)
        left join dex_private.offer_ref as known
          on known.venue = lower(given.venue)
          and known.ref = given.ref
        where known.offer_id is null
      )
    then
      format('no id is left for %s orders: offer %s is recorded, and the highest id is 2147483647', cardinality(offer_ids.venues), last_id)
  end);

  insert into dex_private.offer_ref (venue, ref, offer_id, block)
  select
    lower(fresh.venue),
    fresh.ref,
    last_id + row_number() over (order by fresh.place),
    fresh.block
  from (
    select distinct on (lower(given.venue), given.ref)
      given.*
    from unnest(offer_ids.venues, offer_ids.refs, offer_ids.blocks) with ordinality as given (venue, ref, block, place)
    order by
      lower(given.venue),
      given.ref,
      given.place
  ) as fresh
  left join dex_private.offer_ref as known
    on known.venue = lower(fresh.venue)
    and known.ref = fresh.ref
  where known.offer_id is null;

  return array(
    select known.offer_id
    from unnest(offer_ids.venues, offer_ids.refs) with ordinality as given (venue, ref, place)
    join dex_private.offer_ref as known
      on known.venue = lower(given.venue)
      and known.ref = given.ref
    order by given.place
  );
end
$$;
comment on function ingest.offer_ids(text[], text[], integer[]) is 'Returns the ids of orders by their contract and the id that it gave them, in the order given. Gives one to each that has none, from 2^30 on. Call it in the transaction that writes the blocks, with the block of each row; take_back frees the ids of what it removes.';
grant execute on function ingest.offer_ids(text[], text[], integer[]) to dex_writer;

-- Writes the trades of a block.

create function ingest.write_trades(number integer, at timestamptz, last_trade bigint, trades jsonb, out last bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  doubled bigint;
begin
  -- A source with idx and without ids, which most are, needs no look at all trades.
  if write_trades.trades @? '$[*] ? (@.id != null || !(@.idx != null))' then
    perform ingest.refuse((
      select case
        when trade.with_id not in (0, trade.given) or trade.with_idx not in (0, trade.given) then
          format('trades: %s of %s have an id and %s an idx: give it to every trade of a block or to none', trade.with_id, trade.given, trade.with_idx)
        else format('trades: ids must increase with idx and be greater than %s, the highest id ever used', write_trades.last_trade)
      end
      from (
        select
          listed.id,
          count(*) over () as given,
          count(listed.id) over () as with_id,
          count(listed.idx) over () as with_idx,
          lag(listed.id, 1, write_trades.last_trade) over (order by listed.idx, listed.ordinality) as id_before
        from rows from (
          jsonb_to_recordset(write_trades.trades) as (id bigint, idx integer)
        ) with ordinality as listed
      ) as trade
      where trade.with_id not in (0, trade.given)
        or trade.with_idx not in (0, trade.given)
        or trade.id <= trade.id_before
      limit 1
    ));
  end if;

  with written as (
    insert into public.dex_trade (
      id, offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
      bid_gem, bid_tkn, bid_amt, price, block, time, tx, idx, venue
    )
    select
      coalesce(
        trade.id,
        write_trades.last_trade + row_number() over (order by trade.idx, trade.ordinality)
      ),
      trade.offer_id,
      label.market_id,
      label.market,
      label.act,
      trade.pair,
      trade.maker,
      trade.taker,
      label.lot_gem,
      label.lot_tkn,
      dex_private.as_amount(trade.lot_amt),
      label.bid_gem,
      label.bid_tkn,
      dex_private.as_amount(trade.bid_amt),
      label.price,
      write_trades.number,
      write_trades.at,
      trade.tx,
      coalesce(trade.idx, trade.ordinality - 1),
      trade.venue
    from rows from (
      jsonb_to_recordset(write_trades.trades) as (
        id bigint, offer_id integer, pair text, maker text, taker text, lot_gem text,
        lot_amt numeric, bid_gem text, bid_amt numeric, tx text, idx integer, venue text
      )
    ) with ordinality as trade
    cross join lateral dex_private.labels_of(trade.lot_gem, trade.bid_gem, trade.lot_amt, trade.bid_amt) as label
    returning
      id,
      idx
  )
  select
    max(written.id),
    count(*) - count(distinct written.idx)
  into
    last,
    doubled
  from written;
  if doubled > 0 then
    perform ingest.refuse((
      select format('trades: idx %s is given %s times: it is the log''s, of which a block has one', listed.idx, count(*))
      from jsonb_to_recordset(write_trades.trades) as listed (idx integer)
      group by listed.idx
      having count(*) > 1
      order by listed.idx
      limit 1
    ));
  end if;
exception
  when unique_violation then
    perform ingest.refuse_known_trades(null, array_agg(trade.tx), array_agg(coalesce(trade.idx, trade.ordinality - 1)))
    from rows from (jsonb_to_recordset(write_trades.trades) as (tx text, idx integer)) with ordinality as trade;
    raise;
end
$$;
comment on function ingest.write_trades(integer, timestamptz, bigint, jsonb) is 'Writes the trades of a block in the order of idx, or as listed if they have none. Returns the last id.';

create function ingest.take_from_offers(first_trade bigint, out emptied integer[])
language plpgsql
as $$
begin
  -- `offset 0` keeps the planner from the index by offer, which it would read whole for its order.
  with kept as (
    update dex_private.offer_left as kept
    set lot_amt = kept.lot_amt - taken.lot_amt
    from (
      select
        trade.offer_id,
        sum(trade.lot_amt) as lot_amt
      from (
        select
          trades.offer_id,
          trades.lot_amt
        from public.dex_trade as trades
        where trades.id >= first_trade
        offset 0
      ) as trade
      group by trade.offer_id
    ) as taken
    where kept.offer_id = taken.offer_id
    returning
      kept.offer_id,
      kept.lot_amt
  )
  select coalesce(array_agg(kept.offer_id), '{}')
  into emptied
  from kept
  where kept.lot_amt <= 0;
  if emptied <> '{}' then
    perform dex_private.end_emptied(emptied);
  end if;
end
$$;
comment on function ingest.take_from_offers(bigint) is 'Subtracts the trades from this id on from what is left of their offers. Returns the offers of which nothing is left.';

-- Refuses a trade or an offer that contradicts what is recorded of its order.

create function ingest.refuse_contradictions(first_trade bigint, offers integer[]) returns void
language plpgsql
as $$
begin
  perform ingest.refuse((
    select format('trade with tx %s, idx %s: its offer %s was cancelled in block %s, before its block %s', trade.tx, trade.idx, trade.offer_id, cancelled.block, trade.block)
    from (
      select trades.offer_id, trades.tx, trades.idx, trades.block
      from public.dex_trade as trades
      where trades.id >= first_trade
      offset 0
    ) as trade
    join dex_private.cancellation as cancelled on cancelled.offer_id = trade.offer_id
    where cancelled.block < trade.block
    limit 1
  ));
  perform ingest.refuse((
    select format('trade with tx %s, idx %s: its %s is %s, but that of its offer %s is %s', trade.tx, trade.idx, fact.name, fact.here, offer.id, fact.there)
    from (
      select newer.id, newer.offer_id, newer.tx, newer.idx, newer.maker, newer.pair, newer.lot_gem, newer.bid_gem, newer.venue
      from public.dex_trade as newer
      where newer.id >= first_trade
      union all
      select older.*
      from unnest(offers) as given (id)
      cross join lateral (
        select trades.id, trades.offer_id, trades.tx, trades.idx, trades.maker, trades.pair, trades.lot_gem, trades.bid_gem, trades.venue
        from public.dex_trade as trades
        where trades.offer_id = given.id
        offset 0
      ) as older
      where older.id < first_trade
    ) as trade
    -- Mostly the two rows agree: so no list is made for them.
    join public.dex_offer as offer
      on offer.id = trade.offer_id
      and (
        trade.maker <> offer.maker
        or trade.lot_gem <> offer.lot_gem
        or trade.bid_gem <> offer.bid_gem
        or trade.pair <> offer.pair
        or trade.venue <> offer.venue
      )
    cross join lateral (
      values
        ('maker', trade.maker, offer.maker),
        ('lot_gem', trade.lot_gem, offer.lot_gem),
        ('bid_gem', trade.bid_gem, offer.bid_gem),
        ('pair', trade.pair, offer.pair),
        ('venue', trade.venue, offer.venue)
    ) as fact (name, here, there)
    where fact.here <> fact.there
      and lower(fact.here) <> lower(fact.there)
    limit 1
  ));
  -- Where one contract alone has offers, its ids may be any.
  if not exists (select from dex_private.offer_ref) then
    return;
  end if;
  perform ingest.refuse((
    select case
      when known.offer_id is null then
        format('%s: offer %s was not given its id by ingest.offer_ids, which gives those from 1073741824 on', given.name, given.id)
      when lower(known.venue) is distinct from lower(given.venue) then
        format('%s: offer %s is order %s of the contract %s, and its venue is %s', given.name, given.id, known.ref, known.venue, coalesce(given.venue, 'null'))
      else
        format('%s: offer %s got its id for block %s, and is of block %s', given.name, given.id, known.block, given.block)
    end
    from (
      select
        format('trade with tx %s, idx %s', trade.tx, trade.idx) as name,
        trade.offer_id as id,
        trade.venue,
        trade.block
      from public.dex_trade as trade
      where trade.id >= first_trade
        and trade.offer_id >= 1073741824
      union all
      select
        'offers',
        offer.id,
        offer.venue,
        offer.block
      from unnest(offers) as made (id)
      join public.dex_offer as offer on offer.id = made.id
      where made.id >= 1073741824
    ) as given
    left join dex_private.offer_ref as known on known.offer_id = given.id
    where known.offer_id is null
      or lower(known.venue) is distinct from lower(given.venue)
      or given.block < known.block
    limit 1
  ));
end
$$;
comment on function ingest.refuse_contradictions(bigint, integer[]) is 'Raises an error if one of these rows has an id from 2^30 on that was given to another order. Likewise if a trade from this id on, or an earlier one of these new offers, has another maker, other tokens, another pair hash or another venue than its offer. Likewise if a trade from this id on is of an offer that an earlier block cancelled.';

-- Writes the offers and the cancellations of a block.

create function ingest.cancel_offers(killed integer[], blocks integer[]) returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  perform ingest.refuse((
    select case
      when listed.id < 0 then format('killed: offer %s: an id is an integer from 0', listed.id)
      when listed.id is null then 'killed: an offer id is null'
      when listed.times > 1 then format('killed: offer %s is listed twice', listed.id)
      else format('killed: offer %s was cancelled in block %s', listed.id, kept.block)
    end
    from (
      select
        given.id,
        count(*) as times
      from unnest(cancel_offers.killed) as given (id)
      group by given.id
    ) as listed
    left join dex_private.cancellation as kept on kept.offer_id = listed.id
    where listed.id is null
      or listed.id < 0
      or listed.times > 1
      or kept.block is not null
    order by listed.id
    limit 1
  ));

  with listed as (
    insert into dex_private.cancellation (offer_id, block)
    select
      given.id,
      given.block
    from unnest(cancel_offers.killed, cancel_offers.blocks) as given (id, block)
    returning
      offer_id,
      block
  )
  update public.dex_offer as offer
  set
    killed = listed.block,
    ended = coalesce(offer.ended, listed.block)
  from listed
  where offer.id = listed.offer_id;
end
$$;
comment on function ingest.cancel_offers(integer[], integer[]) is 'Cancels each offer in the block at the same place. Also records the cancellations of offers that are not recorded.';

create function ingest.write_offers(number integer, at timestamptz, offers jsonb, out made integer[])
language plpgsql
as $$
#variable_conflict use_column
begin
  with written as (
    insert into public.dex_offer (
      id, block, killed, market_id, market, act, pair, maker, lot_gem, lot_tkn, lot_amt,
      bid_gem, bid_tkn, bid_amt, price, time, tx, venue, ref, filled, closed, ended
    )
    select
      offer.id,
      write_offers.number,
      coalesce(cancellation.block, 0),
      label.market_id,
      label.market,
      label.act,
      offer.pair,
      offer.maker,
      label.lot_gem,
      label.lot_tkn,
      dex_private.as_amount(offer.lot_amt),
      label.bid_gem,
      label.bid_tkn,
      dex_private.as_amount(offer.bid_amt),
      label.price,
      write_offers.at,
      offer.tx,
      offer.venue,
      case
        when offer.id >= 1073741824 then
          (
            select known.ref
            from dex_private.offer_ref as known
            where known.offer_id = offer.id
          )
      end,
      coalesce(offer.filled, false),
      coalesce(offer.filled, false),
      case when offer.filled then write_offers.number else cancellation.block end
    from jsonb_to_recordset(write_offers.offers) as offer (
      id integer, pair text, maker text, lot_gem text, lot_amt numeric, bid_gem text,
      bid_amt numeric, tx text, filled boolean, venue text
    )
    left join dex_private.cancellation on cancellation.offer_id = offer.id
    cross join lateral dex_private.labels_of(offer.lot_gem, offer.bid_gem, offer.lot_amt, offer.bid_amt) as label
    returning id
  )
  select array_agg(written.id)
  into made
  from written;
exception
  when unique_violation or check_violation then
    perform ingest.refuse_known_offers(null, array_agg(offer.id), array_agg(write_offers.number))
    from jsonb_to_recordset(write_offers.offers) as offer (id integer);
    raise;
end
$$;
comment on function ingest.write_offers(integer, timestamptz, jsonb) is 'Writes the offers of a block, after its trades and cancellations. Returns their ids.';

-- Writes what pools have after a block.

create function ingest.write_pools(given ingest.own_pool[], out touched integer[])
language plpgsql
as $$
#variable_conflict use_column
begin
  perform ingest.refuse((
    select case
      when lower(listed.gem0) = lower(listed.gem1) then
        format('pools: both tokens of the pool %s are %s: it is of two tokens', listed.venue, listed.gem0)
      when listed.fee > 999999 then
        format('pools: the fee of the pool %s is %s: it must be an integer from 0 to 999999, in millionths', listed.venue, listed.fee)
      when listed.times > 1 then format('pools: the pool %s is given twice in block %s', listed.venue, listed.block)
      when not listed.is_whole then
        format('pools: the pool %s is given in part: it has either reserve0 and reserve1, or tick_spacing, sqrt_price, tick, liquidity and nets', listed.venue)
      when listed.tick not between -887272 and 887272 then
        format('pools: the tick of the pool %s is %s: it must be an integer from -887272 to 887272', listed.venue, listed.tick)
      when listed.tick_spacing = 0 or listed.sqrt_price = 0 then
        format('pools: the pool %s has the tick_spacing %s and the sqrt_price %s: both must be above 0', listed.venue, listed.tick_spacing, listed.sqrt_price)
      else format('pools: the nets of the pool %s are %s: they must be ticks from -887272 to 887272 in their order, each once and with its net liquidity, and its gross liquidity where that is more, as -60:1000 0:400:1600 60:-1400', listed.venue, left(listed.nets, 90))
    end
    from (
      select
        pools.*,
        count(*) over (partition by lower(pools.venue), pools.block) as times,
        num_nonnulls(pools.reserve0, pools.reserve1) in (0, 2)
          and num_nonnulls(pools.tick_spacing, pools.sqrt_price, pools.tick, pools.liquidity, pools.nets)
            = case when pools.reserve0 is null then 5 else 0 end as is_whole,
        -- Of a pool that has reserves there are none to order.
        case
          when pools.nets is not null then
            coalesce(
              (
                select string_agg(concat_ws(':', net.tick, net.net, net.gross), ' ' order by net.tick)
                from (
                  select distinct
                    split_part(each.pair, ':', 1)::numeric as tick,
                    split_part(each.pair, ':', 2)::numeric as net,
                    nullif(split_part(each.pair, ':', 3), '')::numeric as gross
                  from string_to_table(pools.nets, ' ') as each (pair)
                  where pools.nets <> ''
                ) as net
                where net.tick between -887272 and 887272
                  and (net.gross is null or net.gross > abs(net.net) and (net.gross - net.net) % 2 = 0)
                having count(*) = count(distinct net.tick)
              ),
              ''
            )
        end as right_nets
      from unnest(write_pools.given) as pools
    ) as listed
    where lower(listed.gem0) = lower(listed.gem1)
      or listed.fee > 999999
      or listed.times > 1
      or not listed.is_whole
      or listed.tick not between -887272 and 887272
      or listed.tick_spacing = 0
      or listed.sqrt_price = 0
      or listed.nets <> listed.right_nets
    limit 1
  ));

  insert into public.dex_pool (venue, gem0, gem1, fee, tick_spacing, block, market_id, act)
  select distinct on (lower(pools.venue))
    pools.venue,
    pools.gem0,
    pools.gem1,
    pools.fee,
    pools.tick_spacing,
    pools.block,
    label.market_id,
    label.act
  from unnest(write_pools.given) as pools
  left join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
  cross join lateral dex_private.labels_of(pools.gem0, pools.gem1, null, null) as label
  where known.venue is null
  order by
    lower(pools.venue),
    pools.block;

  perform ingest.refuse((
    select format(
      'pools: the pool %s is given with %s, %s and the fee %s%s, and recorded with %s, %s and the fee %s%s',
      pools.venue, pools.gem0, pools.gem1, pools.fee, ', tick_spacing ' || pools.tick_spacing,
      known.gem0, known.gem1, known.fee, ', tick_spacing ' || known.tick_spacing
    )
    from unnest(write_pools.given) as pools
    join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
    where (lower(known.gem0), lower(known.gem1), known.fee, known.tick_spacing)
      is distinct from (lower(pools.gem0), lower(pools.gem1), pools.fee, pools.tick_spacing)
    limit 1
  ));

  insert into public.dex_pool_state (venue, block, reserve0, reserve1, sqrt_price, tick, liquidity, nets)
  select
    known.venue,
    pools.block,
    dex_private.as_amount(pools.reserve0),
    dex_private.as_amount(pools.reserve1),
    pools.sqrt_price,
    pools.tick,
    pools.liquidity,
    pools.nets
  from unnest(write_pools.given) as pools
  join public.dex_pool as known on lower(known.venue) = lower(pools.venue);

  insert into dex_private.pool_tick
  select derived.*
  from unnest(write_pools.given) as pools
  join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
  join dex_private.derived_pool_tick as derived
    on derived.venue = known.venue
    and derived.block = pools.block
  where pools.nets <> '';
  perform ingest.refuse((
    select format('pools: the pool %s has the liquidity %s at tick %s after block %s, and %s by its ticks: a change of its liquidity is missing, or the block that made the pool', wrong.venue, wrong.liquidity, wrong.tick, wrong.block, wrong.right_liquidity)
    from unnest(write_pools.given) as pools
    join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
    join dex_private.miscounted_pool as wrong
      on wrong.venue = known.venue
      and wrong.block = pools.block
    where pools.nets is not null
    order by pools.block
    limit 1
  ));

  touched := array(
    select distinct known.market_id
    from unnest(write_pools.given) as pools
    join public.dex_pool as known on lower(known.venue) = lower(pools.venue)
    where known.market_id is not null
  );
end
$$;
comment on function ingest.write_pools(ingest.own_pool[]) is 'Writes what these pools have after a block, and the pools that are not recorded. Returns their markets.';

-- Writes one block; an indexer calls it for each block.

-- Every statement looks up its rows by the few rows of the block. So one generic plan with indexes and nested
-- loops fits all blocks, even if it was made for an empty database.
create function ingest.write_block(
  number integer,
  at timestamptz,
  hash text default null,
  parent text default null,
  offers jsonb default '[]',
  trades jsonb default '[]',
  killed integer[] default '{}',
  pools jsonb default '[]'
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashagg = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_memoize = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  head constant dex_private.last_block := (select head from dex_private.last_block as head);
  has_rows constant boolean := write_block.offers <> '[]'
    or write_block.trades <> '[]'
    or write_block.killed <> '{}'
    or write_block.pools <> '[]';
  digest_before constant bytea := case when head.number is null then dex_private.first_digest() else head.digest end;
  problem text := ingest.block_problem(
    write_block.number, write_block.at, write_block.hash, write_block.parent, head.number, head.time, head.hash
  );
  last_trade bigint := before.last_trade;
  figures dex_private.period_figure[];
  touched integer[] := '{}';
  made integer[] := '{}';
  ended integer[] := write_block.killed;
begin
  if problem is null and write_block.hash is not null then
    problem := (
      select ingest.hash_problem(write_block.number, write_block.hash, block.number)
      from public.dex_block as block
      where block.hash = write_block.hash
      limit 1
    );
  end if;
  perform ingest.refuse(coalesce(problem, case
    when write_block.killed is null then 'killed is null: it must be an array'
    when array_ndims(write_block.killed) > 1 then
      format('killed has %s dimensions: it must be an array of one', array_ndims(write_block.killed))
  end));
  if write_block.offers is distinct from '[]' then
    perform ingest.refuse_rows('offers', write_block.offers, write_block.number, write_block.at);
  end if;
  if write_block.trades is distinct from '[]' then
    perform ingest.refuse_rows('trades', write_block.trades, write_block.number, write_block.at);
  end if;
  if write_block.pools is distinct from '[]' then
    perform ingest.refuse_rows('pools', write_block.pools, write_block.number, write_block.at);
  end if;

  if write_block.trades <> '[]' then
    last_trade := ingest.write_trades(write_block.number, write_block.at, before.last_trade, write_block.trades);
    ended := ended || ingest.take_from_offers(before.last_trade + 1);
  end if;
  if write_block.killed <> '{}' then
    perform ingest.cancel_offers(
      write_block.killed,
      array_fill(write_block.number, array[cardinality(write_block.killed)])
    );
  end if;
  if ended <> '{}' then
    touched := dex_private.leave_book(ended);
    perform dex_private.enter_past_books(ended, write_block.number - 1);
  end if;
  if write_block.offers <> '[]' then
    made := ingest.write_offers(write_block.number, write_block.at, write_block.offers);
    perform dex_private.keep_left(made);
    touched := touched || dex_private.enter_book(made);
  end if;
  if write_block.trades <> '[]' or made <> '{}' then
    perform ingest.refuse_contradictions(before.last_trade + 1, made);
  end if;
  if write_block.pools <> '[]' then
    touched := touched || ingest.write_pools(array(
      select jsonb_populate_record(null::ingest.own_pool, listed.value || jsonb_build_object('block', write_block.number))
      from jsonb_array_elements(write_block.pools) as listed
    ));
  end if;

  insert into public.dex_block (number, hash, parent, time, first_trade, has_rows, digest)
  values (
    write_block.number,
    write_block.hash,
    write_block.parent,
    write_block.at,
    before.last_trade + 1,
    has_rows,
    dex_private.next_digest(
      digest_before, has_rows, write_block.number, write_block.hash, write_block.at,
      before.last_trade + 1, last_trade
    )
  );
  perform ingest.written_to(last_trade, before.epoch);
  if write_block.trades <> '[]' then
    figures := array(
      select figure
      from dex_private.figures_from(before.last_trade + 1) as figure
    );
    perform dex_private.keep_figures(before.last_trade + 1, figures);
  end if;
  perform dex_private.keep_market_figures(
    write_block.number, before.last_trade + 1, head.time, write_block.at, touched
  );
  if write_block.trades <> '[]' then
    perform dex_private.keep_running_sums_of_block(write_block.number, write_block.at, figures);
  end if;
end
$$;
comment on function ingest.write_block(integer, timestamptz, text, text, jsonb, jsonb, integer[], jsonb) is 'Writes a whole block or nothing: its offers and trades, the ids of the offers that it cancels, and what each pool that it changed has after it. An offer or trade is an object with the columns of the CSV files: decimals as strings, block and time optional. The block becomes the head. Raises an error that names the element if the input is invalid: see db/README.md.';
grant execute on function ingest.write_block(integer, timestamptz, text, text, jsonb, jsonb, integer[], jsonb)
to dex_writer;

-- Refuses staged blocks that cannot be the next ones, and staged rows that are invalid or of another transaction.

-- Where nothing is its own, or an earlier transaction of its session staged a part, the caller expects rows to be
-- written that are not. What other sessions left is none of its business.
create function ingest.refuse_rows_of_others() returns void
language sql stable
as $$
  select ingest.refuse((
    select format(
      'ingest.%1$s has %2$s that transaction %3$s of process %4$s staged and committed: a transaction writes only the rows that it staged itself. Stage %5$s again in the transaction that writes, and remove %5$s: delete from ingest.%1$s where staged_by = ''%3$s''',
      staged.name,
      case staged.rows when 1 then '1 row' else staged.rows || ' rows' end,
      staged.staged_by,
      staged.session,
      case staged.rows when 1 then 'it' else 'them' end
    )
    from (
      select
        listed.*,
        bool_or(listed.staged_by = pg_current_xact_id()) over () as has_own
      from (
        select 'staged_block' as name, staged.staged_by, staged.session, count(*) as rows
        from ingest.staged_block as staged
        group by staged.staged_by, staged.session
        union all
        select 'staged_offer', staged.staged_by, staged.session, count(*)
        from ingest.staged_offer as staged
        group by staged.staged_by, staged.session
        union all
        select 'staged_cancellation', staged.staged_by, staged.session, count(*)
        from ingest.staged_cancellation as staged
        group by staged.staged_by, staged.session
        union all
        select 'staged_trade', staged.staged_by, staged.session, count(*)
        from ingest.staged_trade as staged
        group by staged.staged_by, staged.session
        union all
        select 'staged_pool', staged.staged_by, staged.session, count(*)
        from ingest.staged_pool as staged
        group by staged.staged_by, staged.session
      ) as listed
    ) as staged
    where staged.staged_by <> pg_current_xact_id()
      and (staged.session = pg_backend_pid() or not staged.has_own)
    order by
      staged.staged_by desc,
      staged.name
    limit 1
  ))
$$;
comment on function ingest.refuse_rows_of_others() is 'Raises an error that names staged rows of an earlier transaction of this session, or of any other if this one staged none.';

create function ingest.refuse_staged(last_trade bigint) returns void
language plpgsql stable
as $$
begin
  perform ingest.refuse((
    select format('offers line %s.killed is %s: it must be 0, or a block from %s on, in which the offer was made', staged.line, staged.killed, staged.block)
    from ingest.own_offer as staged
    where staged.killed <> 0
      and staged.killed < staged.block
    order by staged.line
    limit 1
  ));
  perform ingest.refuse((
    select found.problem
    from (
      select
        block.number,
        case
          when block.time < block.latest then
            format('block %s is at both %s and %s: a block has one time', block.number, block.time, block.latest)
          when block.hash <> block.other_hash then
            format('block %s has both the hash %s and the hash %s', block.number, block.hash, block.other_hash)
          when block.parent <> block.other_parent then
            format('block %s has both the parent %s and the parent %s', block.number, block.parent, block.other_parent)
          else ingest.block_problem(
            block.number, block.time, block.hash, block.parent, block.number_before, block.time_before, block.hash_before
          )
        end as problem
      from ingest.staged_head as block
    ) as found
    where found.problem is not null
    order by found.number
    limit 1
  ));
  perform ingest.refuse((
    select ingest.hash_problem(block.number, block.hash, coalesce(recorded.number, block.other))
    from (
      select
        staged.number,
        staged.hash,
        lag(staged.number) over (partition by staged.hash order by staged.number) as other
      from (
        select distinct
          given.number,
          given.hash
        from ingest.own_block as given
        where given.hash is not null
      ) as staged
    ) as block
    left join public.dex_block as recorded on recorded.hash = block.hash
    where recorded.number is not null
      or block.other is not null
    order by block.number
    limit 1
  ));
  perform ingest.refuse((
    select 'only some trades have an id or an idx: give it to every trade or to none'
    from ingest.own_trade as staged
    having count(staged.id) not in (0, count(*))
      or count(staged.idx) not in (0, count(*))
  ));
  perform ingest.refuse((
    select case
      when trade.id > 4503599627370495 then
        format('trades line %s.id is %s: it must be an integer from 1 to 4503599627370495', trade.line, trade.id)
      else format('id %s of block %s, idx %s is not greater than %s: ids increase with block and idx, and are above the highest ever used', trade.id, trade.block, trade.idx, trade.id_before)
    end
    from (
      select
        staged.line,
        staged.id,
        staged.block,
        staged.idx,
        lag(staged.id, 1, last_trade) over (order by staged.block, staged.idx, staged.line) as id_before
      from ingest.own_trade as staged
      where staged.id is not null
    ) as trade
    where trade.id <= trade.id_before
      or trade.id > 4503599627370495
    limit 1
  ));
  perform ingest.refuse((
    select format('trades line %s.idx is %s, as in line %s: it is the log''s, of which block %s has one', max(staged.line), staged.idx, min(staged.line), staged.block)
    from ingest.own_trade as staged
    where staged.idx is not null
    group by
      staged.block,
      staged.idx
    having min(staged.tx) <> max(staged.tx)
    order by
      staged.block,
      staged.idx
    limit 1
  ));
end
$$;
comment on function ingest.refuse_staged(bigint) is 'Raises an error if the staged blocks cannot be the next ones.';

-- A batch is of 1,000 rows, because a jsonb value has at most 1 GB.
create function ingest.refuse_staged_rows() returns void
language sql stable
as $$
  select ingest.refuse_rows(batch.listed, jsonb_agg(batch.value order by batch.line), null, null)
  from (
    select
      staged_row.listed,
      staged_row.line,
      (
        select jsonb_object_agg(field.key, field.value)
        from jsonb_each_text(staged_row.value - '{filled,killed}'::text[]) as field
      ) as value
    from (
      select
        'offers' as listed,
        staged.line,
        to_jsonb(staged) as value
      from ingest.own_offer as staged
      union all
      select
        'trades',
        staged.line,
        to_jsonb(staged)
      from ingest.own_trade as staged
      union all
      select
        'pools',
        row_number() over (order by staged.block, staged.venue),
        to_jsonb(staged)
      from ingest.own_pool as staged
    ) as staged_row
  ) as batch
  group by
    batch.listed,
    batch.line / 1000
  order by
    batch.listed,
    batch.line / 1000;
  select ingest.refuse_known_offers(
    array_agg(staged.line order by staged.line),
    array_agg(staged.id order by staged.line),
    array_agg(staged.block order by staged.line)
  )
  from ingest.own_offer as staged;
  select ingest.refuse_known_trades(
    array_agg(staged.line order by staged.line),
    array_agg(staged.tx order by staged.line),
    array_agg(staged.idx order by staged.line)
  )
  from (
    select
      trade.line,
      trade.tx,
      coalesce(trade.idx, row_number() over (partition by trade.block order by trade.line) - 1) as idx
    from ingest.own_trade as trade
  ) as staged
$$;
comment on function ingest.refuse_staged_rows() is 'Raises an error that names the line if a staged offer, trade or pool is invalid, recorded already or staged twice.';

-- Drops the indexes of offers and trades before a load of many, and makes them again behind it.

-- To make an index of all rows takes a fraction of what their inserts take. Primary keys stay: rows come in their order, and views
-- depend on them. So does the index by which write_staged_offers looks for earlier trades of a new offer, where there can be some.
create function ingest.drop_bulk_indexes() returns text[]
language plpgsql
-- An autovacuum gives way after a second.
set lock_timeout = '5s'
as $$
declare
  -- Not within the loop: no table can be altered that a query in progress reads.
  has_trades constant boolean := exists (select from public.dex_trade as trade);
  index record;
  definitions text[] := '{}';
begin
  -- The lock lasts until the transaction ends, so that others would wait for the load.
  if exists (
    select
    from pg_stat_activity as other
    where other.datname = current_database()
      and other.usesysid is not null
      and other.pid <> pg_backend_pid()
  )
  -- The lock is taken on a standby too, where readers would be cancelled.
  or exists (
    select
    from pg_stat_replication
  )
  -- No index can be made of a table while a trigger of its new rows waits for the commit.
  or exists (
    select
    from pg_trigger as waiting
    where waiting.tgrelid in ('public.dex_trade'::regclass, 'public.dex_offer'::regclass)
      and waiting.tgdeferrable
  )
  -- It fires for each index, and where its function fails the load would.
  or exists (
    select
    from pg_event_trigger as fired
    where fired.evtenabled <> 'D'
  ) then
    return '{}';
  end if;
  lock table public.dex_trade, public.dex_offer in access exclusive mode;
  for index in
    select
      listed.indexrelid::regclass as name,
      listed.indrelid::regclass as of_table,
      made.conname as constraint_name,
      case
        when made.oid is null then pg_get_indexdef(listed.indexrelid)
        else format('alter table %s add constraint %I %s', listed.indrelid::regclass, made.conname, pg_get_constraintdef(made.oid))
      end as definition,
      format('comment on index %s is %L', listed.indexrelid::regclass, obj_description(listed.indexrelid, 'pg_class')) as comment,
      case
        when made.oid is not null then
          format('comment on constraint %I on %s is %L', made.conname, listed.indrelid::regclass, obj_description(made.oid, 'pg_constraint'))
      end as comment_of_constraint
    from pg_index as listed
    left join pg_constraint as made
      on made.conindid = listed.indexrelid
      and made.conrelid = listed.indrelid
    where listed.indrelid in ('public.dex_trade'::regclass, 'public.dex_offer'::regclass)
      and not listed.indisprimary
      -- What a site has set of an index, and its definition does not say, would be lost.
      and listed.indisvalid
      and not listed.indisreplident
      and not listed.indisclustered
      and not exists (
        select
        from pg_class as stored
        where stored.oid = listed.indexrelid
          and (stored.reltablespace <> 0 or made.oid is not null and stored.reloptions is not null)
      )
      and not exists (
        select
        from pg_attribute as counted
        where counted.attrelid = listed.indexrelid
          and counted.attstattarget <> -1
      )
      and not (
        has_trades
        and (listed.indrelid, listed.indkey[0]) = (
          select
            searched.attrelid,
            searched.attnum
          from pg_attribute as searched
          where searched.attrelid = 'public.dex_trade'::regclass
            and searched.attname = 'offer_id'
        )
      )
    order by listed.indexrelid
  loop
    if index.constraint_name is null then
      execute format('drop index %s', index.name);
    else
      execute format('alter table %s drop constraint %I', index.of_table, index.constraint_name);
    end if;
    definitions := definitions || array_remove(array[index.definition, index.comment, index.comment_of_constraint], null);
  end loop;
  return definitions;
exception
  -- A site's foreign key refers to a constraint, or the caller is reading a table. What was dropped is there again.
  when lock_not_available or dependent_objects_still_exist or object_in_use then
    return '{}';
end
$$;
comment on function ingest.drop_bulk_indexes() is 'Drops the indexes of dex_trade and dex_offer, and returns the statements that make them again, in this transaction. Drops none where another session is connected to the database, or a standby streams, since readers would wait; nor where a trigger of the rows can wait for the commit, or the database has an event trigger.';

create function ingest.make_bulk_indexes(definitions text[]) returns void
language plpgsql
-- Where those were that drop_bulk_indexes drops: in the tablespace of the database.
set default_tablespace = ''
as $$
declare
  definition text;
begin
  foreach definition in array definitions loop
    execute definition;
  end loop;
end
$$;
comment on function ingest.make_bulk_indexes(text[]) is 'Makes the indexes that drop_bulk_indexes dropped.';

-- Writes the staged offers, with what their trades left of them.

-- The trades are written before, so each offer is written as it is after all of them, and not updated.
create function ingest.write_staged_offers(first_trade bigint) returns void
language plpgsql
as $$
begin
  with taken as materialized (
    select
      newer.offer_id,
      newer.id,
      newer.block,
      newer.lot_amt
    from public.dex_trade as newer
    where newer.id >= first_trade
      and newer.offer_id is not null
    union all
    select older.*
    from ingest.own_offer as staged
    cross join lateral (
      select
        trades.offer_id,
        trades.id,
        trades.block,
        trades.lot_amt
      from public.dex_trade as trades
      where trades.offer_id = staged.id
      offset 0
    ) as older
    where older.id < first_trade
      -- In a new database no index is there yet by which to look.
      and exists (
        select
        from public.dex_trade as trade
        where trade.id < first_trade
      )
  ),
  dealt as materialized (
    select
      running.id,
      min(running.lot_amt) as lot_amt,
      min(running.block) filter (where running.lot_amt <= 0) as emptied
    from (
      select
        staged.id,
        case when staged.lot_amt <= 0 then staged.block else greatest(staged.block, taken.block) end as block,
        dex_private.as_amount(staged.lot_amt)
          - coalesce(sum(taken.lot_amt) over (partition by staged.id order by taken.id), 0) as lot_amt
      from ingest.own_offer as staged
      left join taken on taken.offer_id = staged.id
    ) as running
    group by running.id
  ),
  kept as (
    insert into dex_private.offer_left (offer_id, lot_amt)
    select
      dealt.id,
      dealt.lot_amt
    from dealt
  )
  insert into public.dex_offer (
    id, block, killed, market_id, market, act, pair, maker, lot_gem, lot_tkn, lot_amt,
    bid_gem, bid_tkn, bid_amt, price, time, tx, venue, ref, filled, closed, ended
  )
  select
    staged.id,
    staged.block,
    coalesce(cancellation.block, 0),
    label.market_id,
    label.market,
    label.act,
    staged.pair,
    staged.maker,
    label.lot_gem,
    label.lot_tkn,
    dex_private.as_amount(staged.lot_amt),
    label.bid_gem,
    label.bid_tkn,
    dex_private.as_amount(staged.bid_amt),
    dex_private.price_of(label.act, staged.lot_amt, staged.bid_amt),
    staged.time,
    staged.tx,
    staged.venue,
    case
      when staged.id >= 1073741824 then
        (
          select known.ref
          from dex_private.offer_ref as known
          where known.offer_id = staged.id
        )
    end,
    staged.filled or dealt.lot_amt <= 0,
    staged.filled,
    least(cancellation.block, case when staged.filled then staged.block end, dealt.emptied)
  from ingest.own_offer as staged
  join dealt on dealt.id = staged.id
  left join dex_private.cancellation on cancellation.offer_id = staged.id
  cross join lateral dex_private.labels_of(staged.lot_gem, staged.bid_gem, null, null) as label
  order by
    staged.block,
    staged.line;
end
$$;
comment on function ingest.write_staged_offers(bigint) is 'Writes the staged offers, after the trades, of which those of the staged blocks begin with this id, and after the cancellations.';

-- Writes many blocks at once from the staging tables; the loader calls it.

create function ingest.write_blocks() returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set default_statistics_target = 10
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set work_mem = '32MB'
as $$
declare
  before constant dex_private.write_state := ingest.take_turn();
  digest_before constant bytea := dex_private.digest_before(2147483648);
  written bigint;
  indexes text[] := '{}';
  made integer[];
  ended integer[];
  pooled integer[];
begin
  analyze ingest.staged_offer;
  analyze ingest.staged_trade;
  perform ingest.refuse_rows_of_others();
  perform ingest.refuse_staged(before.last_trade);

  perform ingest.cancel_offers(array_agg(ended.offer_id), array_agg(ended.block))
  from ingest.staged_end as ended;
  begin
    -- By the times of three loads: to make the indexes of four times as many trades as are staged takes as long as to add these to them.
    if (select count(*) from ingest.own_trade as staged)
      >= greatest(10000, (select (max(trade.id) - min(trade.id)) / 3 from public.dex_trade as trade)) then
      indexes := ingest.drop_bulk_indexes();
    end if;
    -- labels_of gets no amounts, so that the planner can memoize it by the two tokens.
    insert into public.dex_trade (
      id, offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt,
      bid_gem, bid_tkn, bid_amt, price, block, time, tx, idx, venue
    )
    select
      coalesce(
        staged.id,
        before.last_trade + row_number() over (order by staged.block, staged.idx, staged.line)
      ),
      staged.offer_id,
      label.market_id,
      label.market,
      label.act,
      staged.pair,
      staged.maker,
      staged.taker,
      label.lot_gem,
      label.lot_tkn,
      dex_private.as_amount(staged.lot_amt),
      label.bid_gem,
      label.bid_tkn,
      dex_private.as_amount(staged.bid_amt),
      dex_private.price_of(label.act, staged.lot_amt, staged.bid_amt),
      staged.block,
      staged.time,
      staged.tx,
      coalesce(
        staged.idx,
        row_number() over (partition by staged.block order by staged.idx, staged.line) - 1
      ),
      staged.venue
    from ingest.own_trade as staged
    cross join lateral dex_private.labels_of(staged.lot_gem, staged.bid_gem, null, null) as label
    order by
      staged.block,
      staged.idx,
      staged.line;
    get diagnostics written = row_count;

    ended := ingest.take_from_offers(before.last_trade + 1) || array(
      select staged.offer_id
      from ingest.own_cancellation as staged
    );
    made := array(
      select staged.id
      from ingest.own_offer as staged
    );
    perform ingest.write_staged_offers(before.last_trade + 1);
    perform ingest.make_bulk_indexes(indexes);
    pooled := ingest.write_pools(array(
      select staged
      from ingest.own_pool as staged
    ));

    -- After the rows, of which the digests are made.
    insert into public.dex_block (number, hash, parent, time, first_trade, has_rows, digest)
    select
      block.number,
      block.hash,
      block.parent,
      block.time,
      block.first_trade,
      block.has_rows,
      dex_private.chained_digest(
        digest_before,
        case
          when block.has_rows then
            dex_private.canonical_form(block.number, block.hash, block.time, facts.lines)
        end
      ) over (order by block.number)
    -- Without the lines, which would be sorted once more.
    from (
      select
        staged.*,
        coalesce(
          min(trade.first_id) over (order by staged.number desc),
          -- An id that was taken back is not given again.
          greatest(before.last_trade + 1, (select max(trade.id) + 1 from public.dex_trade as trade))
        ) as first_trade
      from ingest.staged_head as staged
      left join (
        select
          trade.block,
          min(trade.id) as first_id
        from public.dex_trade as trade
        where trade.id > before.last_trade
        group by trade.block
      ) as trade on trade.block = staged.number
    ) as block
    left join (
      select
        fact.block,
        string_agg(fact.line || E'\n', '' order by fact.line collate "C") as lines
      from dex_private.fact_lines(coalesce(before.head, -1) + 1, 2147483647, before.last_trade + 1, 9223372036854775807) as fact
      group by fact.block
    ) as facts on facts.block = block.number;
  exception
    when check_violation or data_exception or unique_violation then
      perform ingest.refuse_staged_rows();
      raise;
  end;
  perform ingest.refuse_contradictions(before.last_trade + 1, made);
  perform dex_private.leave_book(ended);
  perform dex_private.enter_book(made);
  perform dex_private.enter_past_books(ended || made, coalesce(before.head, -1));
  perform dex_private.derive_best_prices(
    array(
      select distinct offer.market_id
      from unnest(ended || made) as given (id)
      join public.dex_offer as offer on offer.id = given.id
      where offer.market_id is not null
    ) || pooled,
    coalesce(before.head, -1),
    -- Of many offers it is faster to read what has just been entered.
    case when cardinality(indexes) = 0 then ended || made end
  );

  perform ingest.written_to(
    greatest(before.last_trade, (select max(trade.id) from public.dex_trade as trade)),
    before.epoch
  );
  perform dex_private.keep_figures(before.last_trade + 1);
  perform dex_private.keep_running_sums(before.last_trade + 1);
  perform dex_private.derive_market_figures(array(
    select pair.id
    from public.dex_pair as pair
  ));
  delete from ingest.own_block;
  delete from ingest.own_offer;
  delete from ingest.own_cancellation;
  delete from ingest.own_trade;
  delete from ingest.own_pool;
  return written;
end
$$;
comment on function ingest.write_blocks() is 'Writes the blocks that this transaction staged, in order, or nothing, and deletes what it wrote from the staging tables. Returns the number of trades written. Refuses rows that an earlier transaction staged.';
grant execute on function ingest.write_blocks() to dex_writer;

-- What an indexer has found out about contracts, so that a start goes on without asking again.

create table dex_private.index_contract (
  address text,
  kind text,
  block integer not null,
  factory text,
  number integer,
  answers jsonb not null,
  constraint index_contract_pkey primary key (address, kind)
);
comment on table dex_private.index_contract is 'What an indexer has found out about contracts: those that factories have made, what contracts return that never changes, and the tokens whose rows are left out.';
comment on column dex_private.index_contract.address is 'Address of the contract, in lower case.';
comment on column dex_private.index_contract.kind is 'The kind of exchange, by which its events are read; token for a token whose rows are left out, since it had no usable decimals.';
comment on column dex_private.index_contract.block is 'The block of the log by which it was found, of a token that of its first row: where that is taken back, the contract is forgotten.';
comment on column dex_private.index_contract.factory is 'Address of the factory that made it, in lower case; null for a contract of the settings, and for a token.';
comment on column dex_private.index_contract.number is 'Which one of the factory''s it is, from 1; null where the factory does not count them.';
comment on column dex_private.index_contract.answers is 'What its functions return, by their names.';
create index index_contract_block_idx on dex_private.index_contract (block);
comment on index dex_private.index_contract_block_idx is 'Contracts of the newest blocks, for take_back and for comparing a range.';
grant select on dex_private.index_contract to dex_writer;

create function ingest.found_contracts(contracts jsonb) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  insert into dex_private.index_contract (address, kind, block, factory, number, answers)
  select given.address, given.kind, given.block, given.factory, given.number, given.answers
  from jsonb_to_recordset(found_contracts.contracts) as given (
    address text,
    kind text,
    block integer,
    factory text,
    number integer,
    answers jsonb
  );
end;
comment on function ingest.found_contracts(jsonb) is 'Records what was found out about contracts by the blocks that the same transaction writes.';
grant execute on function ingest.found_contracts(jsonb) to dex_writer;

-- What the history is filled from, and how far an indexer has checked it. In one row, or none where that is not known.

create table dex_private.index_source (
  one_row boolean not null default true
    constraint index_source_one_row_check check (one_row)
    constraint index_source_pkey primary key,
  chain_id bigint not null,
  exchange text not null,
  kind text not null,
  first_block integer not null,
  taker text not null,
  ranged_to integer not null,
  audited_to integer not null,
  lacks_contracts boolean not null default false
);
comment on table dex_private.index_source is 'What the history is filled from: an indexer with other settings is refused.';
comment on column dex_private.index_source.chain_id is 'The id of the chain.';
comment on column dex_private.index_source.exchange is 'Address of the contract, in lower case.';
comment on column dex_private.index_source.kind is 'The kind of exchange, by which its events are read.';
comment on column dex_private.index_source.first_block is 'The block that the history begins with; of a mirror, the first one with rows.';
comment on column dex_private.index_source.taker is 'Whose trade it is: the taker of the event, or the sender of its transaction.';
comment on column dex_private.index_source.ranged_to is 'Every block up to this one was read as final, in a range; -1 of a mirror, whose final blocks are in write_state.';
comment on column dex_private.index_source.audited_to is 'The final block up to which the offers agreed with the state of the contract: nothing up to it is taken back by the indexer.';
comment on column dex_private.index_source.lacks_contracts is 'Whether others than an indexer have written blocks: index_contract does not have what factories made in them.';
grant select on dex_private.index_source to dex_writer;
grant select (ranged_to, audited_to) on dex_private.index_source to dex_reader;

-- Tokens and markets of another contract would stay: they cannot be taken back. First blocks (@) and fees (/) change none.
create function ingest.refuse_other_source(known dex_private.index_source, given dex_private.index_source, head integer) returns void
language plpgsql
as $$
declare
  changeable constant text := '@[0-9]+|/[0-9.]+%';
begin
  perform ingest.refuse(case
    when known.one_row
      and (known.chain_id, known.exchange, known.kind, known.first_block, known.taker)
        <> (given.chain_id, given.exchange, given.kind, given.first_block, given.taker)
      and (
        head is not null
        or (known.chain_id, regexp_replace(known.exchange, changeable, '', 'g'), known.kind)
          <> (given.chain_id, regexp_replace(given.exchange, changeable, '', 'g'), given.kind)
          and exists (select from public.dex_token)
      )
    then
      format(
        'the database was filled from %s',
        (
          select string_agg(format('%s %s, not %s', setting.name, setting.recorded, setting.asked), '; ' order by setting.line)
          from (
            values
              (1, 'chain', known.chain_id::text, given.chain_id::text),
              (2, 'contract', known.exchange, given.exchange),
              (3, 'kind', known.kind, given.kind),
              (4, 'first block', known.first_block::text, given.first_block::text),
              (5, 'taker', known.taker, given.taker)
          ) as setting (line, name, recorded, asked)
          where setting.recorded <> setting.asked
        )
      )
  end);
end
$$;
comment on function ingest.refuse_other_source(dex_private.index_source, dex_private.index_source, integer) is 'Raises an error that names what is otherwise, where blocks of the known source are written up to `head`. Where none is, tokens of another chain, contract or kind are refused.';

create function ingest.set_source(given dex_private.index_source) returns void
language plpgsql
as $$
begin
  delete from dex_private.index_source;
  insert into dex_private.index_source
  values (given.*);
  delete from dex_private.index_contract;
end
$$;
comment on function ingest.set_source(dex_private.index_source) is 'Records what the history is filled from, and forgets the contracts of what was recorded before.';

create function ingest.begin_index(
  chain_id bigint,
  exchange text,
  kind text,
  first_block integer,
  taker text
) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  known dex_private.index_source;
  given dex_private.index_source;
begin
  select *
  into known
  from dex_private.index_source;
  given := row(
    true, begin_index.chain_id, lower(begin_index.exchange), begin_index.kind, begin_index.first_block, begin_index.taker,
    -- What others have written was read in ranges for the most part, unless a mirror has recorded how far.
    greatest(begin_index.first_block - 1, coalesce(before.final_to, before.head - 1001)),
    begin_index.first_block - 1,
    before.head is not null and coalesce(known.lacks_contracts, true)
  );
  -- A mirror knows only the first block with rows.
  if known.lacks_contracts
    and not exists (
      select
      from public.dex_block as block
      where block.has_rows
        and block.number < given.first_block
    )
  then
    known.first_block := given.first_block;
  end if;
  perform ingest.refuse_other_source(known, given, before.head);
  if known.one_row
    and not known.lacks_contracts
    and (known.chain_id, known.exchange, known.kind, known.first_block, known.taker)
      = (given.chain_id, given.exchange, given.kind, given.first_block, given.taker)
  then
    -- Where blocks were removed by other means than take_back.
    delete from dex_private.index_contract as contract
    where contract.block > coalesce(before.head, -1);
    update dex_private.index_source as source
    set
      ranged_to = least(source.ranged_to, coalesce(before.head, given.ranged_to)),
      audited_to = least(source.audited_to, coalesce(before.head, given.audited_to));
    return false;
  end if;
  perform ingest.set_source(given);
  return before.head is not null and known.one_row is null;
end
$$;
comment on function ingest.begin_index(bigint, text, text, integer, text) is 'Records what an indexer fills the history from. Refuses another source than the recorded one, unless no block is written. For another chain, contract or kind, no token may be registered either. Returns whether the database had blocks without a record.';
grant execute on function ingest.begin_index(bigint, text, text, integer, text) to dex_writer;

create function ingest.begin_mirror(
  chain_id bigint,
  exchange text,
  kind text,
  first_block integer,
  taker text
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  known dex_private.index_source;
  given dex_private.index_source;
begin
  select *
  into known
  from dex_private.index_source;
  given := row(
    true,
    coalesce(begin_mirror.chain_id, known.chain_id),
    coalesce(lower(begin_mirror.exchange), known.exchange),
    coalesce(begin_mirror.kind, known.kind),
    coalesce(begin_mirror.first_block, known.first_block),
    coalesce(begin_mirror.taker, known.taker),
    -1, -1, true
  );
  if given = known or not given is not null then
    return;
  end if;
  -- A reorganisation changes it.
  known.first_block := given.first_block;
  perform ingest.refuse_other_source(known, given, before.head);
  -- What an indexer has found to be final stays so.
  update dex_private.write_state as state
  set final_to = greatest(state.final_to, known.ranged_to, known.audited_to)
  where before.head is not null
    and not known.lacks_contracts;
  perform ingest.set_source(given);
end
$$;
comment on function ingest.begin_mirror(bigint, text, text, integer, text) is 'Records what the origin of a mirror is filled from, with its first block with rows: before the mirror writes blocks. Null where the origin does not say it: what is recorded stays then. Refuses what begin_index does, but for another first block.';
grant execute on function ingest.begin_mirror(bigint, text, text, integer, text) to dex_writer;

create function ingest.checked_to(ranged_to integer, audited_to integer) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  update dex_private.index_source as source
  set
    ranged_to = greatest(source.ranged_to, checked_to.ranged_to),
    audited_to = greatest(source.audited_to, checked_to.audited_to)
  where not source.lacks_contracts;
  update dex_private.write_state as state
  set final_to = least(checked_to.ranged_to, state.head)
  where least(checked_to.ranged_to, state.head) > coalesce(state.final_to, -2)
    and state.head is not null
    and not exists (
      select
      from dex_private.index_source as source
      where not source.lacks_contracts
    );
end;
comment on function ingest.checked_to(integer, integer) is 'Records up to which block the history was read in ranges as final, and up to which it was audited. Where an indexer does not write, a mirror records up to which block it is final. Null changes nothing.';
grant execute on function ingest.checked_to(integer, integer) to dex_writer;

create function ingest.found_all_contracts(head integer) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
begin
  if before.head is distinct from found_all_contracts.head then
    return false;
  end if;
  update dex_private.index_source
  set lacks_contracts = false;
  return true;
end
$$;
comment on function ingest.found_all_contracts(integer) is 'Records that found_contracts was given all that factories made up to this block. Returns whether it is the last one: otherwise nothing is recorded.';
grant execute on function ingest.found_all_contracts(integer) to dex_writer;

-- Removes the newest blocks after a chain reorganisation.

create function ingest.take_back(to_block integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set jit = off
as $$
declare
  before constant dex_private.write_state := ingest.take_turn();
  head_before constant timestamptz := (select head.time from dex_private.last_block as head);
  head dex_private.last_block;
  first_trade bigint;
  first_minute timestamptz;
  first_hour timestamptz;
  traded integer[];
  touched integer[];
  pooled integer[];
  offers integer[];
  new_offers integer[];
  reopened integer[];
  taken_back bigint;
begin
  perform ingest.refuse(case
    when to_block is null or to_block < -1 then
      format('to_block is %s: it must be an integer from 0, or -1 for all blocks', coalesce(to_block::text, 'null'))
    when to_block > coalesce(before.head, -1) then
      format('block %s is not written: %s', to_block, coalesce('the head is block ' || before.head, 'the database has no blocks'))
  end);
  if to_block = before.head then
    return 0;
  end if;

  first_trade := dex_private.first_trade_of(to_block + 1);
  select
    array_agg(distinct trade.market_id) filter (where trade.market_id is not null),
    array_agg(distinct trade.offer_id) filter (where trade.offer_id is not null)
  into
    traded,
    offers
  from public.dex_trade as trade
  where trade.id >= first_trade;

  -- Return the amounts that the trades took, and undo the cancellations.
  update dex_private.offer_left as kept
  set lot_amt = kept.lot_amt + taken.lot_amt
  from (
    select
      trade.offer_id,
      sum(trade.lot_amt) as lot_amt
    from public.dex_trade as trade
    where trade.id >= first_trade
    group by trade.offer_id
  ) as taken
  where kept.offer_id = taken.offer_id;

  with undone as (
    delete from dex_private.cancellation as cancellation
    where cancellation.block > to_block
    returning cancellation.offer_id
  )
  select coalesce(offers, '{}') || coalesce(array_agg(undone.offer_id), '{}')
  into offers
  from undone;

  delete from public.dex_trade as trade
  where trade.id >= first_trade;
  get diagnostics taken_back = row_count;

  new_offers := array(
    select offer.id
    from public.dex_offer as offer
    where offer.block > to_block
  );
  reopened := array(
    select offer.id
    from public.dex_offer as offer
    where offer.id = any (offers)
      and offer.ended > to_block
  );
  pooled := array(
    select distinct pool.market_id
    from public.dex_pool_state as state
    join public.dex_pool as pool on pool.venue = state.venue
    where state.block > to_block
      and pool.market_id is not null
  );
  delete from dex_private.best_price as kept
  using (
    select offer.market_id
    from public.dex_offer as offer
    where offer.id = any (new_offers || reopened)
      and offer.market_id is not null
    union
    select given.market_id
    from unnest(pooled) as given (market_id)
  ) as changed
  where kept.market_id = changed.market_id
    and kept.act in ('buy', 'sell')
    and kept.block > to_block;
  touched := dex_private.leave_book(new_offers);
  perform dex_private.leave_past_books(new_offers || reopened);
  with gone as (
    delete from public.dex_offer as offer
    where offer.id = any (new_offers)
    returning offer.id
  )
  delete from dex_private.offer_left as kept
  using gone
  where kept.offer_id = gone.id;

  -- An offer that was filled before can be cancelled later.
  update public.dex_offer as offer
  set
    killed = case when offer.killed > to_block then 0 else offer.killed end,
    filled = offer.filled and offer.ended <= to_block,
    ended = case when offer.ended <= to_block then offer.ended end
  where offer.id = any (offers)
    and (offer.killed > to_block or offer.ended > to_block);
  touched := touched || dex_private.enter_book(reopened);

  delete from dex_private.pool_tick as tick
  using dex_private.derived_pool_tick as derived
  where derived.block > to_block
    and (tick.venue, tick.tick, tick.block) = (derived.venue, derived.tick, derived.block);
  delete from public.dex_pool_state as state
  where state.block > to_block;
  delete from public.dex_pool as pool
  where pool.block > to_block;
  delete from dex_private.offer_ref as known
  where known.block > to_block;
  delete from public.dex_block as block
  where block.number > to_block;
  update dex_private.index_source as source
  set
    ranged_to = least(source.ranged_to, to_block),
    audited_to = least(source.audited_to, to_block);
  select *
  into head
  from dex_private.last_block;
  -- Blocks without rows are not kept: those from the new head on are read again.
  delete from dex_private.index_contract as contract
  where contract.block > coalesce(head.number, -1);
  perform dex_private.take_back_active(head.number);
  -- Not to_block: if it is not recorded, a later block may get its number.
  insert into dex_private.reorganisation (number, to_block)
  select coalesce(max(past.number), 0) + 1, coalesce(head.number, -1)
  from dex_private.reorganisation as past;
  delete from dex_private.reorganisation as past
  where past.number <= (select max(newest.number) from dex_private.reorganisation as newest) - 10000;

  -- The new head cuts a minute and an hour: the minute is computed from its trades, the hour from its minutes.
  first_minute := coalesce(dex_private.minute_of(head.time), '-infinity');
  first_hour := coalesce(dex_private.hour_of(head.time), '-infinity');
  delete from dex_private.period_figure as kept
  where kept.market_id = any (traded)
    and kept.minutes in (1, 60)
    and kept.start >= first_hour
    and (kept.minutes = 60 or kept.start >= first_minute);
  insert into dex_private.period_figure
  select figure.*
  from dex_private.figures_from(dex_private.first_trade_from(first_minute)) as figure
  where figure.market_id = any (traded)
    and figure.minutes = 1;
  insert into dex_private.period_figure
  select
    figure.market_id,
    60,
    first_hour,
    sum(figure.trades),
    sum(figure.base_amt),
    sum(figure.quote_amt),
    (array_agg(figure.open order by figure.start) filter (where figure.open is not null))[1],
    max(figure.high),
    min(figure.low),
    (array_agg(figure.close order by figure.start desc) filter (where figure.close is not null))[1],
    sum(figure.unpriced_trades),
    sum(figure.unpriced_quote_amt)
  from dex_private.period_figure as figure
  where figure.market_id = any (traded)
    and figure.minutes = 1
    and figure.start >= first_hour
  group by figure.market_id;

  delete from dex_private.running_sum as kept
  where kept.market_id = any (traded)
    and kept.time >= coalesce(head.time, '-infinity')
    and kept.block > to_block;

  perform ingest.written_to(before.last_trade, before.epoch);
  perform dex_private.derive_market_figures(array(
    select given.market_id
    from unnest(traded || touched || pooled) as given (market_id)
    union
    -- The windows move back with the head: markets with trades that are inside a window again.
    select trade.market_id
    from (
      values (24), (12), (6), (1)
    ) as length (hours)
    cross join lateral (
      select trades.market_id
      from public.dex_trade as trades
      where trades.id >= dex_private.first_trade_from(head.time - length.hours * interval '1 hour' + interval '1 microsecond')
        and trades.id < dex_private.first_trade_from(head_before - length.hours * interval '1 hour' + interval '1 microsecond')
      offset 0
    ) as trade
    where trade.market_id is not null
  ));
  return taken_back;
end
$$;
comment on function ingest.take_back(integer) is 'Removes every block after to_block, or all blocks if it is -1: deletes its trades, offers and states of pools and undoes its cancellations. The head is then to_block, or the last recorded block before it. Returns the number of deleted trades; their ids are never used again. Raises an error if to_block is after the head.';
grant execute on function ingest.take_back(integer) to dex_writer;

-- Registers a token, or changes its symbol, decimals or name.

create function ingest.register_token(
  address text,
  symbol text,
  decimals integer,
  name text default null
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  known public.dex_token;
  labelled bigint;
  changed bigint;
  renamed bigint;
  repriced integer[] := '{}';
begin
  -- A file of tokens writes both alike.
  register_token.name := nullif(register_token.name, '');

  select *
  into known
  from public.dex_token as token
  where lower(token.address) = lower(register_token.address);

  perform ingest.refuse(case
    when register_token.address is null or register_token.address !~ '^0x[0-9a-fA-F]{40}$' then
      format('address is %s: it must be 0x and 40 hex digits', coalesce(left(register_token.address, 90), 'null'))
    when known.address <> register_token.address then
      format('address is %s: the token is registered as %s', register_token.address, known.address)
    when register_token.symbol = '' or length(register_token.symbol) > 100 then
      format('symbol of %s is %s: it must be a text of 1 to 100 characters, or null', register_token.address, quote_literal(left(register_token.symbol, 90)))
    -- Control characters, line ends, direction marks, blanks around it: it would pass for another or not be shown.
    when register_token.symbol ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|^[\u0020\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]|[\u0020\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]$' then
      format('symbol of %s is %s: it may have no control character, line end or direction mark, and no blank before or after it', register_token.address, to_json(register_token.symbol))
    when register_token.decimals is null or register_token.decimals not between 0 and 255 then
      format('decimals of %s is %s: it must be an integer from 0 to 255', register_token.address, coalesce(register_token.decimals::text, 'null'))
    when length(register_token.name) > 1000 then
      format('name of %s has %s characters: it may have at most 1000', register_token.address, length(register_token.name))
    when register_token.name ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|^[\u0020\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]|[\u0020\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]$' then
      format('name of %s is %s: it may have no control character, line end or direction mark, and no blank before or after it', register_token.address, to_json(left(register_token.name, 90)))
    when register_token.symbol is null and exists (
      select
      from public.dex_pair as pair
      where register_token.address in (pair.base_gem, pair.quote_gem)
    ) then
      format('symbol of %s is null: a token of a registered pair needs a symbol', register_token.address)
  end);
  if (known.symbol, known.decimals, known.name)
    is not distinct from (register_token.symbol, register_token.decimals, register_token.name)
    and known.address is not null
  then
    return;
  end if;

  insert into public.dex_token as token (address, symbol, decimals, name)
  values (
    register_token.address,
    register_token.symbol,
    register_token.decimals,
    register_token.name
  )
  on conflict (address) do update
  set
    symbol = excluded.symbol,
    decimals = excluded.decimals,
    name = excluded.name;
  if known.address is not null then
    repriced := ingest.refresh_pairs(array(
      select pair.id
      from public.dex_pair as pair
      where register_token.address in (pair.base_gem, pair.quote_gem)
    ));
  end if;
  if repriced <> '{}' then
    perform dex_private.derive_best_prices(repriced, -1);
    perform dex_private.derive_market_figures(repriced);
  end if;
  if known.address is not null and known.symbol is not distinct from register_token.symbol then
    perform ingest.written_to(before.last_trade, before.epoch + (repriced <> '{}')::integer);
    return;
  end if;

  -- A symbol occurs only in the labels of rows, and in no figure. If the token had no symbol, the partial
  -- indexes of unlabelled rows find them, whatever the letter case of their addresses.
  update public.dex_trade as trade
  set (lot_gem, bid_gem, market_id, market, act, lot_tkn, bid_tkn, price) =
    (select * from dex_private.labels_of(trade.lot_gem, trade.bid_gem, trade.lot_amt, trade.bid_amt))
  where (lower(trade.lot_gem) = lower(register_token.address) and trade.lot_tkn is null)
    or (lower(trade.bid_gem) = lower(register_token.address) and trade.bid_tkn is null)
    or (known.symbol is not null and register_token.address in (trade.lot_gem, trade.bid_gem));
  get diagnostics labelled = row_count;
  update public.dex_offer as offer
  set (lot_gem, bid_gem, market_id, market, act, lot_tkn, bid_tkn, price) =
    (select * from dex_private.labels_of(offer.lot_gem, offer.bid_gem, offer.lot_amt, offer.bid_amt))
  where (lower(offer.lot_gem) = lower(register_token.address) and offer.lot_tkn is null)
    or (lower(offer.bid_gem) = lower(register_token.address) and offer.bid_tkn is null)
    or (known.symbol is not null and register_token.address in (offer.lot_gem, offer.bid_gem));
  get diagnostics changed = row_count;
  renamed := (
    select count(*)
    from public.dex_pair as pair
    where register_token.address in (pair.base_gem, pair.quote_gem)
  );

  perform ingest.written_to(before.last_trade, before.epoch + sign(labelled + changed + renamed)::bigint);
end
$$;
comment on function ingest.register_token(text, text, integer, text) is 'Registers a token, or changes its symbol, decimals or name; repeated, it changes nothing. An empty name is null. Labels the trades and offers of the token with the symbol, and gives them the address in this letter case. Amounts are in whole tokens, so decimals change no amount, but the best prices of pools.';
grant execute on function ingest.register_token(text, text, integer, text) to dex_writer;

-- Registers a pair of tokens as a market, or changes its direction or `active`.

create view ingest.wanted_pair as
select
  pair.id,
  upper(base.symbol) as base,
  upper(quote.symbol) as quote,
  base.decimals as base_precision,
  quote.decimals as quote_precision
from public.dex_pair as pair
join public.dex_token as base on base.address = pair.base_gem
join public.dex_token as quote on quote.address = pair.quote_gem;
comment on view ingest.wanted_pair is 'The columns of each pair that come from its tokens.';

create function ingest.names_of(base text, quote text) returns table (kind text, name text)
language sql immutable
as $$
  values
    ('market', names_of.base || names_of.quote),
    ('path', names_of.base || '/' || names_of.quote)
$$;
comment on function ingest.names_of(text, text) is 'The names of a pair that no other pair may have.';

-- Few statements for all pairs, however many: all writers wait until they are renamed.
create function ingest.refresh_pairs(pairs integer[], out repriced integer[])
language plpgsql
as $$
declare
  changed constant integer[] := array(
    select pair.id
    from public.dex_pair as pair
    join ingest.wanted_pair as wanted on wanted.id = pair.id
    where pair.id = any (pairs)
      and (pair.base, pair.quote, pair.base_precision, pair.quote_precision)
        <> (wanted.base, wanted.quote, wanted.base_precision, wanted.quote_precision)
  );
begin
  -- What a pool trades is a number of the smallest units.
  repriced := array(
    select pair.id
    from public.dex_pair as pair
    join ingest.wanted_pair as wanted on wanted.id = pair.id
    where pair.id = any (changed)
      and (pair.base_precision, pair.quote_precision) <> (wanted.base_precision, wanted.quote_precision)
      and exists (
        select
        from public.dex_pool as pool
        where pool.market_id = pair.id
      )
  );

  -- Frees the names that pairs exchange. No symbol in upper case is an address, with its x.
  update public.dex_pair as pair
  set
    base = pair.base_gem,
    quote = pair.quote_gem
  where pair.id in (
    select held.id
    from public.dex_pair as held
    cross join lateral ingest.names_of(held.base, held.quote) as has
    join (
      select
        wanted.id,
        names.kind,
        names.name
      from ingest.wanted_pair as wanted
      cross join lateral ingest.names_of(wanted.base, wanted.quote) as names
      where wanted.id = any (changed)
    ) as taker using (kind, name)
    where held.id = any (changed)
      and held.id <> taker.id
  );

  begin
    update public.dex_pair as pair
    set
      base = wanted.base,
      quote = wanted.quote,
      base_precision = wanted.base_precision,
      quote_precision = wanted.quote_precision
    from ingest.wanted_pair as wanted
    where pair.id = any (changed)
      and wanted.id = pair.id;
  exception when unique_violation then
    perform ingest.refuse(
      (
        select format('the pair %s and %s would have the same market name as the pair %s and %s: a market name is both symbols joined', wanted.base, wanted.quote, other.base, other.quote)
        from ingest.wanted_pair as wanted
        cross join lateral ingest.names_of(wanted.base, wanted.quote) as names
        join (
          select
            pair.*,
            names.kind,
            names.name
          from ingest.wanted_pair as pair
          cross join lateral ingest.names_of(pair.base, pair.quote) as names
        ) as other using (kind, name)
        where wanted.id = any (changed)
          and other.id <> wanted.id
          and (other.id < wanted.id or other.id <> all (changed))
        order by wanted.id
        limit 1
      ),
      'unique_violation'
    );
    raise;
  end;

  perform dex_private.label_market_figures(pairs);
end
$$;
comment on function ingest.refresh_pairs(integer[]) is 'Copies the symbols and decimals of the tokens into these pairs. Returns those with pools whose decimals changed: their best prices are to be derived anew. Raises an error if two pairs would have the same name.';

create function ingest.register_pair(base_gem text, quote_gem text, active boolean default true) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  base public.dex_token;
  quote public.dex_token;
  known public.dex_pair;
  labelled bigint;
  changed bigint;
  renamed bigint;
  pooled bigint;
  offers integer[];
begin
  select *
  into base
  from public.dex_token as token
  where lower(token.address) = lower(register_pair.base_gem);
  select *
  into quote
  from public.dex_token as token
  where lower(token.address) = lower(register_pair.quote_gem);
  perform ingest.refuse(case
    when base.address is null then
      format('base_gem is %s: no registered token has this address', coalesce(left(register_pair.base_gem, 90), 'null'))
    when quote.address is null then
      format('quote_gem is %s: no registered token has this address', coalesce(left(register_pair.quote_gem, 90), 'null'))
    when base.address = quote.address then
      format('base_gem and quote_gem are both %s: a pair needs two different tokens', base.address)
    when base.symbol is null or quote.symbol is null then
      format('token %s has no symbol: both tokens of a pair need one', case when base.symbol is null then base.address else quote.address end)
    when register_pair.active is null then
      'active is null: it must be true or false'
  end);

  select *
  into known
  from public.dex_pair as pair
  where least(pair.base_gem, pair.quote_gem) = least(base.address, quote.address)
    and greatest(pair.base_gem, pair.quote_gem) = greatest(base.address, quote.address);
  if known.active <> register_pair.active then
    perform dex_private.keep_active(known.id, before.head);
  end if;
  if known.base_gem = base.address then
    update public.dex_pair as pair
    set active = register_pair.active
    where pair.id = known.id
      and pair.active <> register_pair.active;
    if found then
      perform dex_private.label_market_figures(array[known.id]);
      perform ingest.written_to(before.last_trade, before.epoch);
    end if;
    return;
  end if;

  renamed := (known.id is not null)::integer;
  -- refresh_pairs gives the pair its names.
  insert into public.dex_pair as pair (base, quote, base_gem, quote_gem, base_precision, quote_precision, active)
  values (base.address, quote.address, base.address, quote.address, 0, 0, register_pair.active)
  on conflict (least(base_gem, quote_gem), greatest(base_gem, quote_gem)) do update
  set
    base_gem = excluded.base_gem,
    quote_gem = excluded.quote_gem,
    active = excluded.active
  returning *
  into known;
  perform ingest.refresh_pairs(array[known.id]);

  update public.dex_trade as trade
  set (lot_gem, bid_gem, market_id, market, act, lot_tkn, bid_tkn, price) =
    (select * from dex_private.labels_of(trade.lot_gem, trade.bid_gem, trade.lot_amt, trade.bid_amt))
  where dex_private.either_way_key(trade.lot_gem, trade.bid_gem)
      = dex_private.either_way_key(base.address, quote.address)
    and (trade.lot_gem, trade.bid_gem)
      in ((base.address, quote.address), (quote.address, base.address));
  get diagnostics labelled = row_count;
  update public.dex_offer as offer
  set (lot_gem, bid_gem, market_id, market, act, lot_tkn, bid_tkn, price) =
    (select * from dex_private.labels_of(offer.lot_gem, offer.bid_gem, offer.lot_amt, offer.bid_amt))
  where dex_private.either_way_key(offer.lot_gem, offer.bid_gem)
      = dex_private.either_way_key(base.address, quote.address)
    and (offer.lot_gem, offer.bid_gem)
      in ((base.address, quote.address), (quote.address, base.address));
  get diagnostics changed = row_count;

  if labelled > 0 then
    delete from dex_private.period_figure as kept
    where kept.market_id = known.id;
    insert into dex_private.period_figure
    select *
    from dex_private.figures_from(1, known.id);
    delete from dex_private.running_sum as kept
    where kept.market_id = known.id;
    perform dex_private.keep_running_sums(1, known.id);
  end if;
  update public.dex_pool as pool
  set (market_id, act) =
    (select label.market_id, label.act from dex_private.labels_of(pool.gem0, pool.gem1, null, null) as label)
  where dex_private.either_way_key(lower(pool.gem0), lower(pool.gem1))
      = dex_private.either_way_key(lower(base.address), lower(quote.address))
    and (lower(pool.gem0), lower(pool.gem1))
      in ((lower(base.address), lower(quote.address)), (lower(quote.address), lower(base.address)));
  get diagnostics pooled = row_count;
  if changed > 0 then
    delete from dex_private.standing_offer as standing
    where standing.market_id = known.id;
    delete from dex_private.ended_offer as past
    where past.market_id = known.id;
    offers := array(
      select offer.id
      from public.dex_offer as offer
      where dex_private.either_way_key(offer.lot_gem, offer.bid_gem)
          = dex_private.either_way_key(base.address, quote.address)
        and offer.market_id = known.id
    );
    perform dex_private.enter_book(offers);
    perform dex_private.enter_past_books(offers, -1);
  end if;
  if changed + pooled > 0 then
    perform dex_private.derive_best_prices(array[known.id], -1);
  end if;
  perform dex_private.derive_market_figures(array[known.id]);
  perform ingest.written_to(before.last_trade, before.epoch + sign(labelled + changed + renamed)::bigint);
end
$$;
comment on function ingest.register_pair(text, text, boolean) is 'Registers a pair of registered tokens as a market, or changes its direction or `active`; repeated, it changes nothing. Labels all trades, offers and pools between the two tokens, however old. Raises an error if another pair has the same name.';
grant execute on function ingest.register_pair(text, text, boolean) to dex_writer;

-- Rebuilds all derived data from the history, for example after a partial restore.

create function ingest.rebuild() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
  before dex_private.write_state;
begin
  insert into dex_private.write_state default values
  on conflict do nothing;
  -- Not take_turn, which refuses to go on from figures of another block.
  select *
  into strict before
  from dex_private.write_state
  for update;

  -- Copied or replicated rows do not advance the sequence.
  perform setval('public.dex_pair_id_seq', greatest(max(pair.id), 1), count(*) > 0)
  from public.dex_pair as pair;
  perform ingest.refresh_pairs(array(
    select pair.id
    from public.dex_pair as pair
  ));

  update public.dex_trade as trade
  set (lot_gem, bid_gem, market_id, market, act, lot_tkn, bid_tkn, price) =
    (derived.lot_gem, derived.bid_gem, derived.market_id, derived.market, derived.act, derived.lot_tkn, derived.bid_tkn, derived.price)
  from dex_private.mislabelled_trade as derived
  where trade.id = derived.id;
  update public.dex_pool as pool
  set (market_id, act) = (derived.market_id, derived.act)
  from dex_private.mislabelled_pool as derived
  where pool.venue = derived.venue;
  delete from dex_private.pool_tick;
  insert into dex_private.pool_tick
  select *
  from dex_private.derived_pool_tick;
  delete from dex_private.offer_left;
  insert into dex_private.offer_left
  select *
  from dex_private.derived_offer_left;
  update public.dex_offer as offer
  set
    (lot_gem, bid_gem, market_id, market, act, lot_tkn, bid_tkn, price) =
      (derived.lot_gem, derived.bid_gem, derived.market_id, derived.market, derived.act, derived.lot_tkn, derived.bid_tkn, derived.price),
    filled = derived.filled
  from dex_private.mislabelled_offer as derived
  where offer.id = derived.id;
  update public.dex_offer as offer
  set ended = derived.ended
  from dex_private.derived_offer_end as derived
  where offer.id = derived.offer_id
    and offer.ended is distinct from derived.ended;
  -- Keeps cancellations of offers that are not recorded: no other table has them.
  delete from dex_private.cancellation as kept
  using public.dex_offer as offer
  where offer.id = kept.offer_id
    and offer.killed <> kept.block;
  insert into dex_private.cancellation (offer_id, block)
  select
    offer.id,
    offer.killed
  from public.dex_offer as offer
  where offer.killed > 0
  on conflict do nothing;
  -- Keeps those of orders that are not recorded, for the same reason.
  delete from dex_private.offer_ref as known
  using public.dex_offer as offer
  where offer.id = known.offer_id;
  insert into dex_private.offer_ref (venue, ref, offer_id, block)
  select
    lower(offer.venue),
    offer.ref,
    offer.id,
    least(
      offer.block,
      (
        select min(trade.block)
        from public.dex_trade as trade
        where trade.offer_id = offer.id
      )
    )
  from public.dex_offer as offer
  where offer.ref is not null
  on conflict (venue, ref) do update
  set
    offer_id = excluded.offer_id,
    block = excluded.block;
  delete from dex_private.standing_offer;
  insert into dex_private.standing_offer
  select *
  from dex_private.derived_standing_offer;
  delete from dex_private.ended_offer;
  insert into dex_private.ended_offer
  select *
  from dex_private.derived_ended_offer;

  insert into public.dex_block as block (number, time, first_trade, has_rows)
  select
    derived.number,
    coalesce(
      derived.right_time,
      (
        select earlier.time
        from public.dex_block as earlier
        where earlier.number < derived.number
        order by earlier.number desc
        limit 1
      ),
      (select min(later.time) from public.dex_block as later)
    ),
    derived.right_first_trade,
    derived.right_has_rows
  from dex_private.misplaced_block as derived
  on conflict (number) do update
  set
    time = excluded.time,
    first_trade = excluded.first_trade,
    has_rows = excluded.has_rows;
  -- Keeps those that there are: only they show that a fact was changed.
  perform dex_private.fill_digests(2147483647);
  perform ingest.written_to(
    (
      select derived.last_trade
      from dex_private.derived_write_state as derived
    ),
    -- From the clock, so that a service that runs through a restore never sees a known epoch again.
    greatest(before.epoch + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
  );
  delete from dex_private.best_price;
  perform dex_private.derive_best_prices(
    array(
      select pair.id
      from public.dex_pair as pair
    ),
    -1
  );
  delete from dex_private.period_figure;
  perform dex_private.keep_figures(1);
  delete from dex_private.running_sum;
  perform dex_private.keep_running_sums(1);
  delete from dex_private.market_figure;
  perform dex_private.derive_market_figures(array(
    select pair.id
    from public.dex_pair as pair
  ));
end
$$;
comment on function ingest.rebuild() is 'Rebuilds all derived data from tokens, pairs, blocks, offers and trades, for example after a restore of these tables alone. For dex_owner.';

-- Makes the digests of blocks that came without the functions of ingest.

create function ingest.fill_digests(most integer default 1000) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ingest.take_turn();
  -- A writer with an older snapshot, in which the head has no digest, is refused. What is recorded of the head stays: its figures
  -- may be of an older block.
  update dex_private.write_state
  set epoch = epoch;
  return dex_private.fill_digests(fill_digests.most);
end
$$;
comment on function ingest.fill_digests(integer) is 'Makes the digests of the first blocks that have none, at most so many, and returns how many. A block that is written after one without a digest has none either, so call it until it returns 0.';
grant execute on function ingest.fill_digests(integer) to dex_writer;

-- The applied migrations of a database.

-- The service, which only reads, waits while the database lacks a migration.
create view dex_private.applied_migration as
select
  migration.filename,
  migration.date,
  migration.hash
from graphile_migrate.migrations as migration;
comment on view dex_private.applied_migration is 'The committed migrations that are applied to this database.';
grant select on dex_private.applied_migration to dex_reader;

-- What can be taken back.

create function dex_private.final_block(finality integer) returns setof public.dex_block
language sql stable
rows 1
as $$
  select block.*
  from (
    select least(
      coalesce(
        greatest(
          coalesce(
            (
              select greatest(source.ranged_to, source.audited_to)
              from dex_private.index_source as source
            ),
            head.number - finality
          ),
          state.final_to
        ),
        head.number - 64
      ),
      head.number - finality
    ) as number
    from dex_private.write_state as state
    cross join (
      select max(block.number) as number
      from public.dex_block as block
    ) as head
  ) as final
  cross join lateral (
    select *
    from public.dex_block as recorded
    where recorded.number <= final.number
    order by recorded.number desc
    limit 1
  ) as block
$$;
comment on function dex_private.final_block(integer) is 'The last recorded block that the chain does not take back any more. An indexer has read final blocks up to it, or a mirror has recorded it, and it is at least as many blocks below the head as given. Where no indexer is recorded, a block that far below the head is final too; where nothing is recorded or given, one 64 blocks below it. No row where there is none.';
grant execute on function dex_private.final_block(integer) to dex_reader, dex_writer;

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

-- A recorded block with its digest, and what decides digests beside the facts.

create function dex_block_digest(block dex_block) returns text
language sql stable parallel safe
as $$
  select '0x' || encode(block.digest, 'hex')
$$;
comment on function dex_block_digest(dex_block) is 'Digest of all facts up to the block: databases with the same one have the same facts. Null where the block was written by other means than the functions that write.';
grant execute on function dex_block_digest(dex_block) to dex_reader, dex_writer;

create function dex_block_at(number integer default null) returns dex_block
language plpgsql stable parallel safe
set jit = off
as $$
#variable_conflict use_column
declare
  last constant integer := (select as_of.block from dex_private.as_of);
  block public.dex_block;
begin
  select *
  into block
  from public.dex_block as recorded
  where recorded.number <= coalesce(dex_block_at.number, last)
    and coalesce(dex_block_at.number, last) <= last
  order by recorded.number desc
  limit 1;
  if block.number is null and dex_block_at.number is not null then
    perform dex_private.refuse_block(dex_block_at.number::text, last);
  end if;
  return block;
end
$$;
comment on function dex_block_at(integer) is E'@name dexBlock\n@argument number From the first block to the head. The head if not given.\nThe last recorded block at or below a number: blocks without rows are not kept. An error where there is no such block.';
grant execute on function dex_block_at(integer) to dex_reader, dex_writer;

-- A second database is compared by these first: where one differs, digests differ though both are right.
create view dex_digest_basis as
select
  1 as version,
  first.number as first_block,
  first.hash is not null as hashed,
  source.chain_id,
  source.exchange,
  source.kind,
  source.taker
from (
  select *
  from public.dex_block as block
  where block.has_rows
  order by block.number
  limit 1
) as first
left join dex_private.index_source as source on true;
comment on view dex_digest_basis is E'@behavior -query:resource:list -query:resource:connection -query:resource:single\nWhat decides digests beside the facts of the blocks: two databases are compared by this first.';
comment on column dex_digest_basis.version is E'@notNull\nVersion of the canonical form.';
comment on column dex_digest_basis.first_block is E'@notNull\nHeight of the first block with rows, with which the digests begin.';
comment on column dex_digest_basis.hashed is E'@notNull\nWhether that block has a hash.';
comment on column dex_digest_basis.chain_id is 'The id of the chain. Null where no indexer wrote, like what follows.';
comment on column dex_digest_basis.exchange is 'Addresses of the contracts, in lower case.';
comment on column dex_digest_basis.kind is 'The kinds of exchanges, by which their events are read.';
comment on column dex_digest_basis.taker is 'Whose trade it is: the taker of the `event`, or the `sender` of its transaction.';
grant select on dex_digest_basis to dex_reader, dex_writer;

create function dex_current_digest_basis() returns dex_digest_basis
language sql stable parallel safe
as $$
  select *
  from public.dex_digest_basis
$$;
comment on function dex_current_digest_basis() is E'@name dexDigestBasis\nWhat decides digests beside the facts of the blocks. Null where no block with rows was ever written.';
grant execute on function dex_current_digest_basis() to dex_reader, dex_writer;

-- All market figures in one view; the published views select from it.

-- In plpgsql, which the planner does not inline: as of the head it is one expression of the plan instead of ten.
create function dex_private.vwap_of(quote_amt numeric, base_amt numeric) returns numeric
language plpgsql immutable parallel safe
as $$
begin
  return dex_private.quotient(quote_amt, base_amt);
end
$$;
comment on function dex_private.vwap_of(numeric, numeric) is 'The volume weighted price of these sums, as quotient.';
grant execute on function dex_private.vwap_of(numeric, numeric) to dex_reader, dex_writer;

-- What a past block needs is in functions, and in few expressions. As of the head they are not called, and each node or expression of
-- a plan costs time before the first row. The volatile column keeps the planner from evaluating `windows` and `prices` for
-- each column that reads them. It drops the one of which no column is selected. Conditions on the pair
-- are evaluated before them. `asked` is as_of in fewer nodes. It refuses figures that are not of the head, and a block that is not
-- there: whatever is selected, and also where there is no row. The condition has it evaluated first, and once for all columns.
create view dex_private.head_figure as
select
  kept.base || '/' || kept.quote as pair,
  kept.base,
  kept.quote,
  coalesce((kept.prices).active, kept.active) as active,
  case when kept.is_past then (kept.windows).last else kept.last end as last,
  case when kept.is_past then (kept.windows).last_time else kept.last_time end as last_time,
  case when kept.is_past then (kept.windows).open else kept.open end as open,
  case when kept.is_past then (kept.windows).last - (kept.windows).open else kept.last - kept.open end as change,
  case when kept.is_past then (kept.windows).low else kept.low end as low,
  case when kept.is_past then (kept.windows).high else kept.high end as high,
  case when kept.is_past then (kept.prices).bid else kept.bid end as bid,
  case when kept.is_past then (kept.prices).ask else kept.ask end as ask,
  case when kept.is_past then (kept.windows).trades_24h else kept.trades_24h end as trades,
  case when kept.is_past then (kept.windows).base_24h when kept.trades_24h > 0 then kept.base_24h end as vol,
  case when kept.is_past then (kept.windows).quote_24h when kept.trades_24h > 0 then kept.quote_24h end as quote_vol,
  case when kept.is_past then dex_private.vwap_of((kept.windows).quote_24h, (kept.windows).base_24h) else dex_private.quotient(kept.quote_24h, kept.base_24h) end as vwap24h,
  case when kept.is_past then dex_private.vwap_of((kept.windows).quote_12h, (kept.windows).base_12h) else dex_private.quotient(kept.quote_12h, kept.base_12h) end as vwap12h,
  case when kept.is_past then dex_private.vwap_of((kept.windows).quote_6h, (kept.windows).base_6h) else dex_private.quotient(kept.quote_6h, kept.base_6h) end as vwap6h,
  case when kept.is_past then dex_private.vwap_of((kept.windows).quote_1h, (kept.windows).base_1h) else dex_private.quotient(kept.quote_1h, kept.base_1h) end as vwap1h
from (
  with asked as materialized (
    select case
      when (state.head is distinct from head.number or state.head_hash is distinct from head.hash) and dex_private.is_checked() then null
      when dex_private.is_past() then dex_private.named_moment_below(head.number)
      else row(head.number, null, null)::dex_private.last_moment
    end as moment
    from dex_private.write_state as state
    left join dex_private.last_block as head on true
  )
  select
    market.*,
    dex_private.is_past() as is_past,
    case when dex_private.is_past() then dex_private.windows_at(market.market_id, (select asked.moment from asked)) end as windows,
    case when dex_private.is_past() then dex_private.prices_at(market.market_id, (select asked.moment from asked)) end as prices,
    clock_timestamp() as fence
  from dex_private.market_figure as market
  where (select asked.moment from asked) is distinct from null
) as kept;
comment on view dex_private.head_figure is 'All figures of all registered markets, as of what as_of names.';

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

-- Volume of each market.

create view dex_volume as
select
  figure.pair,
  figure.base,
  figure.quote,
  figure.vol
from dex_private.head_figure as figure;
comment on view dex_volume is E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexVolume|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The volume of this pair as of the head. Never null.\nVolume of each registered market as of the head.';
comment on column dex_volume.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_volume.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_volume.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_volume.vol is 'Volume over the last 24 hours, in base units. Null without a trade in them.';
grant select on dex_volume to dex_reader, dex_writer;

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

-- The ranges of prices that a pool with liquidity in ranges moves through.

-- In a range, between two of its prices, it has L × 2^96 × |1 ÷ one − 1 ÷ other| of its first token. Of its second one
-- it has L × |one − other| ÷ 2^96; `counted` millionths of an amount that comes in move the price.
create function dex_private.range_amount(
  is_second boolean,
  liquidity numeric,
  one numeric,
  other numeric,
  counted integer default 1000000,
  rounds_up boolean default false
) returns numeric
language sql immutable parallel safe
as $$
  select div(
    amount.dividend + case when rounds_up then amount.divisor - 1 else 0 end,
    amount.divisor
  )
  from (
    select
      liquidity * abs(one - other) * 1000000 * case when is_second then 1 else 79228162514264337593543950336 end as dividend,
      counted * case when is_second then 79228162514264337593543950336 else one * other end as divisor
  ) as amount
$$;
comment on function dex_private.range_amount(boolean, numeric, numeric, numeric, integer, boolean) is 'How much of its first or second token a pool with this liquidity moves between two square roots of its price. In the smallest unit, rounded once.';
grant execute on function dex_private.range_amount(boolean, numeric, numeric, numeric, integer, boolean) to dex_reader, dex_writer;

-- 2 % of a price are at most 203 ticks. A contract rounds what comes in up, the fee of it too, and what goes out down, in each range.
create function dex_private.pool_ranges(
  venue text,
  block integer,
  rises boolean,
  sqrt_price numeric,
  tick integer,
  liquidity numeric,
  fee integer,
  tick_spacing integer
)
returns table (start_price numeric, end_price numeric, liquidity numeric, taken_before numeric, given_before numeric)
language sql stable
rows 5
as $$
  with edge as (
    select
      ends.place,
      sum(ends.net) as net,
      dex_private.tick_sqrt_price(min(ends.tick)) as price
    from (
      select
        near.tick,
        near.net,
        case when rises then near.tick else -near.tick end as place
      from (
        select
          ticks.tick,
          ticks.net
        from dex_private.pool_ticks_at(pool_ranges.venue, pool_ranges.tick - 250, pool_ranges.tick + 250, pool_ranges.block) as ticks
        union all
        -- A contract looks for the next tick among 256 at once, and rounds at their end too.
        select
          (word.number * 256 + case when rises then 255 else 0 end) * pool_ranges.tick_spacing,
          0
        from generate_series(
          div(pool_ranges.tick - 250, 256 * pool_ranges.tick_spacing)::integer - 1,
          div(pool_ranges.tick + 250, 256 * pool_ranges.tick_spacing)::integer + 1
        ) as word (number)
        union all
        select
          case
            when rises then least(pool_ranges.tick + 251, 887272)
            else greatest(pool_ranges.tick - 251, -887272)
          end,
          0
      ) as near (tick, net)
    ) as ends
    where ends.tick between -887272 and 887272
      and case when rises then ends.place > pool_ranges.tick else ends.place >= -pool_ranges.tick end
      and abs(ends.tick - pool_ranges.tick) <= 251
    group by ends.place
  )
  select
    step.start_price,
    step.end_price,
    step.liquidity,
    coalesce(sum(step.taken + div(step.taken * fee + 999999 - fee, 1000000 - fee)) over earlier, 0),
    coalesce(sum(step.given) over earlier, 0)
  from (
    select
      range.*,
      dex_private.range_amount(rises, range.liquidity, range.start_price, range.end_price, rounds_up => true) as taken,
      dex_private.range_amount(not rises, range.liquidity, range.start_price, range.end_price) as given
    from (
      select
        edge.place,
        lag(edge.price, 1, pool_ranges.sqrt_price) over in_order as start_price,
        edge.price as end_price,
        pool_ranges.liquidity + case when rises then 1 else -1 end * (sum(edge.net) over in_order - edge.net) as liquidity
      from edge
      window in_order as (order by edge.place)
    ) as range
  ) as step
  window earlier as (order by step.place rows between unbounded preceding and 1 preceding)
$$;
comment on function dex_private.pool_ranges(text, integer, boolean, numeric, integer, numeric, integer, integer) is 'The ranges that a pool moves through as its price rises or falls by 2 %, in their order. Each has what the pool takes and gives before it, in the smallest units.';
grant execute on function dex_private.pool_ranges(text, integer, boolean, numeric, integer, numeric, integer, integer) to dex_reader, dex_writer;

-- Of what comes in it takes as much as leads to a price, rounded down. What it gives for that is what the contract gives: it
-- rounds the new price so that it gives less.
create function dex_private.range_given(
  rises boolean,
  liquidity numeric,
  price numeric,
  taken numeric,
  fee integer
) returns numeric
language sql immutable parallel safe
as $$
  select dex_private.range_amount(
    not rises,
    liquidity,
    price,
    case
      when rises then price + div(net.taken * 79228162514264337593543950336, liquidity)
      else div(
        liquidity * 79228162514264337593543950336 * price + liquidity * 79228162514264337593543950336 + net.taken * price - 1,
        liquidity * 79228162514264337593543950336 + net.taken * price
      )
    end
  )
  from (
    select div(taken * (1000000 - fee), 1000000) as taken
  ) as net
  where liquidity > 0
$$;
comment on function dex_private.range_given(boolean, numeric, numeric, numeric, integer) is 'What a pool with this liquidity gives at this square root of its price, for an amount that does not leave its range. Null without liquidity.';
grant execute on function dex_private.range_given(boolean, numeric, numeric, numeric, integer) to dex_reader, dex_writer;

-- The levels of a book that are of pools.

-- Up to a price that is 1 + r times the ask, a pool with reserves takes reserve × (√(1 + r) − 1) ÷ (1 − fee) of the quote token. Down
-- to one that is 1 − r times the bid, it takes reserve × (1 ÷ √(1 − r) − 1) ÷ (1 − fee) of the base token. That is rounded down to
-- the smallest unit, and what it gives for it is what the contract gives, which rounds down too. A pool with ranges does the same, range by
-- range. A level is what a band has beyond the one before. The roots have 100 fractional digits: reserves have at most 78 digits. In
-- plpgsql, for the reason of past_book.
create function dex_private.pool_levels(market integer, block integer)
returns table (act text, price numeric, vol numeric, quote_vol numeric)
language plpgsql stable
rows 20
as $$
#variable_conflict use_column
begin
  return query
    with side as (
      select
        pool.*,
        given.act as side,
        given.act = pool.act as rises
      from dex_private.pools_of(pool_levels.market, pool_levels.block) as pool
      cross join (values ('buy'), ('sell')) as given (act)
    ),
    edge as (
      select
        side.*,
        step.number,
        pair.base_precision,
        pair.quote_precision,
        ratio.dividend / ratio.divisor as ratio,
        sqrt(case when side.rises then ratio.dividend / ratio.divisor else ratio.divisor / ratio.dividend end) as root,
        case side.side
          when 'buy' then dex_private.quotient(side.quote_amt * (1000000 - side.fee) * ratio.divisor, side.base_amt * 1000000000)
          else dex_private.quotient(side.quote_amt * ratio.dividend * 1000, side.base_amt * (1000000 - side.fee))
        end as price
      from side
      join public.dex_pair as pair on pair.id = pool_levels.market
      cross join generate_series(1, 10) as step (number)
      cross join lateral (
        select
          case side.side when 'buy' then 1000 else 1000 + 2 * step.number end::numeric(120, 100) as dividend,
          case side.side when 'buy' then 1000 - 2 * step.number else 1000 end::numeric(120, 100) as divisor
      ) as ratio
    ),
    reserve_band as (
      select
        edge.venue,
        edge.side,
        edge.number,
        took.taken,
        div(took.taken * (1000000 - edge.fee) * has.reserve_out, has.reserve_in * 1000000 + took.taken * (1000000 - edge.fee)) as given
      from edge
      cross join lateral (
        select
          trunc(edge.base_amt * round(10::numeric ^ edge.base_precision)) as base_units,
          trunc(edge.quote_amt * round(10::numeric ^ edge.quote_precision)) as quote_units
      ) as units
      cross join lateral (
        select
          case edge.side when 'buy' then units.base_units else units.quote_units end as reserve_in,
          case edge.side when 'buy' then units.quote_units else units.base_units end as reserve_out
      ) as has
      cross join lateral (
        select div(has.reserve_in * (sqrt(edge.ratio) - 1) * 1000000, 1000000 - edge.fee) as taken
      ) as took
      where edge.sqrt_price is null
    ),
    range as materialized (
      select
        side.venue,
        side.side,
        range.*
      from side
      cross join lateral dex_private.pool_ranges(
        side.venue, pool_levels.block, side.rises, side.sqrt_price, side.tick, side.liquidity, side.fee, side.tick_spacing
      ) as range
      where side.sqrt_price is not null
    ),
    range_band as (
      select
        edge.venue,
        edge.side,
        edge.number,
        range.taken_before + took.taken as taken,
        range.given_before
          + coalesce(dex_private.range_given(edge.rises, range.liquidity, range.start_price, took.taken, edge.fee), 0) as given
      from edge
      cross join lateral (
        -- A contract stops within the prices of the ticks 887272 and -887272.
        select
          case
            when edge.rises then least(floor(edge.sqrt_price * edge.root), 1461446703485210103287273052203988822378723970341)
            else greatest(ceil(edge.sqrt_price * edge.root), 4295128740)
          end as price
      ) as target
      join range
        on range.venue = edge.venue
        and range.side = edge.side
        and case
          when edge.rises then target.price >= range.start_price and target.price < range.end_price
          else target.price <= range.start_price and target.price > range.end_price
        end
      cross join lateral (
        select dex_private.range_amount(edge.rises, range.liquidity, range.start_price, target.price, 1000000 - edge.fee) as taken
      ) as took
      where edge.sqrt_price is not null
    )
    select
      level.side,
      level.price,
      dex_private.quotient(case level.side when 'sell' then level.given else level.taken end, round(10::numeric ^ level.base_precision)),
      dex_private.quotient(case level.side when 'sell' then level.taken else level.given end, round(10::numeric ^ level.quote_precision))
    from (
      select
        risen.side,
        risen.price,
        risen.base_precision,
        risen.quote_precision,
        risen.taken - lag(risen.taken, 1, 0::numeric) over in_order as taken,
        risen.given - lag(risen.given, 1, 0::numeric) over in_order as given
      from (
        select
          edge.*,
          band.taken,
          band.given,
          lag(band.given, 1, 0::numeric) over (partition by edge.venue, edge.side order by edge.number) as given_before
        from edge
        join (
          select * from reserve_band
          union all
          select * from range_band
        ) as band using (venue, side, number)
      ) as risen
      -- A band that gives nothing more is part of the next one that does.
      where risen.given > risen.given_before
      window in_order as (partition by risen.venue, risen.side order by risen.number)
    ) as level;
end
$$;
comment on function dex_private.pool_levels(integer, integer) is 'What the pools of a market traded within 2 % of their best prices after this block. Each side has ten levels, each at the worst price of its band.';
grant execute on function dex_private.pool_levels(integer, integer) to dex_reader, dex_writer;

-- The offers that were open after a past block, all of them or those at the best prices.

-- They are read by a few look-ups, as many as block_nodes has.
create function dex_private.past_offers(market integer, past integer)
returns table (offer_id integer, act text, price numeric)
language sql stable
rows 1000
as $$
  select
    ended.offer_id,
    ended.act,
    ended.price
  from dex_private.block_nodes(past) as path (node)
  cross join lateral (
    select *
    from dex_private.ended_offer as offer
    where offer.market_id = past_offers.market
      and offer.node = path.node
      and offer.made <= past
      and offer.ended > past
    offset 0
  ) as ended
  union all
  select
    standing.offer_id,
    standing.act,
    standing.price
  from dex_private.standing_offer as standing
  where standing.market_id = past_offers.market
    and standing.made <= past
$$;
comment on function dex_private.past_offers(integer, integer) is 'The offers of a market with a price that were open after this block.';
grant execute on function dex_private.past_offers(integer, integer) to dex_reader, dex_writer;

-- The best prices of each node are read in the order of the index, and a window ends behind the last of them. In plpgsql, which the
-- planner does not inline: a book of the head would begin all nodes of the plan, which takes longer than to read it.
create function dex_private.past_book(market integer, past dex_private.last_moment, levels integer)
returns table (act text, price numeric, offer_id integer, left_amt numeric)
language plpgsql stable
rows 100
as $$
#variable_conflict use_column
begin
  return query
  with best as (
    select
      'buy' as act,
      offer.price,
      offer.offer_id
    from (
      select
        listed.*,
        dense_rank() over (order by listed.price desc) as place
      from (
        select
          ended.offer_id,
          ended.price
        from dex_private.block_nodes(past.block) as path (node)
        cross join lateral (
          select
            ranked.*,
            dense_rank() over (order by ranked.price desc) as place
          from dex_private.ended_offer as ranked
          where ranked.market_id = past_book.market
            and ranked.node = path.node
            and ranked.act = 'buy'
            and ranked.made <= past.block
            and ranked.ended > past.block
        ) as ended
        where ended.place <= levels
        union all
        select
          standing.offer_id,
          standing.price
        from (
          select
            ranked.*,
            dense_rank() over (order by ranked.price desc) as place
          from dex_private.standing_offer as ranked
          where ranked.market_id = past_book.market
            and ranked.act = 'buy'
            and ranked.made <= past.block
        ) as standing
        where standing.place <= levels
      ) as listed
    ) as offer
    where offer.place <= levels
    union all
    select
      'sell' as act,
      offer.price,
      offer.offer_id
    from (
      select
        listed.*,
        dense_rank() over (order by listed.price) as place
      from (
        select
          ended.offer_id,
          ended.price
        from dex_private.block_nodes(past.block) as path (node)
        cross join lateral (
          select
            ranked.*,
            dense_rank() over (order by ranked.price) as place
          from dex_private.ended_offer as ranked
          where ranked.market_id = past_book.market
            and ranked.node = path.node
            and ranked.act = 'sell'
            and ranked.made <= past.block
            and ranked.ended > past.block
        ) as ended
        where ended.place <= levels
        union all
        select
          standing.offer_id,
          standing.price
        from (
          select
            ranked.*,
            dense_rank() over (order by ranked.price) as place
          from dex_private.standing_offer as ranked
          where ranked.market_id = past_book.market
            and ranked.act = 'sell'
            and ranked.made <= past.block
        ) as standing
        where standing.place <= levels
      ) as listed
    ) as offer
    where offer.place <= levels
  )
  select
    best.act,
    best.price,
    best.offer_id,
    offer.lot_amt - (
      select coalesce(sum(trade.lot_amt), 0)
      from public.dex_trade as trade
      where trade.offer_id = best.offer_id
        and trade.id < past.beyond
    )
  from best
  join public.dex_offer as offer on offer.id = best.offer_id;
end
$$;
comment on function dex_private.past_book(integer, dex_private.last_moment, integer) is 'The offers at the best prices of a market after this moment, as many prices of each side as `levels`, with what was left of their lots.';
grant execute on function dex_private.past_book(integer, dex_private.last_moment, integer) to dex_reader, dex_writer;

-- The order book of a market by price level.

create type dex_book_level as (
  act text,
  price numeric,
  vol numeric,
  quote_vol numeric,
  offers integer
);
comment on type dex_book_level is 'A level of a market''s book: the open offers of one side at one price. Or what pools trade up to it, from the level before.';
comment on column dex_book_level.act is E'@notNull\nThe side: `buy` for bids, `sell` for asks, as the act of the offers.';
comment on column dex_book_level.price is E'@notNull\nThe price of its offers, quote per base, 18 fractional digits. Of a pool, the worst price of one of ten bands, which are 0.2 % of its best price wide each.';
comment on column dex_book_level.vol is E'@notNull\nWhat is left of its offers, and what pools trade up to it from the level before, in base units. What buys base is counted by the share of its lot that is left, each offer rounded once to 18 fractional digits.';
comment on column dex_book_level.quote_vol is E'@notNull\nWhat is left of its offers, and what pools trade up to it from the level before, in quote units. What sells base is counted by the share of its lot that is left, each offer rounded once to 18 fractional digits.';
comment on column dex_book_level.offers is E'@notNull\nNumber of its offers. A pool counts as none.';

-- As of the head it reads the best prices in index order first, and then only the offers up to the last of them. So
-- the time does not depend on the size of the book.
create function dex_book(base text, quote text, depth integer default 50) returns setof dex_book_level
language plpgsql stable
rows 100
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  levels constant integer := coalesce(depth, 50);
  is_past constant boolean := dex_private.is_past();
  market integer;
  moment dex_private.last_moment;
  has_pools boolean;
begin
  if levels not between 1 and 1000 then
    raise exception 'depth must be an integer from 1 to 1000, not %', levels
      using errcode = 'invalid_parameter_value';
  end if;

  select pair.id
  into market
  from public.dex_pair as pair
  where pair.base = upper(dex_book.base)
    and pair.quote = upper(dex_book.quote);
  select *
  into moment
  from dex_private.as_of;
  has_pools := exists (
    select
    from public.dex_pool as pool
    where pool.market_id = market
  );

  return query
  with level as (
    (
      select distinct
        standing.act,
        standing.price
      from dex_private.standing_offer as standing
      where not is_past
        and standing.market_id = market
        and standing.act = 'buy'
      order by standing.price desc
      limit levels
    )
    union all
    (
      select distinct
        standing.act,
        standing.price
      from dex_private.standing_offer as standing
      where not is_past
        and standing.market_id = market
        and standing.act = 'sell'
      order by standing.price
      limit levels
    )
  ),
  edge as materialized (
    select
      min(level.price) filter (where level.act = 'buy') as bid,
      max(level.price) filter (where level.act = 'sell') as ask
    from level
  ),
  open_offer as (
    select
      standing.act,
      standing.price,
      standing.offer_id,
      kept.lot_amt
    from edge
    cross join lateral (
      select *
      from dex_private.standing_offer as bidden
      where bidden.market_id = market
        and bidden.act = 'buy'
        and bidden.price >= edge.bid
      union all
      select *
      from dex_private.standing_offer as asked
      where asked.market_id = market
        and asked.act = 'sell'
        and asked.price <= edge.ask
    ) as standing
    join dex_private.offer_left as kept on kept.offer_id = standing.offer_id
    where not is_past
    union all
    select
      past.act,
      past.price,
      past.offer_id,
      past.left_amt
    from dex_private.past_book(market, moment, levels) as past
    where is_past
  ),
  valued_offer as materialized (
    select
      open_offer.act,
      open_offer.price,
      open_offer.lot_amt,
      dex_private.quotient(open_offer.lot_amt * offer.bid_amt, offer.lot_amt) as bid_amt
    from open_offer
    join public.dex_offer as offer on offer.id = open_offer.offer_id
  ),
  valued_level as (
    select
      valued_offer.act,
      valued_offer.price,
      dex_private.base_of(valued_offer.act, valued_offer.lot_amt, valued_offer.bid_amt) as vol,
      dex_private.quote_of(valued_offer.act, valued_offer.lot_amt, valued_offer.bid_amt) as quote_vol,
      1 as offers
    from valued_offer
    union all
    select
      pool.act,
      pool.price,
      pool.vol,
      pool.quote_vol,
      0
    from dex_private.pool_levels(market, moment.block) as pool
    where has_pools
  )
  select
    best.act,
    best.price,
    best.vol,
    best.quote_vol,
    best.offers
  from (
    (
      select
        given.act,
        given.price,
        sum(given.vol),
        sum(given.quote_vol),
        sum(given.offers)::integer
      from valued_level as given
      where given.act = 'buy'
      group by
        given.act,
        given.price
      order by given.price desc
      limit levels
    )
    union all
    (
      select
        given.act,
        given.price,
        sum(given.vol),
        sum(given.quote_vol),
        sum(given.offers)::integer
      from valued_level as given
      where given.act = 'sell'
      group by
        given.act,
        given.price
      order by given.price
      limit levels
    )
  ) as best (act, price, vol, quote_vol, offers)
  order by
    best.act,
    case best.act when 'buy' then -best.price else best.price end;
end
$$;
comment on function dex_book(text, text, integer) is E'@argument base The base token''s symbol, in any case.\n@argument quote The quote token''s symbol, in any case.\n@argument depth How many levels of each side at most, from 1 to 1000; 50 if not given.\nThe book of a market as of the head, by levels of price. Its bids come first, from the highest down, then its asks, from the lowest up. Empty where the pair is not registered.';
grant execute on function dex_book(text, text, integer) to dex_reader, dex_writer;

-- The candles of a market, computed from its minutes and hours.

create type dex_candle as (
  time timestamptz,
  open numeric,
  high numeric,
  low numeric,
  close numeric,
  vol numeric,
  quote_vol numeric,
  trades integer,
  complete boolean
);
comment on type dex_candle is 'What was traded in a market in one interval of time, as far as trades have a price.';
comment on column dex_candle.time is E'@notNull\nThe start of the interval, which is in it; its end is not. Intervals are counted from the Unix epoch.';
comment on column dex_candle.open is E'@notNull\nPrice of the first trade, quote per base: by block time, then by block and log index.';
comment on column dex_candle.high is E'@notNull\nHighest price of a trade, quote per base.';
comment on column dex_candle.low is E'@notNull\nLowest price of a trade, quote per base.';
comment on column dex_candle.close is E'@notNull\nPrice of the last trade, quote per base.';
comment on column dex_candle.vol is E'@notNull\nVolume in base units.';
comment on column dex_candle.quote_vol is E'@notNull\nVolume in quote units.';
comment on column dex_candle.trades is E'@notNull\nNumber of trades.';
comment on column dex_candle.complete is E'@notNull\nWhether the interval is over as of the head. While it is not, the candle is of its trades up to the head.';

-- Reads hours for intervals from 1h on, minutes for shorter ones. `parts` is the number of them in an interval,
-- so `limit` × `parts` of them are enough for `limit` candles.
create function dex_candles(
  base text,
  quote text,
  "interval" text default '1h',
  "from" timestamptz default null,
  "to" timestamptz default null,
  "limit" integer default 100,
  empty text default 'omit'
) returns setof dex_candle
language plpgsql stable
rows 100
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  minutes constant integer := case coalesce("interval", '1h')
    when '1m' then 1
    when '5m' then 5
    when '15m' then 15
    when '30m' then 30
    when '1h' then 60
    when '4h' then 240
    when '1d' then 1440
  end;
  most constant integer := coalesce("limit", 100);
  span constant interval := make_interval(mins => minutes);
  epoch constant timestamptz := 'epoch';
  part_minutes constant integer := case when minutes < 60 then 1 else 60 end;
  parts constant integer := minutes / part_minutes;
  is_newest constant boolean := "from" is null;
  is_flat constant boolean := coalesce(empty, 'omit') = 'flat';
  is_past constant boolean := dex_private.is_past();
  market integer;
  moment dex_private.last_moment;
  -- Candles start at or after `lowest` and before `beyond`.
  lowest timestamptz := '-infinity';
  beyond timestamptz;
  oldest timestamptz;
  -- Those before it are read whole.
  whole_beyond timestamptz;
  cut dex_private.period_figure[];
begin
  if minutes is null then
    raise exception 'interval must be 1m, 5m, 15m, 30m, 1h, 4h or 1d, not %', "interval"
      using errcode = 'invalid_parameter_value';
  end if;
  if most not between 1 and 1000 then
    raise exception 'limit must be an integer from 1 to 1000, not %', most
      using errcode = 'invalid_parameter_value';
  end if;
  if coalesce(empty, 'omit') not in ('omit', 'flat') then
    raise exception 'empty must be omit or flat, not %', empty
      using errcode = 'invalid_parameter_value';
  end if;

  select pair.id
  into market
  from public.dex_pair as pair
  where pair.base = upper(dex_candles.base)
    and pair.quote = upper(dex_candles.quote);
  if market is null then
    return;
  end if;

  moment := (select asked.moment from dex_private.asked);
  beyond := date_bin(span, moment.time, epoch) + span;
  if "to" < beyond then
    beyond := date_bin(span, "to" - interval '1 microsecond', epoch) + span;
  end if;
  if "from" > '-infinity' and "from" < 'infinity' then
    lowest := date_bin(span, "from" - interval '1 microsecond', epoch) + span;
  elsif "from" = 'infinity' then
    lowest := "from";
  end if;

  if is_flat then
    select figure.start
    into oldest
    from dex_private.period_figure as figure
    where figure.market_id = market
      and figure.minutes = 1
      and figure.low is not null
      and (not is_past or figure.start < dex_private.minute_of(moment.time))
    order by figure.start
    limit 1;
    if oldest is null and is_past then
      oldest := (
        select dex_private.minute_of(summed.last_time)
        from dex_private.running_sum as summed
        where summed.market_id = market
          and (summed.time, summed.block) <= (moment.time, moment.block)
        order by
          summed.time desc,
          summed.block desc
        limit 1
      );
    end if;
    lowest := greatest(lowest, date_bin(span, oldest, epoch));
    if oldest is null or lowest >= beyond then
      return;
    end if;
    if "from" is null then
      lowest := greatest(lowest, beyond - most * span);
    else
      beyond := least(beyond, lowest + most * span);
    end if;
  end if;

  -- As of a past block, the last period may be cut, and the interval may have later ones.
  whole_beyond := beyond;
  if is_past and beyond > moment.time then
    cut := dex_private.cut_period(market, part_minutes, moment);
    whole_beyond := date_bin(make_interval(mins => part_minutes), moment.time, epoch);
    if cut is null then
      whole_beyond := whole_beyond + make_interval(mins => part_minutes);
    end if;
  end if;

  -- Of the two ways to read the whole periods, one runs. Both stand in one statement, so that it is planned once for a connection.
  return query
  with part as materialized (
    select
      date_bin(span, figure.start, epoch) as time,
      figure.*
    from (
      (
        select *
        from dex_private.period_figure as whole
        where is_newest
          and whole.market_id = market
          and whole.minutes = part_minutes
          and whole.start >= lowest
          and whole.start < whole_beyond
          and whole.low is not null
        order by whole.start desc
        limit most * parts
      )
      union all
      (
        select *
        from dex_private.period_figure as whole
        where not is_newest
          and whole.market_id = market
          and whole.minutes = part_minutes
          and whole.start >= lowest
          and whole.start < whole_beyond
          and whole.low is not null
        order by whole.start
        limit most * parts
      )
      union all
      select *
      from unnest(cut) as last
      where last.start >= lowest
        and last.low is not null
    ) as figure
  ),
  candle as materialized (
    select
      part.time,
      (array_agg(part.open order by part.start))[1] as open,
      max(part.high) as high,
      min(part.low) as low,
      (array_agg(part.close order by part.start))[count(*)] as close,
      sum(part.base_amt) as vol,
      sum(part.quote_amt - part.unpriced_quote_amt) as quote_vol,
      sum(part.trades - part.unpriced_trades)::integer as trades
    from part
    group by part.time
  )
  select
    listed.*,
    listed.time + span <= moment.time
  from (
    (
      select *
      from candle
      where not is_flat
      order by
        case when is_newest then candle.time end desc,
        candle.time
      limit most
    )
    union all
    select
      flat.time,
      coalesce(candle.open, before.close),
      coalesce(candle.high, before.close),
      coalesce(candle.low, before.close),
      coalesce(candle.close, before.close),
      coalesce(candle.vol, 0.000000000000000000),
      coalesce(candle.quote_vol, 0.000000000000000000),
      coalesce(candle.trades, 0)
    from generate_series(case when is_flat then lowest end, beyond - span, span) as flat (time)
    left join candle on candle.time = flat.time
    left join lateral (
      select figure.close
      from dex_private.period_figure as figure
      where candle.time is null
        and figure.market_id = market
        and figure.minutes = part_minutes
        and figure.start < flat.time
        and figure.low is not null
      order by figure.start desc
      limit 1
    ) as before on true
    where is_flat
  ) as listed
  order by listed.time;
end
$$;
comment on function dex_candles(text, text, text, timestamptz, timestamptz, integer, text) is E'@argument base The base token''s symbol, in any case.\n@argument quote The quote token''s symbol, in any case.\n@argument interval How long each is: 1m, 5m, 15m, 30m, 1h, 4h or 1d; 1h if not given.\n@argument from They start at this time or after it.\n@argument to They start before this time.\n@argument limit How many at most, from 1 to 1000; 100 if not given. The first ones where `from` is given, else the last.\n@argument empty What an interval without trades gives: omit, no candle, if not given; flat, one at the price before it with nothing traded, from the first trade on.\nThe candles of a market up to the head, oldest first, of trades that have a price. Empty where the pair is not registered.';
grant execute on function dex_candles(text, text, text, timestamptz, timestamptz, integer, text) to dex_reader, dex_writer;

-- Which tokens are worth a dollar, as an operator or a client names them.

create function dex_private.usd_gems(usd_tokens text[]) returns setof text
language sql stable
as $$
  with listed_token as (
    select pair.base as symbol, pair.base_gem as gem
    from public.dex_pair as pair
    union
    select pair.quote, pair.quote_gem
    from public.dex_pair as pair
  )
  -- Of a symbol that the pairs have for several tokens it is not known which is meant.
  select min(listed_token.gem)
  from listed_token
  group by listed_token.symbol
  having count(*) = 1
    and listed_token.symbol in (select upper(given.token) from unnest(usd_gems.usd_tokens) as given (token))
  union
  select listed_token.gem
  from listed_token
  where lower(listed_token.gem) in (select lower(given.token) from unnest(usd_gems.usd_tokens) as given (token))
$$;
comment on function dex_private.usd_gems(text[]) is 'The addresses of the tokens of registered pairs that these symbols and addresses name. A symbol of two tokens names none.';
grant execute on function dex_private.usd_gems(text[]) to dex_reader, dex_writer;

-- What is left of each market's open offers, in dollars.

create type dex_market_liquidity as (
  pair text,
  base text,
  quote text,
  liquidity_in_usd numeric
);
comment on type dex_market_liquidity is 'What is left of a market''s open offers, in dollars.';
comment on column dex_market_liquidity.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_market_liquidity.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_market_liquidity.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_market_liquidity.liquidity_in_usd is 'What is left of the open offers that have a price: the dollars that they give, and the other token that they give, at the last price. Rounded once to 18 fractional digits. Null where neither token is worth a dollar, or where they give some of the other one, which has no price.';

create function dex_liquidity(usd_tokens text[]) returns setof dex_market_liquidity
language sql stable
as $$
  with usd_token as materialized (
    select usd.gem
    from dex_private.usd_gems(dex_liquidity.usd_tokens) as usd (gem)
  )
  select
    figure.pair,
    figure.base,
    figure.quote,
    case
      when usd.is_quote and usd.is_base then offered.quote_amt + offered.base_amt
      when usd.is_quote and offered.base_amt = 0 then offered.quote_amt
      when usd.is_quote then offered.quote_amt + round(offered.base_amt * figure.last, 18)
      when usd.is_base and offered.quote_amt = 0 then offered.base_amt
      when usd.is_base then offered.base_amt + dex_private.quotient(offered.quote_amt, figure.last)
    end
  from public.dex_summary as figure
  join public.dex_pair as pair
    on pair.base = figure.base
    and pair.quote = figure.quote
  cross join lateral (
    select
      pair.quote_gem in (select usd_token.gem from usd_token) as is_quote,
      pair.base_gem in (select usd_token.gem from usd_token) as is_base
  ) as usd
  cross join lateral (
    select
      coalesce(sum(offer.lot_amt) filter (where offer.act = 'buy'), 0) as quote_amt,
      coalesce(sum(offer.lot_amt) filter (where offer.act = 'sell'), 0) as base_amt
    from (
      select
        standing.act,
        kept.lot_amt
      from dex_private.standing_offer as standing
      join dex_private.offer_left as kept on kept.offer_id = standing.offer_id
      where standing.market_id = pair.id
        and not dex_private.is_past()
      union all
      select
        past.act,
        made.lot_amt - coalesce(
          (
            select sum(trade.lot_amt)
            from public.dex_trade as trade
            where trade.offer_id = past.offer_id
              and trade.id < moment.beyond
          ),
          0
        )
      from dex_private.past_moment() as moment
      cross join dex_private.past_offers(pair.id, moment.block) as past
      join public.dex_offer as made on made.id = past.offer_id
      where dex_private.is_past()
    ) as offer
    where usd.is_quote
      or usd.is_base
  ) as offered
  order by figure.pair collate "C"
$$;
comment on function dex_liquidity(text[]) is E'@argument usdTokens The tokens that are worth a dollar: symbols in any case, or addresses. A symbol that the markets have for two tokens is worth nothing.\nWhat is left of the open offers of each registered market as of the head, in dollars, in the order of BASE/QUOTE by code point.';
grant execute on function dex_liquidity(text[]) to dex_reader, dex_writer;

-- The volume of each market over the last 24 hours, in dollars.

create type dex_market_usd_volume as (
  pair text,
  base text,
  quote text,
  volume_in_usd numeric,
  through text
);
comment on type dex_market_usd_volume is 'The volume of a market over the last 24 hours, in dollars.';
comment on column dex_market_usd_volume.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_market_usd_volume.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_market_usd_volume.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_market_usd_volume.volume_in_usd is 'Volume over the last 24 hours: what moved of the token that is worth a dollar. Or what moved of a token, at its last price in the market `through`. Rounded once to 18 fractional digits. Null without a trade in them, and where neither token has such a market.';
comment on column dex_market_usd_volume.through is 'The market whose last price makes the dollars, BASE/QUOTE. It is of the quote token, else of the base token, and a token that is worth a dollar. Of several it is the one with the greatest volume in dollars. Null where a token of the market itself is worth a dollar, and where `volumeInUsd` is null.';

create function dex_usd_volume(usd_tokens text[]) returns setof dex_market_usd_volume
language sql stable
as $$
  with usd_token as materialized (
    select usd.gem
    from dex_private.usd_gems(dex_usd_volume.usd_tokens) as usd (gem)
  ),
  market as materialized (
    select
      figure.pair,
      figure.base,
      figure.quote,
      pair.base_gem,
      pair.quote_gem,
      figure.last,
      figure.vol,
      figure.quote_vol,
      pair.base_gem in (select usd_token.gem from usd_token) as is_base,
      pair.quote_gem in (select usd_token.gem from usd_token) as is_quote
    from public.dex_summary as figure
    join public.dex_pair as pair
      on pair.base = figure.base
      and pair.quote = figure.quote
  ),
  usd_price as materialized (
    select distinct on (priced.gem)
      priced.*
    from (
      select market.base_gem as gem, market.pair, market.last, market.quote_vol as dollars, false as is_per_dollar
      from market
      where market.is_quote
        and market.last > 0
      union all
      select market.quote_gem, market.pair, market.last, market.vol, true
      from market
      where market.is_base
        and market.last > 0
    ) as priced
    order by
      priced.gem,
      priced.dollars desc nulls last,
      priced.pair collate "C"
  )
  select
    market.pair,
    market.base,
    market.quote,
    valued.dollars,
    case when valued.dollars is not null then price.pair end
  from market
  left join lateral (
    select
      usd_price.*,
      case when usd_price.gem = market.quote_gem then market.quote_vol else market.vol end as amount
    from usd_price
    where usd_price.gem in (market.quote_gem, market.base_gem)
      and not market.is_quote
      and not market.is_base
    order by usd_price.gem = market.quote_gem desc
    limit 1
  ) as price on true
  cross join lateral (
    select
      case
        when market.is_quote then market.quote_vol
        when market.is_base then market.vol
        when price.is_per_dollar then dex_private.quotient(price.amount, price.last)
        else round(price.amount * price.last, 18)
      end as dollars
  ) as valued
  order by market.pair collate "C"
$$;
comment on function dex_usd_volume(text[]) is E'@argument usdTokens The tokens that are worth a dollar: symbols in any case, or addresses. A symbol that the markets have for two tokens is worth nothing.\nThe volume of each registered market over the last 24 hours up to the head, in dollars, in the order of BASE/QUOTE by code point.';
grant execute on function dex_usd_volume(text[]) to dex_reader, dex_writer;

-- The price of a trade with more digits, for markets whose prices have zeros in the first 18.

create function dex_trade_price50(trade dex_trade) returns numeric
language sql stable parallel safe
as $$
  -- 10^32 times the amount gives a quotient of 50 digits once it is scaled back, which is rounded once.
  select case trade.act
    when 'sell' then dex_private.quotient(trade.bid_amt * 1e32, trade.lot_amt)
    when 'buy' then dex_private.quotient(trade.lot_amt * 1e32, trade.bid_amt)
  end * 1e-32
$$;
comment on function dex_trade_price50(dex_trade) is 'Quote per base, 50 fractional digits, rounded once. Null where the two tokens are no registered pair, or the base amount is 0.';
grant execute on function dex_trade_price50(dex_trade) to dex_reader, dex_writer;
