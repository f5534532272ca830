-- The best price of each side of each book, after each block that changed it.

create table dex_private.best_price (
  market_id integer not null,
  act text not null,
  block integer not null,
  price numeric,
  constraint best_price_pkey primary key (market_id, act, block)
);
comment on table dex_private.best_price is 'The best price of a side of a market''s book, for each block after which it was another than before.';
comment on column dex_private.best_price.act is 'The side: `buy` for the bid, `sell` for the ask.';
comment on column dex_private.best_price.price is 'Null where the side was empty.';
grant select on dex_private.best_price to dex_reader, dex_writer;

create function dex_private.best_price_at(market integer, act text, block integer) returns numeric
language plpgsql stable
as $$
begin
  return (
    select best.price
    from dex_private.best_price as best
    where best.market_id = best_price_at.market
      and best.act = best_price_at.act
      and best.block <= best_price_at.block
    order by best.block desc
    limit 1
  );
end
$$;
comment on function dex_private.best_price_at(integer, text, integer) is 'The best price of a side of a market''s book after this block.';
grant execute on function dex_private.best_price_at(integer, text, integer) to dex_reader, dex_writer;

-- From the best price on, an offer is the best one in those of its blocks in which no better one was open. Mostly a few
-- of thousands of offers cover all blocks, and the others need no look.
create function dex_private.derived_best_prices(markets integer[], after integer, ended integer[] default null)
returns setof dex_private.best_price
language plpgsql stable
as $$
declare
  since constant int4multirange := int4multirange(int4range(after, null, '()'));
  sorted record;
  market integer;
  side text;
  covered int4multirange := '{}';
  rest int4multirange;
  blocks integer[] := '{}';
  prices numeric[] := '{}';
begin
  for sorted in
    select
      offer.market_id,
      offer.act,
      offer.price,
      offer.made,
      offer.ended
    from (
      select
        standing.market_id,
        standing.act,
        standing.price,
        standing.made,
        null::integer as ended
      from dex_private.standing_offer as standing
      where standing.market_id = any (markets)
      union all
      select
        past.market_id,
        past.act,
        past.price,
        past.made,
        past.ended
      from dex_private.ended_offer as past
      where past.market_id = any (markets)
        and derived_best_prices.ended is null
      union all
      select
        derived.market_id,
        derived.act,
        derived.price,
        derived.made,
        derived.ended
      from (
        select distinct listed.id
        from unnest(derived_best_prices.ended) as listed (id)
      ) as given
      join dex_private.derived_ended_offer as derived on derived.offer_id = given.id
      union all
      -- Ends the last side.
      select null, null, null, null, null
    ) as offer
    order by
      offer.market_id,
      offer.act,
      case offer.act when 'buy' then -offer.price else offer.price end
  loop
    if (sorted.market_id, sorted.act) is distinct from (market, side) then
      return query
        select
          market,
          side,
          changed.block,
          changed.price
        from (
          select
            best.block,
            best.price,
            lag(best.price, 1, dex_private.best_price_at(market, side, after)) over (order by best.block) as price_before
          from (
            select *
            from unnest(blocks, prices)
            union all
            select
              lower(gap),
              null
            from unnest(since - covered) as gap
            where market is not null
          ) as best (block, price)
        ) as changed
        where changed.price is distinct from changed.price_before;
      market := sorted.market_id;
      side := sorted.act;
      covered := '{}';
      blocks := '{}';
      prices := '{}';
    end if;
    continue when covered @> since;
    rest := int4multirange(int4range(sorted.made, sorted.ended)) * since - covered;
    continue when isempty(rest);
    covered := covered + rest;
    blocks := blocks || array(select lower(piece) from unnest(rest) as piece);
    prices := prices || array_fill(sorted.price, array[cardinality(blocks) - cardinality(prices)]);
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
