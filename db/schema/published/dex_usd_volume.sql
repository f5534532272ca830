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
