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
