--! Previous: sha1:2c088b7084ea1686f8ec689f11181c9054e53442
--! Hash: sha1:6b0560f7258cd0410532f4d46f9689e4c467d5ee
--! Message: trading

-- Offers and trades as recorded, with what the database derives for each: the symbols of its
-- tokens, its market, which side the maker took, and the price.

create table dex_offer (
  id integer primary key,
  block integer not null
    constraint dex_offer_block_check check (block >= 0),
  killed integer not null default 0
    constraint dex_offer_killed_check check (killed >= 0),
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
  lot_amt numeric not null,
  bid_gem text not null
    constraint dex_offer_bid_gem_check check (dex_private.is_address(bid_gem)),
  bid_tkn text,
  bid_amt numeric not null,
  price numeric,
  time timestamptz not null,
  tx text not null
    constraint dex_offer_tx_check check (dex_private.is_hash(tx)),
  filled boolean not null default false,
  closed boolean not null default false,
  spent_block integer,
  spent_time timestamptz
);

comment on table dex_offer is
  E'@indexedOrder block\nA maker''s offer: so much of the lot token for so much of the bid token. Takers match it in parts or whole.';
comment on column dex_offer.id is
  'Offer identifier, as the exchange gave it.';
comment on column dex_offer.block is
  'Height of the block the offer was made in.';
comment on column dex_offer.killed is
  'Height of the block the offer was cancelled in; 0 while it is not cancelled.';
comment on column dex_offer.market_id is E'@behavior -*\nThe key that tables and views join by.';
comment on column dex_offer.market is
  'Base and quote symbol of the market, for example WETHDAI. Null where the two tokens are no registered pair.';
comment on column dex_offer.act is
  'The maker''s side of the base token: `sell` when the lot is base, `buy` when the bid is base. Null where the two tokens are no registered pair.';
comment on column dex_offer.pair is
  'Trading pair hash: keccak256 of lot token address and bid token address. A market has two, one for each direction.';
comment on column dex_offer.maker is
  'Address of the offer''s creator.';
comment on column dex_offer.lot_gem is
  'Address of the lot token, which the maker gives.';
comment on column dex_offer.lot_tkn is
  'Symbol of the lot token, as on chain. Null where it is not known.';
comment on column dex_offer.lot_amt is
  'Amount of the lot token offered, in whole tokens with up to 18 fractional digits.';
comment on column dex_offer.bid_gem is
  'Address of the bid token, which the maker wants.';
comment on column dex_offer.bid_tkn is
  'Symbol of the bid token, as on chain. Null where it is not known.';
comment on column dex_offer.bid_amt is
  'Amount of the bid token wanted for the whole lot, in whole tokens with up to 18 fractional digits.';
comment on column dex_offer.price is
  'Quote per base, 18 fractional digits. Null where the two tokens are no registered pair, or the base amount is 0.';
comment on column dex_offer.time is
  'Timestamp of the block the offer was made in.';
comment on column dex_offer.tx is
  'Hash of the transaction that made the offer.';
comment on column dex_offer.filled is
  'Whether nothing is left: all recorded trades together took the whole lot, or the source of the data says so.';
comment on column dex_offer.closed is E'@behavior -*\nWhether the source of the data says that nothing is left.';
comment on column dex_offer.spent_block is E'@behavior -*\nHeight of the block whose trades took the last of the lot. Null while something is left.';
comment on column dex_offer.spent_time is E'@behavior -*\nTimestamp of that block.';

-- Serve allDexOffers: by market, maker, time or block, newest first or last; MARKET as in dex_trade.
create index dex_offer_market_block_id_idx on dex_offer (market, block, id);
create index dex_offer_market_time_id_idx on dex_offer (market, time, id);
create index dex_offer_market_id_idx on dex_offer (market, id);
create index dex_offer_known_market_id_idx on dex_offer (coalesce(market, ''), id);
create index dex_offer_known_market_block_id_idx on dex_offer (coalesce(market, ''), block, id);
create index dex_offer_known_market_time_id_idx on dex_offer (coalesce(market, ''), time, id);
create index dex_offer_maker_block_id_idx on dex_offer (maker, block, id);
create index dex_offer_maker_time_id_idx on dex_offer (maker, time, id);
create index dex_offer_maker_id_idx on dex_offer (maker, id);
create index dex_offer_block_id_idx on dex_offer (block, id);
create index dex_offer_time_id_idx on dex_offer (time, id);

