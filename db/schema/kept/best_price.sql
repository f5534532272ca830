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
