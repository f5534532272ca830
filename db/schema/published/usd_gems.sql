-- Which tokens are worth a dollar, as an operator or a client names them.

create function dex_private.usd_gems(usd_tokens text[]) returns setof text
language sql stable
as $$
  with listed_token as (
    select pair.base as symbol, pair.base_gem as gem
    from public.dex_pair as pair
    union
    select pair.quote, pair.quote_gem
    from public.dex_pair as pair
  )
  -- Of a symbol that the pairs have for several tokens it is not known which is meant.
  select min(listed_token.gem)
  from listed_token
  group by listed_token.symbol
  having count(*) = 1
    and listed_token.symbol in (select upper(given.token) from unnest(usd_gems.usd_tokens) as given (token))
  union
  select listed_token.gem
  from listed_token
  where lower(listed_token.gem) in (select lower(given.token) from unnest(usd_gems.usd_tokens) as given (token))
$$;
comment on function dex_private.usd_gems(text[]) is 'The addresses of the tokens of registered pairs that these symbols and addresses name. A symbol of two tokens names none.';
grant execute on function dex_private.usd_gems(text[]) to dex_reader, dex_writer;