-- Serve the best bid and ask of a market: the offers that nothing has ended, by price, and those that
-- ended after the head, which are few.
create index dex_offer_standing_idx on dex_offer (market_id, act, price)
where killed = 0 and not filled and price is not null;
create index dex_offer_killed_idx on dex_offer (market_id, act, killed)
where killed > 0 and not closed;
create index dex_offer_spent_idx on dex_offer (market_id, act, spent_block)
where spent_block is not null and not closed;
create index dex_offer_spent_later_idx on dex_offer (market_id, act, spent_time)
where spent_block is not null and not closed;

-- Serve the labelling of a pair or a token that is registered after its offers.
create index dex_offer_lot_gem_bid_gem_idx on dex_offer (lot_gem, bid_gem);
create index dex_offer_lot_gem_unlabelled_idx on dex_offer (lot_gem) where lot_tkn is null;
create index dex_offer_bid_gem_unlabelled_idx on dex_offer (bid_gem) where bid_tkn is null;

create table dex_trade (
  id bigint generated by default as identity primary key,
  offer_id integer not null,
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
  lot_amt numeric not null,
  bid_gem text not null
    constraint dex_trade_bid_gem_check check (dex_private.is_address(bid_gem)),
  bid_tkn text,
  bid_amt numeric not null,
  price numeric,
  block integer not null
    constraint dex_trade_block_check check (block >= 0),
  time timestamptz not null,
  tx text not null
    constraint dex_trade_tx_check check (dex_private.is_hash(tx)),
  idx integer not null
    constraint dex_trade_idx_check check (idx >= 0),
  constraint dex_trade_id_check check (id between 1 and 9007199254740991),
  constraint dex_trade_tx_idx_key unique (tx, idx)
);

comment on table dex_trade is
  E'@foreignKey (offer_id) references dex_offer (id)|@fieldName offer|@foreignFieldName trades\n@indexedOrder block\n@indexedOrder time\n@indexedOrder offer_id\n@indexedOrder offer_id,time\n@appendOnly dex_private.trade_epoch\nA trade: a taker''s transaction that matches part of an offer. The lot moves to the taker, the bid to the maker.';
comment on column dex_trade.id is
  'Trade identifier: one series over all markets, growing with recency. Gaps are normal.';
comment on column dex_trade.offer_id is
  'Identifier of the offer that was matched, also where that offer is not recorded and `offer` is null.';
comment on column dex_trade.market_id is E'@behavior -*\nThe key that tables and views join by.';
comment on column dex_trade.market is
  'Base and quote symbol of the market, for example WETHDAI. Null where the two tokens are no registered pair.';
comment on column dex_trade.act is
  'The maker''s side of the base token: `sell` when the lot is base, `buy` when the bid is base. Null where the two tokens are no registered pair.';
comment on column dex_trade.pair is
  'Trading pair hash: keccak256 of lot token address and bid token address. A market has two, one for each direction.';
comment on column dex_trade.maker is
  'Address of the offer''s creator.';
comment on column dex_trade.taker is
  'Address of the trade''s creator, the sender of the transaction.';
comment on column dex_trade.lot_gem is
  'Address of the lot token, which the maker gives.';
comment on column dex_trade.lot_tkn is
  'Symbol of the lot token, as on chain. Null where it is not known.';
comment on column dex_trade.lot_amt is
  'Amount of the lot token that moved to the taker, in whole tokens with up to 18 fractional digits.';
