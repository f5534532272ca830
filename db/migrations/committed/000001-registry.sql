--! Previous: -
--! Hash: sha1:2c088b7084ea1686f8ec689f11181c9054e53442
--! Message: registry

-- The registry: which tokens there are, and which pairs of them are markets.

create schema dex_private;
comment on schema dex_private is
  'What the service needs and does not publish.';
grant usage on schema dex_private to dex_reader, dex_writer;

-- The service, which only reads, refuses to start on a database that lacks a migration.
create view dex_private.applied_migration as
select
  migration.filename,
  migration.date
from graphile_migrate.migrations as migration;
comment on view dex_private.applied_migration is
  'The committed migrations that this database has.';
grant select on dex_private.applied_migration to dex_reader;

-- Exact division: half away from zero at 18 fractional digits, decided on the exact quotient.
-- round(a / b, 18) would round twice, since numeric division rounds at a scale of its own choice.
-- Both arguments are amounts, so neither is negative.
create function dex_private.quotient(dividend numeric, divisor numeric) returns numeric
language sql immutable parallel safe
as $$
  select case
    when divisor = 0 then null
    else div(2 * dividend * 1000000000000000000 + divisor, 2 * divisor) * 0.000000000000000001
  end
$$;
comment on function dex_private.quotient(numeric, numeric) is
  'dividend ÷ divisor with 18 fractional digits, rounded once, half away from zero; null when the divisor is 0.';
revoke all on function dex_private.quotient(numeric, numeric) from public;
grant execute on function dex_private.quotient(numeric, numeric) to dex_reader, dex_writer;

-- Writers take turns, whoever they are: ids then become visible in their order, and what one writer
-- derives never misses what another is about to commit. Readers wait for nobody.
create function dex_private.take_turn() returns trigger
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock(4935100201);
  return null;
end
$$;
comment on function dex_private.take_turn() is
  'Trigger: lets one transaction at a time write the exchange, until it ends.';

-- By decode() rather than a pattern, which takes five times as long: these are checked six times for
-- each trade.
create function dex_private.is_address(candidate text) returns boolean
language sql immutable parallel safe
as $$
  select length(candidate) = 42
    and starts_with(candidate, '0x')
    and octet_length(decode(substr(candidate, 3), 'hex')) = 20
$$;
comment on function dex_private.is_address(text) is
  'Whether this is 0x and 20 bytes in hex, as an address is written.';

create function dex_private.is_hash(candidate text) returns boolean
language sql immutable parallel safe
as $$
  select length(candidate) = 66
    and starts_with(candidate, '0x')
    and octet_length(decode(substr(candidate, 3), 'hex')) = 32
    and candidate = lower(candidate)
$$;
comment on function dex_private.is_hash(text) is
  'Whether this is 0x and 32 bytes in hex, in lower case, as a hash is written.';

create table dex_token (
  address text primary key
    constraint dex_token_address_check check (dex_private.is_address(address)),
  symbol text
    constraint dex_token_symbol_check check (symbol <> ''),
  decimals integer not null
    constraint dex_token_decimals_check check (decimals between 0 and 255),
  name text
);

-- One token is one row, however its address is spelled.
create unique index dex_token_lower_address_key on dex_token (lower(address));

-- Serves finding a token by its symbol, in any case, when a pair is registered by symbols.
create index dex_token_upper_symbol_idx on dex_token (upper(symbol));

comment on table dex_token is
  'A token that is traded on the exchange, and how its amounts are to be read.';
comment on column dex_token.address is
  'Address of the token contract, with EIP-55 checksum.';
comment on column dex_token.symbol is
  'Symbol as the token gives it on chain; anybody can name a token so. Null where it is not known.';
comment on column dex_token.decimals is
  'How many fractional digits the token has.';
comment on column dex_token.name is
  'Name as the token gives it on chain. Null where it is not known.';

create table dex_pair (
  id integer generated always as identity,
  base text not null,
  quote text not null,
  base_gem text not null
    constraint dex_pair_base_gem_fkey references dex_token (address),
  quote_gem text not null
    constraint dex_pair_quote_gem_fkey references dex_token (address),
  base_precision integer not null,
  quote_precision integer not null,
  market text not null generated always as (base || quote) stored
    constraint dex_pair_market_key unique,
  active boolean not null default true,
  constraint dex_pair_pkey primary key (base, quote),
  constraint dex_pair_two_tokens_check check (base_gem <> quote_gem)
);

-- An index, not a constraint: the key is for joins, and no client asks by it.
create unique index dex_pair_id_key on dex_pair (id);

-- A market is registered in one direction only, whichever of the two that is.
create unique index dex_pair_gems_key on dex_pair (least(base_gem, quote_gem), greatest(base_gem, quote_gem));

