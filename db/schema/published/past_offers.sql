-- The offers that were open after a past block.

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
create function dex_private.past_bids(market integer, past integer, levels integer)
returns table (offer_id integer, act text, price numeric)
language plpgsql stable
rows 50
as $$
#variable_conflict use_column
begin
  return query
    select
      offer.offer_id,
      'buy',
      offer.price
    from (
      select
        listed.*,
        dense_rank() over (order by listed.price desc) as place
      from (
        select
          ended.offer_id,
          ended.price
        from dex_private.block_nodes(past) as path (node)
        cross join lateral (
          select
            ranked.*,
            dense_rank() over (order by ranked.price desc) as place
          from dex_private.ended_offer as ranked
          where ranked.market_id = past_bids.market
            and ranked.node = path.node
            and ranked.act = 'buy'
            and ranked.made <= past
            and ranked.ended > past
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
          where ranked.market_id = past_bids.market
            and ranked.act = 'buy'
            and ranked.made <= past
        ) as standing
        where standing.place <= levels
      ) as listed
    ) as offer
    where offer.place <= levels;
end
$$;
comment on function dex_private.past_bids(integer, integer, integer) is 'The offers that buy base at the best prices of a market after this block, as many prices as `levels`.';
grant execute on function dex_private.past_bids(integer, integer, integer) to dex_reader, dex_writer;

create function dex_private.past_asks(market integer, past integer, levels integer)
returns table (offer_id integer, act text, price numeric)
language plpgsql stable
rows 50
as $$
#variable_conflict use_column
begin
  return query
    select
      offer.offer_id,
      'sell',
      offer.price
    from (
      select
        listed.*,
        dense_rank() over (order by listed.price) as place
      from (
        select
          ended.offer_id,
          ended.price
        from dex_private.block_nodes(past) as path (node)
        cross join lateral (
          select
            ranked.*,
            dense_rank() over (order by ranked.price) as place
          from dex_private.ended_offer as ranked
          where ranked.market_id = past_asks.market
            and ranked.node = path.node
            and ranked.act = 'sell'
            and ranked.made <= past
            and ranked.ended > past
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
          where ranked.market_id = past_asks.market
            and ranked.act = 'sell'
            and ranked.made <= past
        ) as standing
        where standing.place <= levels
      ) as listed
    ) as offer
    where offer.place <= levels;
end
$$;
comment on function dex_private.past_asks(integer, integer, integer) is 'The offers that sell base at the best prices of a market after this block, as many prices as `levels`.';
grant execute on function dex_private.past_asks(integer, integer, integer) to dex_reader, dex_writer;
