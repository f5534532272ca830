-- Registered tokens.

create table dex_token (
  address text primary key
    constraint dex_token_address_check check (dex_private.is_address(address)),
  symbol text
    constraint dex_token_symbol_check check (symbol <> '' and length(symbol) <= 100),
  decimals integer not null
    constraint dex_token_decimals_check check (decimals between 0 and 255),
  name text
    constraint dex_token_name_check check (length(name) <= 1000)
);

-- One row per token, whatever the letter case of its address.
create unique index dex_token_lower_address_key on dex_token (lower(address));

-- Serves the loader, which finds the tokens of a pair by symbol in any letter case.
create index dex_token_upper_symbol_idx on dex_token (upper(symbol));

comment on table dex_token is 'A token that is traded on the exchange, and how its amounts are to be read.';
comment on column dex_token.address is 'Address of the token contract, with EIP-55 checksum.';
comment on column dex_token.symbol is 'Symbol as the token gives it on chain; anybody can name a token so. Null where it is not known.';
comment on column dex_token.decimals is 'How many fractional digits the token has.';
comment on column dex_token.name is 'Name as the token gives it on chain. Null where it is not known.';
grant select on dex_token to dex_reader, dex_writer;
