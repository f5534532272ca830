--! Previous: sha1:309833b09443556fa21f73c22d7d4afa5f422f4d
--! Hash: sha1:a8555253699d38e58b17402776fcaf1655f51c1c
--! Message: both ways by time

--! no-transaction
-- Serves both tokens either way, in the order of time.
create index concurrently if not exists dex_trade_either_way_time_id_idx
on dex_trade (dex_private.either_way_key(lot_gem, bid_gem), time, id);
