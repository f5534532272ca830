--! no-transaction
create index concurrently if not exists dex_trade_day_id_idx on dex_trade (day, id);
