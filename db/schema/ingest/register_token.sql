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