comment on column dex_trade.bid_gem is
  'Address of the bid token, which the taker gives.';
comment on column dex_trade.bid_tkn is
  'Symbol of the bid token, as on chain. Null where it is not known.';
comment on column dex_trade.bid_amt is
  'Amount of the bid token that moved to the maker, in whole tokens with up to 18 fractional digits.';
comment on column dex_trade.price is
  'Quote per base, 18 fractional digits. Null where the two tokens are no registered pair, or the base amount is 0.';
comment on column dex_trade.block is
  'Height of the block.';
comment on column dex_trade.time is
  'Timestamp of the block.';
comment on column dex_trade.tx is
  'Hash of the transaction.';
comment on column dex_trade.idx is
  'Log index within the block: orders the trades of one block. Where the source has none, the trade''s ordinal in its block.';

-- Serve allDexTrades in each order that is offered. PostGraphile appends the primary key, so each
-- index ends with it. BLOCK and TIME alone are read from the indexes with idx, and OFFER_ID with
-- TIME from that with block: what is left to sort is one block, or one offer.
create index dex_trade_block_idx_id_idx on dex_trade (block, idx, id);
create index dex_trade_time_idx_id_idx on dex_trade (time, idx, id);
create index dex_trade_market_id_idx on dex_trade (market, id);
create index dex_trade_market_block_id_idx on dex_trade (market, block, id);
create index dex_trade_market_time_id_idx on dex_trade (market, time, id);
-- Where no market is known, orderBy: MARKET takes it as '', so that a cursor need not tell nulls
-- apart and is one comparison of tuples.
create index dex_trade_known_market_id_idx on dex_trade (coalesce(market, ''), id);
create index dex_trade_known_market_block_id_idx on dex_trade (coalesce(market, ''), block, id);
create index dex_trade_known_market_time_id_idx on dex_trade (coalesce(market, ''), time, id);
create index dex_trade_maker_id_idx on dex_trade (maker, id);
create index dex_trade_maker_block_id_idx on dex_trade (maker, block, id);
create index dex_trade_maker_time_id_idx on dex_trade (maker, time, id);
create index dex_trade_taker_id_idx on dex_trade (taker, id);
create index dex_trade_taker_block_id_idx on dex_trade (taker, block, id);
create index dex_trade_taker_time_id_idx on dex_trade (taker, time, id);
create index dex_trade_offer_id_block_id_idx on dex_trade (offer_id, block, id);

-- Serves condition: { market, taker }, newest first.
create index dex_trade_market_taker_block_id_idx on dex_trade (market, taker, block, id);

-- Serves both tokens either way within a time range, and the labelling of a pair that is
-- registered after its trades.
create index dex_trade_lot_gem_bid_gem_time_idx on dex_trade (lot_gem, bid_gem, time);

-- Serve the labelling of a token that is registered after its trades.
create index dex_trade_lot_gem_unlabelled_idx on dex_trade (lot_gem) where lot_tkn is null;
create index dex_trade_bid_gem_unlabelled_idx on dex_trade (bid_gem) where bid_tkn is null;

-- Serve the figures of a market: its windows by time, its last price by block, its pages by id.
create index dex_trade_market_id_time_idx on dex_trade (market_id, time);
create index dex_trade_market_id_block_idx_idx on dex_trade (market_id, block, idx) where price is not null;
create index dex_trade_market_id_id_idx on dex_trade (market_id, id);

create function dex_private.exact_amount(column_name text, amount numeric) returns numeric
language plpgsql immutable parallel safe
as $$
begin
  -- NaN and infinity compare as greater than every number.
  if amount < 0 or amount >= 1e78 or scale(amount) > 18 and scale(trim_scale(amount)) > 18 then
    raise exception '% is %: an amount is a decimal from 0 to below 10^78 with at most 18 fractional digits',
      column_name, amount
      using errcode = 'numeric_value_out_of_range';
  end if;
  return round(amount, 18);
