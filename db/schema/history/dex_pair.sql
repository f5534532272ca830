-- Markets: registered pairs of tokens.

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

-- An index and not a constraint, for which GraphQL would add a query: the id is internal.
create unique index dex_pair_id_key on dex_pair (id);

-- REST names a market base/quote: the pair A/B and C must not have the same name as A and B/C.
create unique index dex_pair_key_key on dex_pair ((base || '/' || quote));

-- Two tokens form a market in one direction only.
create unique index dex_pair_gems_key on dex_pair (least(base_gem, quote_gem), greatest(base_gem, quote_gem));

-- Serve dexTokenByBaseGem and dexTokenByQuoteGem.
create index dex_pair_base_gem_quote_gem_idx on dex_pair (base_gem, quote_gem);
create index dex_pair_quote_gem_base_gem_idx on dex_pair (quote_gem, base_gem);

comment on table dex_pair is E'@asOf dex_private.pairs_as_of\nA registered pair of tokens: a market of the exchange.';
comment on constraint dex_pair_base_gem_fkey on dex_pair is E'@fieldName baseToken\n@foreignFieldName pairsAsBase\n@forwardDescription The base token, whose price the market gives. Never null.\n@backwardDescription The registered pairs that have this token as base, by pages.';
comment on constraint dex_pair_quote_gem_fkey on dex_pair is E'@fieldName quoteToken\n@foreignFieldName pairsAsQuote\n@forwardDescription The quote token, in which prices are given. Never null.\n@backwardDescription The registered pairs that have this token as quote, by pages.';
comment on column dex_pair.id is E'@behavior -*\nThe key that tables and views join by.';
comment on column dex_pair.base is 'Symbol of the base token, in upper case. Prices are for one unit of it.';
comment on column dex_pair.quote is 'Symbol of the quote token, in upper case. Prices are given in it.';
comment on column dex_pair.base_gem is 'Address of the base token.';
comment on column dex_pair.quote_gem is 'Address of the quote token.';
comment on column dex_pair.base_precision is 'How many fractional digits an amount of the base token has.';
comment on column dex_pair.quote_precision is 'How many fractional digits an amount of the quote token has.';
comment on column dex_pair.market is 'Base and quote symbol together, for example WETHDAI: the `market` of its trades and offers.';
comment on column dex_pair.active is 'Whether trading is enabled.';
grant select on dex_pair to dex_reader, dex_writer;
