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