end
$$;
comment on function dex_private.exact_amount(text, numeric) is
  'The amount with exactly 18 fractional digits. Raises rather than round: nothing is lost in silence.';

create function dex_private.derive_labels() returns trigger
language plpgsql
as $$
declare
  lot_is_base boolean;
begin
  new.lot_amt := dex_private.exact_amount('lot_amt', new.lot_amt);
  new.bid_amt := dex_private.exact_amount('bid_amt', new.bid_amt);

  select lot.symbol, bid.symbol, pair.id, pair.market, pair.base_gem = new.lot_gem
  into new.lot_tkn, new.bid_tkn, new.market_id, new.market, lot_is_base
  from (values (true)) as one (row)
  left join public.dex_token as lot on lot.address = new.lot_gem
  left join public.dex_token as bid on bid.address = new.bid_gem
  left join public.dex_pair as pair
    on (pair.base_gem = new.lot_gem and pair.quote_gem = new.bid_gem)
    or (pair.base_gem = new.bid_gem and pair.quote_gem = new.lot_gem);

  if lot_is_base then
    new.act := 'sell';
    new.price := dex_private.quotient(new.bid_amt, new.lot_amt);
  elsif not lot_is_base then
    new.act := 'buy';
    new.price := dex_private.quotient(new.lot_amt, new.bid_amt);
  else
    new.act := null;
    new.price := null;
  end if;
  return new;
end
$$;
comment on function dex_private.derive_labels() is
  'Trigger: fills in symbols, market, act and price of a trade or an offer from its tokens and amounts.';

create trigger derive_labels
before insert or update of lot_gem, lot_amt, bid_gem, bid_amt, lot_tkn, bid_tkn, market_id, market, act, price on dex_trade
for each row execute function dex_private.derive_labels();

create trigger derive_labels
before insert or update of lot_gem, lot_amt, bid_gem, bid_amt, lot_tkn, bid_tkn, market_id, market, act, price on dex_offer
for each row execute function dex_private.derive_labels();

create trigger a_take_turn
before insert or update or delete or truncate on dex_trade
for each statement execute function dex_private.take_turn();

create trigger a_take_turn
before insert or update or delete or truncate on dex_offer
for each statement execute function dex_private.take_turn();

create function dex_private.refuse_change() returns trigger
language plpgsql
as $$
begin
  raise exception 'a trade is an immutable record: delete it and insert another'
    using errcode = 'restrict_violation';
end
$$;
comment on function dex_private.refuse_change() is
  'Trigger: refuses to change what is recorded of a trade. What the database derives for it may change.';

create trigger refuse_change
before update of id, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx on dex_trade
for each statement execute function dex_private.refuse_change();

-- How much of each offer its trades took. Kept apart from dex_offer since an offer's trades may be
-- recorded before it, or without it.
create table dex_private.offer_taken (
  offer_id integer primary key,
  lot_amt numeric not null
);
comment on table dex_private.offer_taken is
  'What all recorded trades of an offer together took of its lot, kept by every write of trades.';

-- filled is what the source says (closed) or what the trades took (spent_block). Whoever writes it
-- means the source's word.
create function dex_private.derive_state() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  taken numeric;
begin
  if tg_op = 'INSERT' or new.filled <> old.filled then
    new.closed := new.filled;
  end if;

  select coalesce(max(kept.lot_amt), 0)
  into taken
  from dex_private.offer_taken as kept
  where kept.offer_id = new.id;

  if taken < new.lot_amt then
    new.spent_block := null;
    new.spent_time := null;
  elsif new.lot_amt = 0 then
    new.spent_block := new.block;
    new.spent_time := new.time;
  else
    -- The trade with which the offer's trades, oldest first, reach the whole lot.
    select running.block, running.time
    into new.spent_block, new.spent_time
    from (
      select
        trade.block,
        trade.time,
        trade.idx,
        trade.id,
        sum(trade.lot_amt) over (order by trade.block, trade.idx, trade.id) as lot_amt
      from public.dex_trade as trade
      where trade.offer_id = new.id
    ) as running
    where running.lot_amt >= new.lot_amt
    order by
      running.block,
      running.idx,
      running.id
    limit 1;
  end if;

  new.filled := new.closed or new.spent_block is not null;
  return new;
