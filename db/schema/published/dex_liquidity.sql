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