-- Serve dexTokenByBaseGem, dexTokenByQuoteGem and the labelling of each trade and offer.
create index dex_pair_base_gem_quote_gem_idx on dex_pair (base_gem, quote_gem);
create index dex_pair_quote_gem_base_gem_idx on dex_pair (quote_gem, base_gem);

comment on table dex_pair is
  'A registered pair of tokens: a market of the exchange.';
comment on constraint dex_pair_base_gem_fkey on dex_pair is
  E'@fieldName baseToken\n@foreignFieldName pairsAsBase';
comment on constraint dex_pair_quote_gem_fkey on dex_pair is
  E'@fieldName quoteToken\n@foreignFieldName pairsAsQuote';
comment on column dex_pair.id is E'@behavior -*\nThe key that tables and views join by.';
comment on column dex_pair.base is
  'Symbol of the base token, in upper case. Prices are for one unit of it.';
comment on column dex_pair.quote is
  'Symbol of the quote token, in upper case. Prices are given in it.';
comment on column dex_pair.base_gem is
  'Address of the base token.';
comment on column dex_pair.quote_gem is
  'Address of the quote token.';
comment on column dex_pair.base_precision is
  'How many fractional digits an amount of the base token has.';
comment on column dex_pair.quote_precision is
  'How many fractional digits an amount of the quote token has.';
comment on column dex_pair.market is
  'Base and quote symbol together, for example WETHDAI: the `market` of its trades and offers.';
comment on column dex_pair.active is
  'Whether trading is enabled.';

-- The one token that goes by a symbol, in any case; an error when there is none, or more than one.
create function dex_private.token_of_symbol(wanted text) returns public.dex_token
language plpgsql stable
as $$
declare
  found_tokens public.dex_token[];
begin
  select array_agg(token order by token.address)
  into found_tokens
  from public.dex_token as token
  where upper(token.symbol) = upper(wanted);

  if found_tokens is null then
    raise exception 'no token has the symbol %', quote_literal(wanted)
      using errcode = 'foreign_key_violation',
        hint = 'Register the token first, or give base_gem and quote_gem.';
  end if;
  if cardinality(found_tokens) > 1 then
    raise exception 'the symbol % names % tokens: % and %', quote_literal(wanted),
      cardinality(found_tokens), found_tokens[1].address, found_tokens[2].address
      using errcode = 'cardinality_violation',
        hint = 'Say which is meant by base_gem and quote_gem.';
  end if;
  return found_tokens[1];
end
$$;
comment on function dex_private.token_of_symbol(text) is
  'The token with this symbol, in any case. Raises when no token has it, or several have.';

-- Fills in what a pair has from its tokens. base and quote say which tokens are meant where the
-- addresses are not given; with addresses, they must agree with the tokens' symbols or be left out.
create function dex_private.derive_pair() returns trigger
language plpgsql
as $$
declare
  base_token public.dex_token;
  quote_token public.dex_token;
begin
  if new.base_gem is null then
    base_token := dex_private.token_of_symbol(new.base);
  else
    select * into base_token from public.dex_token where address = new.base_gem;
  end if;
  if new.quote_gem is null then
    quote_token := dex_private.token_of_symbol(new.quote);
  else
    select * into quote_token from public.dex_token where address = new.quote_gem;
  end if;
  if base_token.address is null or quote_token.address is null then
    raise exception 'the pair %/% is of a token that is not registered: %',
      new.base, new.quote,
      case when base_token.address is null then new.base_gem else new.quote_gem end
      using errcode = 'foreign_key_violation';
  end if;
  if base_token.symbol is null or quote_token.symbol is null then
    raise exception 'a pair needs tokens with a symbol: % has none',
      case when base_token.symbol is null then base_token.address else quote_token.address end
      using errcode = 'not_null_violation';
  end if;
  -- A token that is renamed takes its pairs along, so an update need not agree.
  if tg_op = 'INSERT'
    and (upper(new.base) <> upper(base_token.symbol) or upper(new.quote) <> upper(quote_token.symbol))
  then
    raise exception 'the pair %/% is given the tokens of %/%',
      new.base, new.quote, base_token.symbol, quote_token.symbol
      using errcode = 'check_violation';
  end if;

  new.base := upper(base_token.symbol);
  new.quote := upper(quote_token.symbol);
  new.base_gem := base_token.address;
  new.quote_gem := quote_token.address;
  new.base_precision := base_token.decimals;
  new.quote_precision := quote_token.decimals;
  return new;
end
$$;
comment on function dex_private.derive_pair() is
  'Trigger: fills in the tokens, symbols and precisions of a pair.';

create trigger a_take_turn
before insert or update or delete on dex_token
for each statement execute function dex_private.take_turn();

create trigger a_take_turn
before insert or update or delete on dex_pair
for each statement execute function dex_private.take_turn();

create trigger derive_pair
before insert or update on dex_pair
for each row execute function dex_private.derive_pair();

grant select on dex_token, dex_pair to dex_reader, dex_writer;
grant insert, update on dex_token, dex_pair to dex_writer;