end
$$;
comment on function dex_private.derive_state() is
  'Trigger: keeps whether an offer is filled, and since which block its trades have taken all of it.';

-- Named to run after derive_labels, which checks the amounts.
create trigger derive_state
before insert or update of lot_amt, filled, closed, spent_block, spent_time on dex_offer
for each row execute function dex_private.derive_state();

create function dex_private.count_taken() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate dex_private.offer_taken;
    update public.dex_offer set spent_block = null where spent_block is not null;
    return null;
  end if;

  insert into dex_private.offer_taken as kept (offer_id, lot_amt)
  select
    changed.offer_id,
    sum(case tg_op when 'INSERT' then changed.lot_amt else -changed.lot_amt end)
  from changed
  group by changed.offer_id
  on conflict (offer_id) do update set lot_amt = kept.lot_amt + excluded.lot_amt;

  -- derive_state finds out anew since when it is spent, or that it is not.
  update public.dex_offer as offer
  set spent_block = null
  from dex_private.offer_taken as taken
  where offer.id in (select changed.offer_id from changed)
    and taken.offer_id = offer.id
    and (taken.lot_amt >= offer.lot_amt or offer.spent_block is not null);
  return null;
end
$$;
comment on function dex_private.count_taken() is
  'Trigger: keeps how much of each offer its trades took.';

create trigger count_taken_insert
after insert on dex_trade
referencing new table as changed
for each statement execute function dex_private.count_taken();

create trigger count_taken_delete
after delete on dex_trade
referencing old table as changed
for each statement execute function dex_private.count_taken();

create trigger count_taken_truncate
after truncate on dex_trade
for each statement execute function dex_private.count_taken();

-- Trades are appended, in the order of their ids. Whatever else is done to them starts an epoch, and
-- a count that was made in one epoch says nothing of the next.
create table dex_private.trade_epoch (
  epoch bigint not null
);
create unique index trade_epoch_one_row_key on dex_private.trade_epoch ((true));
insert into dex_private.trade_epoch (epoch) values (0);
comment on table dex_private.trade_epoch is
  'One row: how often trades were changed other than by appending newer ones. Within an epoch, trades up to an id stay as they are.';

create function dex_private.start_epoch() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'INSERT' then
    -- Nothing but the new trades stands from the first of them on: they were appended.
    if (
      select count(*)
      from public.dex_trade as trade
      where trade.id >= (select min(added.id) from added)
    ) = (select count(*) from added) then
      return null;
    end if;
  end if;
  update dex_private.trade_epoch set epoch = epoch + 1;
  return null;
end
$$;
comment on function dex_private.start_epoch() is
  'Trigger: starts an epoch where trades were not simply appended.';

create trigger start_epoch_insert
after insert on dex_trade
referencing new table as added
for each statement execute function dex_private.start_epoch();

create trigger start_epoch_change
after update or delete or truncate on dex_trade
for each statement execute function dex_private.start_epoch();

-- Labels follow the registry: a token or a pair that is registered, renamed or re-paired after its
-- trades and offers takes them along.
create function dex_private.relabel(gems text[] default null) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  relabelled bigint;
  changed bigint;
begin
  update public.dex_trade as trade
  set market = trade.market
  where gems is null or trade.lot_gem = any (gems) or trade.bid_gem = any (gems);
  get diagnostics relabelled = row_count;

  update public.dex_offer as offer
  set market = offer.market
  where gems is null or offer.lot_gem = any (gems) or offer.bid_gem = any (gems);
  get diagnostics changed = row_count;

  return relabelled + changed;
end
$$;
comment on function dex_private.relabel(text[]) is
  'Derives symbols, market, act and price afresh for every trade and offer of these tokens, or of all: how many rows. It is called for what changes in dex_token and dex_pair; by hand it is needed only after a change that went around the triggers.';
