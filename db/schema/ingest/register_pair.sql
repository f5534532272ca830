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