revoke all on function dex_private.relabel(text[]) from public;

create function dex_private.relabel_token() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  renamed text[];
begin
  if tg_op = 'INSERT' then
    -- Only rows without a symbol can be of a token that was not registered: partial indexes find them.
    update public.dex_trade as trade set market = trade.market
    from registered
    where trade.lot_tkn is null and trade.lot_gem = registered.address and registered.symbol is not null;
    update public.dex_trade as trade set market = trade.market
    from registered
    where trade.bid_tkn is null and trade.bid_gem = registered.address and registered.symbol is not null;
    update public.dex_offer as offer set market = offer.market
    from registered
    where offer.lot_tkn is null and offer.lot_gem = registered.address and registered.symbol is not null;
    update public.dex_offer as offer set market = offer.market
    from registered
    where offer.bid_tkn is null and offer.bid_gem = registered.address and registered.symbol is not null;
    return null;
  end if;

  select array_agg(registered.address)
  into renamed
  from registered
  join replaced using (address)
  where registered.symbol is distinct from replaced.symbol
    or registered.decimals <> replaced.decimals;

  if renamed is not null then
    update public.dex_pair as pair
    set base_precision = pair.base_precision
    where pair.base_gem = any (renamed) or pair.quote_gem = any (renamed);
    perform dex_private.relabel(renamed);
  end if;
  return null;
end
$$;
comment on function dex_private.relabel_token() is
  'Trigger: relabels the trades, offers and pairs of tokens that were registered or renamed.';

create trigger relabel_insert
after insert on dex_token
referencing new table as registered
for each statement execute function dex_private.relabel_token();

create trigger relabel_update
after update on dex_token
referencing old table as replaced new table as registered
for each statement execute function dex_private.relabel_token();

create function dex_private.relabel_pair() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op <> 'DELETE' then
    update public.dex_trade as trade set market = trade.market
    where (trade.lot_gem = new.base_gem and trade.bid_gem = new.quote_gem)
      or (trade.lot_gem = new.quote_gem and trade.bid_gem = new.base_gem);
    update public.dex_offer as offer set market = offer.market
    where (offer.lot_gem = new.base_gem and offer.bid_gem = new.quote_gem)
      or (offer.lot_gem = new.quote_gem and offer.bid_gem = new.base_gem);
  end if;
  if tg_op = 'DELETE' or tg_op = 'UPDATE' and (new.base_gem, new.quote_gem) <> (old.base_gem, old.quote_gem) then
    update public.dex_trade as trade set market = trade.market
    where (trade.lot_gem = old.base_gem and trade.bid_gem = old.quote_gem)
      or (trade.lot_gem = old.quote_gem and trade.bid_gem = old.base_gem);
    update public.dex_offer as offer set market = offer.market
    where (offer.lot_gem = old.base_gem and offer.bid_gem = old.quote_gem)
      or (offer.lot_gem = old.quote_gem and offer.bid_gem = old.base_gem);
  end if;
  return null;
end
$$;
comment on function dex_private.relabel_pair() is
  'Trigger: relabels the trades and offers of a pair that was registered, changed or removed.';

create trigger relabel_insert
after insert or delete on dex_pair
for each row execute function dex_private.relabel_pair();

-- Not for a change of active alone, which touches no label.
create trigger relabel_update
after update on dex_pair
for each row
when (
  old.base_gem <> new.base_gem
  or old.quote_gem <> new.quote_gem
  or old.market <> new.market
)
execute function dex_private.relabel_pair();

grant select on dex_private.trade_epoch to dex_reader;
grant select on dex_offer, dex_trade to dex_reader, dex_writer;
grant insert, update on dex_offer to dex_writer;
grant insert, delete on dex_trade to dex_writer;
-- After ids that a source gave, the series has to go on behind them.
grant select, update on sequence dex_trade_id_seq to dex_writer;
